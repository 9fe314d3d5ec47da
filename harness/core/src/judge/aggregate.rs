//! Combines verdicts: of all nodes of a scenario, and of a join with the steps after it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::check;
use super::join::counted;
use crate::diagnosis::Diagnosis;
use crate::judge::verdict::{Check, Note, Outcome, Verdict, VerdictPart};
use crate::observation::{Millis, Observation};
use crate::plan::Plan;
use crate::vocabulary::phase::Phase;

/// A node of a scenario with its verdict.
#[derive(Debug, Clone, Copy)]
pub struct Joined<'a> {
    pub plan: &'a Plan,
    pub observation: &'a Observation,
    pub verdict: &'a Verdict,
}

impl Joined<'_> {
    fn name(&self) -> &str {
        &self.plan.instance.private_dns_name
    }
}

/// The verdict on all nodes of a scenario. A phase is reached when the last node has reached it; failures name their
/// node.
#[must_use]
pub fn of_nodes(nodes: &[Joined<'_>]) -> Verdict {
    let [first, others @ ..] = nodes else {
        unreachable!("a scenario has a node")
    };
    if others.is_empty() {
        return first.verdict.clone();
    }
    let mut checks = together(nodes);
    checks.extend(distinct(nodes));
    let of_node = |node: &Joined<'_>| -> Vec<Note> {
        let notes = node.verdict.notes.iter();
        notes.map(|note| note.of(node.name())).collect()
    };
    let deviations: BTreeSet<_> = nodes
        .iter()
        .flat_map(|node| node.verdict.deviations.clone())
        .collect();
    Verdict {
        outcome: outcome(
            nodes.iter().map(|node| (node.name(), &node.verdict.outcome)),
            &checks,
        ),
        versions: first.verdict.versions.clone(),
        phases: latest(nodes),
        diagnosis: worst(nodes),
        checks,
        notes: nodes.iter().flat_map(of_node).collect(),
        node: None,
        deviations: deviations.into_iter().collect(),
        parts: Vec::new(),
    }
}

fn outcome<'a>(all: impl Iterator<Item = (&'a str, &'a Outcome)>, checks: &[Check]) -> Outcome {
    for (name, outcome) in all {
        match outcome {
            Outcome::Passed | Outcome::Failed => {}
            Outcome::Errored(reason) => return Outcome::Errored(format!("{name}: {reason}")),
            other => return other.clone(),
        }
    }
    match checks.iter().all(|check| check.held) {
        true => Outcome::Passed,
        false => Outcome::Failed,
    }
}

