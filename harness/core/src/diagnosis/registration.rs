//! A ready node with other labels, taints or pods than the expected ones: what its kubelet got.

use serde_json::Value;

use super::facts::{Evidence, Facts};
use super::types::Finding;
use crate::kubernetes::node_labels::is_set_by_kubelets;
use crate::kubernetes::{
    canonical_taint, labels_of_flag, labels_of_node, taint_texts, taints_of_node, value_of_flag,
};
use crate::plan::expect::objects::{NodeExpect, Quantity};
use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;

const LABELS: &str = "--node-labels";
const TAINTS: &str = "--register-with-taints";
const PODS: &str = "--max-pods";

/// The first expected label, taint or number of pods that the Node does not have.
pub(super) fn differs(facts: &Facts<'_>) -> Option<Finding> {
    let expect = &facts.plan.expect;
    let required = expect.node.as_ref().filter(|_| expect.one_of.is_empty())?;
    let node = facts.observation.node.as_ref()?;
    let kubelet = Kubelet::of(facts)?;
    let found = missing_label(required, node, &kubelet)
        .or_else(|| {
            missing_taint(
                required,
                node,
                facts.observation.node_at_creation.as_ref(),
                &kubelet,
            )
        })
        .or_else(|| other_pods(required, node, &kubelet))?;
    let passed = kubelet.passed(found.flag);
    let because = format!("the node is ready, but {}: {}", found.lack, found.reason);
    let evidence = Evidence::new(
        "arguments of the kubelet",
        facts.since(Phase::KubeletStarted).unwrap_or(0),
        passed.unwrap_or_else(|| format!("no `{}`", found.flag)),
    );
    let text = facts.user_data_text().unwrap_or_default();
    let line = (1..)
        .zip(text.lines())
        .find(|(_, line)| line.contains(&found.text));
    let remedy = match line {
        _ if found.is_passed => {
            "find what takes it away: a kubelet gives labels and taints only to a Node that it creates, and the audit log of \
             the evidence lists later writes"
                .to_owned()
        }
        Some((number, line)) => match misspelt_flag(line) {
            Some(flag) => format!(
                "correct `{flag}` in line {number} of the user data: the bootstrap script knows `{ARGUMENTS}`"
            ),
            None => format!(
                "follow `{}` from line {number} of the user data to the kubelet: quotes, a second list of arguments, or a \
                 drop-in of its unit can lose it",
                found.text
            ),
        },
        None if is_set_by_kubelets(&found.text) => format!(
            "pass `{}` to the kubelet, such as in `--kubelet-extra-args` of the bootstrap script or in the flags of a \
             NodeConfig; or correct the expectation",
            found.argument
        ),
        None => format!(
            "use a label of another domain, or set `{}` after the join, such as by `kubectl label node`: a kubelet with it in \
             `--node-labels` does not start",
            found.text
        ),
    };
    facts.found(Cause::NodeDiffers, because, &evidence, remedy)
}

/// The flag of the bootstrap script for arguments of the kubelet.
const ARGUMENTS: &str = "--kubelet-extra-args";

/// A flag in a line that is almost that one.
fn misspelt_flag(line: &str) -> Option<&str> {
    let flags = line.split_whitespace().filter_map(|word| {
        let flag = word.split('=').next()?;
        flag.starts_with("--").then_some(flag)
    });
    const MOST_CHANGES: usize = 3;
    flags
        .filter(|flag| *flag != ARGUMENTS)
        .find(|flag| strsim::damerau_levenshtein(flag, ARGUMENTS) <= MOST_CHANGES)
}

/// What the running kubelet got.
struct Kubelet<'a> {
    arguments: &'a [String],
    configuration: Option<&'a Value>,
}

impl<'a> Kubelet<'a> {
    fn of(facts: &Facts<'a>) -> Option<Self> {
        let collected = facts.observation.collected.as_ref()?;
        Some(Self {
            arguments: collected.kubelet_argv.as_deref()?,
            configuration: collected.configz.as_ref(),
        })
    }

    fn value(&self, flag: &str) -> Option<&'a str> {
        value_of_flag(self.arguments, flag)
    }

    /// A flag with its value.
    fn passed(&self, flag: &str) -> Option<String> {
        self.value(flag).map(|value| format!("{flag}={value}"))
    }

    /// With which value of a flag it runs.
    fn ran(&self, flag: &str) -> String {
        match self.passed(flag) {
            Some(passed) => format!("its kubelet runs with `{passed}`"),
            None => format!("its kubelet runs without `{flag}`"),
        }
    }

    /// The taints of its configuration, which the flag replaces.
    fn configured_taints(&self) -> Vec<String> {
        taint_texts(self.configuration.and_then(|all| all.get("registerWithTaints")))
    }
}