/// The phases that all nodes have reached, each with the time of the last node.
fn latest(nodes: &[Joined<'_>]) -> BTreeMap<Phase, Millis> {
    let of = |phase: &Phase| {
        let times: Option<Vec<Millis>> = nodes
            .iter()
            .map(|node| node.verdict.phases.get(phase).copied())
            .collect();
        Some((*phase, times?.into_iter().max()?))
    };
    Phase::ALL.iter().filter_map(of).collect()
}

/// The diagnosis of the node that stopped first, with its name and the number of nodes that stopped.
fn worst(nodes: &[Joined<'_>]) -> Option<Diagnosis> {
    let stopped = nodes
        .iter()
        .filter_map(|node| Some((node.name(), node.verdict.diagnosis.as_ref()?)));
    let stopped: Vec<(&str, &Diagnosis)> = stopped.collect();
    let (name, worst) = stopped.iter().min_by_key(|(_, diagnosis)| diagnosis.phase)?;
    let count = match stopped.len() {
        1 => String::new(),
        some => format!(" ({some} of {} nodes stopped)", nodes.len()),
    };
    Some(Diagnosis {
        because: format!("{name}{count}: {}", worst.because),
        ..(*worst).clone()
    })
}

/// Merges the checks of each key: the result holds if it holds for all nodes.
fn together(nodes: &[Joined<'_>]) -> Vec<Check> {
    let mut keys: Vec<(&str, usize)> = Vec::new();
    for node in nodes {
        let mut times: BTreeMap<&str, usize> = BTreeMap::new();
        for check in &node.verdict.checks {
            let time = times.entry(&check.key).or_default();
            if !keys.contains(&(&check.key, *time)) {
                keys.push((&check.key, *time));
            }
            *time += 1;
        }
    }
    keys.iter()
        .filter_map(|(key, time)| of_key(nodes, key, *time))
        .collect()
}

/// Merges the check of one key; `time` counts checks of the same key within a verdict.
fn of_key(nodes: &[Joined<'_>], key: &str, time: usize) -> Option<Check> {
    let found = nodes.iter().filter_map(|node| {
        let mut checks = node.verdict.checks.iter().filter(|check| check.key == key);
        Some((node.name(), checks.nth(time)?))
    });
    let found: Vec<(&str, &Check)> = found.collect();
    let broken: Vec<&(&str, &Check)> = found.iter().filter(|(_, check)| !check.held).collect();
    let Some((name, first)) = broken.first() else {
        let (_, any) = found.first()?;
        return Some((*any).clone());
    };
    // All nodes share the faults of a scenario: it is enough if a fault fires for one of them.
    if let Some((_, any)) = found
        .iter()
        .find(|(_, check)| check.held && key.starts_with("faults["))
    {
        return Some((*any).clone());
    }
    let names: Vec<&str> = broken.iter().map(|(name, _)| *name).collect();
    let seen = match names.as_slice() {
        [_] => format!("{name}: {}", first.seen),
        names => format!(
            "{name}: {}; failed at {} of {} nodes: {}",
            first.seen,
            names.len(),
            nodes.len(),
            first_names(names)
        ),
    };
    Some(check(key, false, &first.expected, seen))
}

/// The first names; the evidence has a folder for each node.
fn first_names(names: &[&str]) -> String {
    const FEW: usize = 3;
    match names.len() {
        count if count > FEW => format!("{} and {} more", names[..FEW].join(", "), count - FEW),
        _ => names.join(", "),
    }
}

/// Values that must differ between the Nodes.
fn distinct(nodes: &[Joined<'_>]) -> Vec<Check> {
    const VALUES: [(&str, &str); 4] = [
        ("nodes.names", "/metadata/name"),
        ("nodes.provider_ids", "/spec/providerID"),
        ("nodes.host_names", "/metadata/labels/kubernetes.io~1hostname"),
        ("nodes.boot_ids", "/status/nodeInfo/bootID"),
    ];
    let registered: Vec<&Value> = nodes
        .iter()
        .filter_map(|node| node.observation.node.as_ref())
        .collect();
    let distinct = VALUES.iter().map(|(key, pointer)| {
        let values = registered
            .iter()
            .filter_map(|node| node.pointer(pointer)?.as_str());
        let values: Vec<&str> = values.collect();
        let distinct: BTreeSet<&str> = values.iter().copied().collect();
        let seen = format!("{} of {} distinct", distinct.len(), values.len());
        check(
            *key,
            distinct.len() == values.len(),
            format!("{} distinct", counted(values.len(), "value")),
            seen,
        )
    });
    let mut checks: Vec<Check> = distinct.collect();
    checks.push(identities(nodes));
    checks
}

/// Whether each Node belongs to its instance, by its address and its provider id, if it has one.
fn identities(nodes: &[Joined<'_>]) -> Check {
    let others = nodes.iter().filter_map(|joined| {
        let (node, instance) = (joined.observation.node.as_ref()?, &joined.plan.instance);
        let id = node.pointer("/spec/providerID").and_then(Value::as_str);
        let is_own_id = id.is_none_or(|id| id.ends_with(&format!("/{}", instance.id)));
        let addresses = node.pointer("/status/addresses").and_then(Value::as_array);
        let mut addresses = addresses.into_iter().flatten();
        let is_own_address = addresses.any(|one| one["address"] == instance.private_ip.to_string());
        (!is_own_id || !is_own_address)
            .then(|| format!("{} is {}", joined.name(), id.unwrap_or("without a provider id")))
    });
    let others: Vec<String> = others.collect();
    let seen = if others.is_empty() {
        "each Node belongs to its instance".to_owned()
    } else {
        others.join(", ")
    };
    check(
        "nodes.identities",
        others.is_empty(),
        "each Node belongs to its instance",
        seen,
    )
}

/// The verdict on a join with the steps after it; each step has its name, such as `reboot`.
#[must_use]
pub fn of_steps(join: Verdict, steps: &[(&str, Verdict)], planned: usize) -> Verdict {
    if planned == 0 {
        return join;
    }
    let mut verdict = join;
    for (index, (name, step)) in steps.iter().enumerate() {
        let key = format!("then[{index}]");
        let checks = step.checks.iter().map(|check| Check {
            key: format!("{key}.{}", check.key),
            ..check.clone()
        });
        verdict.checks.extend(checks);
        let is_new = |note: &&Note| verdict.notes.iter().all(|known| known.what != note.what);
        let notes: Vec<Note> = step
            .notes
            .iter()
            .filter(is_new)
            .map(|note| note.of(&format!("then {name}")))
            .collect();
        verdict.notes.extend(notes);
        verdict.parts.push(VerdictPart {
            name: format!("then {name}"),
            phases: step.phases.clone(),
            diagnosis: step.diagnosis.clone(),
        });
        if verdict.outcome == Outcome::Passed && step.outcome != Outcome::Passed {
            verdict.outcome = step.outcome.clone();
            verdict.diagnosis.clone_from(&step.diagnosis);
        }
    }
    if steps.len() < planned {
        let (expected, seen) = (
            counted(planned, "step"),
            format!("{} ran", counted(steps.len(), "step")),
        );
        verdict.checks.push(check("then", false, expected, seen));
    }
    verdict
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::judge::judge;
    use crate::judge::tests::{complete, plan, stopped};

    fn node(number: u8) -> (Plan, Observation) {
        let (mut plan, mut seen) = (plan("phase: ready"), complete());
        plan.instance.id = format!("i-{number:017x}").parse().unwrap();
        plan.instance.private_ip = [192, 168, 40, number].into();
        plan.instance.private_dns_name = format!("node-{number}");
        let node = seen.node.as_mut().unwrap();
        node["metadata"]["name"] = json!(format!("node-{number}"));
        node["metadata"]["labels"]["kubernetes.io/hostname"] = json!(format!("node-{number}"));
        node["spec"]["providerID"] = json!(format!("aws:///eu-west-1a/i-{number:017x}"));
        node["status"]["addresses"][0]["address"] = json!(format!("192.168.40.{number}"));
        node["status"]["nodeInfo"]["bootID"] = json!(format!("boot-{number}"));
        (plan, seen)
    }

    fn judged(nodes: &[(Plan, Observation)]) -> Verdict {
        let verdicts: Vec<Verdict> = nodes.iter().map(|(plan, seen)| judge(plan, seen)).collect();
        let joined = nodes
            .iter()
            .zip(&verdicts)
            .map(|((plan, observation), verdict)| Joined {
                plan,
                observation,
                verdict,
            });
        of_nodes(&joined.collect::<Vec<_>>())
    }

    fn broken(verdict: &Verdict) -> Vec<&str> {
        let broken = verdict.checks.iter().filter(|check| !check.held);
        broken.map(|check| check.key.as_str()).collect()
    }

    #[test]
    fn a_scenario_passes_with_all_its_nodes_and_names_the_one_that_failed() {
        let mut nodes = vec![node(16), node(17), node(18)];
        let verdict = judged(&nodes);
        assert_eq!(verdict.outcome, Outcome::Passed, "{:?}", broken(&verdict));
        assert_eq!(verdict.phases.len(), Phase::ALL.len());
        nodes[1].1 = stopped();
        let verdict = judged(&nodes);
        assert_eq!(verdict.outcome, Outcome::Failed);
        assert_eq!(broken(&verdict), ["phase"]);
        let check = verdict.checks.iter().find(|check| !check.held).unwrap();
        assert_eq!(check.seen, "node-17: kubelet-started");
        let because = verdict.diagnosis.unwrap().because;
        assert!(because.starts_with("node-17: role demo-role"), "{because}");
        nodes[2].1 = stopped();
        let verdict = judged(&nodes);
        let because = verdict.diagnosis.unwrap().because;
        assert!(
            because.starts_with("node-17 (2 of 3 nodes stopped): "),
            "{because}"
        );
    }

    #[test]
    fn no_two_nodes_share_a_provider_id() {
        let mut nodes = vec![node(16), node(17)];
        nodes[1].1.node.as_mut().unwrap()["spec"]["providerID"] =
            json!("aws:///eu-west-1a/i-00000000000000010");
        assert_eq!(
            broken(&judged(&nodes)),
            ["node", "nodes.provider_ids", "nodes.identities"]
        );
    }

    #[test]
    fn a_step_that_fails_or_does_not_run_fails_the_scenario() {
        let passed = judge(&plan("phase: ready"), &complete());
        let failed = judge(&plan("phase: ready"), &stopped());
        let all = of_steps(passed.clone(), &[("reboot", passed.clone())], 1);
        assert_eq!((all.outcome, all.parts.len()), (Outcome::Passed, 1));
        let one = of_steps(passed.clone(), &[("reboot", failed)], 2);
        assert_eq!(one.outcome, Outcome::Failed);
        assert_eq!(broken(&one), ["then[0].phase", "then"]);
        assert!(one.diagnosis.is_some());
    }
}