/// Something expected that the Node does not have.
struct Shortfall {
    /// What the Node lacks, in words.
    lack: String,
    reason: String,
    /// How user data writes it.
    text: String,
    /// The argument that would give it to the Node.
    argument: String,
    flag: &'static str,
    /// Whether the kubelet got it.
    is_passed: bool,
}

/// The taint by which Karpenter knows that a node is new.
const UNREGISTERED: &str = "karpenter.sh/unregistered";

fn missing_label(required: &NodeExpect, node: &Value, kubelet: &Kubelet<'_>) -> Option<Shortfall> {
    let exactly = required.labels_exactly.iter().flatten();
    let mut labels = required
        .labels
        .iter()
        .chain(&required.labels_at_creation)
        .chain(exactly);
    let seen = labels_of_node(node);
    let seen = |key: &str| seen.get(key).copied();
    let (key, value) = labels.find(|(key, value)| seen(key) != Some(value.as_str()))?;
    let text = format!("{key}={value}");
    let given = kubelet.value(LABELS).unwrap_or_default();
    let is_passed = labels_of_flag(given).get(key.as_str()) == Some(&value.as_str());
    let lack = match seen(key) {
        Some(other) => format!("its label `{key}` is `{other}` instead of `{value}`"),
        None => format!("it lacks the label `{text}`"),
    };
    Some(Shortfall {
        lack,
        reason: kubelet.ran(LABELS),
        argument: format!("{LABELS}={text}"),
        text,
        flag: LABELS,
        is_passed,
    })
}

fn missing_taint(
    required: &NodeExpect,
    node: &Value,
    created: Option<&Value>,
    kubelet: &Kubelet<'_>,
) -> Option<Shortfall> {
    let seen = taints_of_node(node);
    let at_creation = created.map(taints_of_node).unwrap_or_else(|| seen.clone());
    let taints = required.taints.iter().flatten().chain(&required.taints_include);
    let taints = taints
        .map(|taint| (taint, &seen))
        .chain(
            required
                .taints_at_creation
                .iter()
                .map(|taint| (taint, &at_creation)),
        )
        .map(|(taint, seen)| (taint, canonical_taint(taint), seen));
    let missing = taints.filter(|(_, text, seen)| !seen.contains(text));
    // The one that decides whether the node stays.
    let (taint, text, _) = missing.min_by_key(|(taint, ..)| !taint.starts_with(UNREGISTERED))?;
    let given = kubelet.value(TAINTS);
    let configured = kubelet.configured_taints();
    let is_passed = match given {
        Some(given) => given.split(',').any(|one| canonical_taint(one) == text),
        None => configured.contains(&text),
    };
    let reason = match given {
        None if !configured.is_empty() => {
            format!("its kubelet's `registerWithTaints` is `{}`", configured.join(","))
        }
        _ => kubelet.ran(TAINTS),
    };
    Some(Shortfall {
        lack: match taint.starts_with(UNREGISTERED) {
            true => format!("it lacks the taint `{taint}`, without which Karpenter ends it"),
            false => format!("it lacks the taint `{taint}`"),
        },
        reason,
        argument: match given {
            // The flag of the remedy would replace that of the user data.
            Some(given) if !given.is_empty() => format!("{TAINTS}={given},{taint}"),
            _ => format!("{TAINTS}={taint}"),
        },
        text: taint.clone(),
        flag: TAINTS,
        is_passed,
    })
}

fn other_pods(required: &NodeExpect, node: &Value, kubelet: &Kubelet<'_>) -> Option<Shortfall> {
    let expected = match required.capacity.get("pods")? {
        Quantity::Number(number) => number.to_string(),
        Quantity::Text(text) => text.clone(),
    };
    let seen = node["status"]["capacity"]["pods"].as_str()?;
    if seen == expected {
        return None;
    }
    let configured = kubelet.configuration.and_then(|all| all["maxPods"].as_u64());
    let reason = match (kubelet.value(PODS), configured) {
        (None, Some(configured)) => format!("`maxPods` of its kubelet's configuration is {configured}"),
        _ => kubelet.ran(PODS),
    };
    let argument = format!("{PODS}={expected}");
    Some(Shortfall {
        lack: format!("it has capacity for {seen} pods instead of {expected}"),
        reason,
        text: argument.clone(),
        argument,
        flag: PODS,
        is_passed: false,
    })
}
