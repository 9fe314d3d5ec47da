//! Notes on labels, taints and pods that flags in the user data state and the Node does not have. Only those that no
//! expectation is about: a script can write a flag where no kubelet reads it, or in a branch that it does not take.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::judge::verdict::{Note, NoteKind};
use crate::kubernetes::{canonical_taint, labels_of_node, taints_of_node};
use crate::observation::Observation;
use crate::plan::Plan;
use crate::plan::expect::objects::Quantity;
use crate::user_data::parse;

/// Ends the value of a flag in a text.
const ENDS: &[char] = &['"', '\'', '\\', ')', ';', '|', '&', '`'];
/// Begins a part of a value that only a run shows.
const UNKNOWN: &[char] = &['$', '`', '{', '<'];

/// One note for each label, taint or number of pods. A scenario states itself what it expects.
pub(super) fn lost_registration(plan: &Plan, observation: &Observation) -> Vec<Note> {
    let Some(node) = observation.node.as_ref().filter(|_| plan.is_trial) else {
        return Vec::new();
    };
    let user_data = plan.user_data.as_ref();
    let user_data = user_data.and_then(|data| STANDARD.decode(&data.base64).ok());
    let texts = texts(&user_data.unwrap_or_default());
    let created = observation.node_at_creation.as_ref();
    let mut what = lost_labels(&texts, plan, node);
    what.extend(lost_taints(&texts, plan, created.unwrap_or(node)));
    what.extend(lost_pods(&texts, plan, node));
    let note = |what: String| Note::new(NoteKind::RegistrationLost, what);
    what.into_iter().map(note).collect()
}

/// Scripts, files and commands of the user data.
fn texts(user_data: &[u8]) -> Vec<String> {
    let parsed = parse(user_data);
    let config = parsed.cloud_config();
    let parts = parsed
        .parts
        .iter()
        .filter(|part| part.mime != "text/cloud-config");
    let contents = parts
        .map(|part| &part.content)
        .chain(config.files.iter().map(|file| &file.content))
        .chain(&config.runcmd);
    contents
        .map(|content| String::from_utf8_lossy(content).into_owned())
        .collect()
}

fn lost_labels(texts: &[String], plan: &Plan, node: &Value) -> Vec<String> {
    let mut stated: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for label in texts.iter().flat_map(|text| values(text, "--node-labels")) {
        let pairs = label.split(',').filter_map(|pair| pair.split_once('='));
        for (key, value) in pairs.filter(|(key, _)| is_key(key)) {
            stated.entry(key).or_default().insert(value);
        }
    }
    let expected = plan.expect.node.as_ref();
    let is_expected = |key: &str| {
        expected
            .is_some_and(|node| node.labels.contains_key(key) || node.labels_at_creation.contains_key(key))
    };
    let has = labels_of_node(node);
    let what = |(key, values): (&&str, &BTreeSet<&str>)| {
        let known: Vec<&str> = values.iter().copied().filter(|value| is_name(value)).collect();
        let is_open = values.iter().any(|value| value.contains(UNKNOWN));
        match (has.get(key), &known[..]) {
            (None, [value, ..]) => Some(format!(
                "the Node has no label `{key}={value}`, which `--node-labels` in the user data states"
            )),
            (None, []) if is_open => Some(format!(
                "the Node has no label `{key}`, which `--node-labels` in the user data states"
            )),
            (Some(seen), [value, ..]) if !is_open && !known.contains(seen) => Some(format!(
                "the Node has the label `{key}={seen}`, and `--node-labels` in the user data states `{key}={value}`"
            )),
            _ => None,
        }
    };
    let stated = stated.iter().filter(|(key, _)| !is_expected(key));
    stated.filter_map(what).collect()
}

fn lost_taints(texts: &[String], plan: &Plan, node: &Value) -> Vec<String> {
    let expected = plan.expect.node.as_ref();
    let expected = expected.map(|node| {
        let several = node.taints_at_creation.iter().chain(&node.taints_include);
        several.map(|taint| canonical_taint(taint)).collect()
    });
    let expected: BTreeSet<String> = expected.unwrap_or_default();
    let has = taints_of_node(node);
    let flags = texts
        .iter()
        .flat_map(|text| values(text, "--register-with-taints"));
    let stated: BTreeSet<String> = flags
        .flat_map(|value| value.split(','))
        .filter(|taint| is_taint(taint))
        .map(canonical_taint)
        .collect();
    let lost = stated
        .into_iter()
        .filter(|taint| !has.contains(taint) && !expected.contains(taint));
    lost.map(|taint| {
        format!(
            "the Node registered without the taint `{taint}`, which `--register-with-taints` in the user data states"
        )
    })
    .collect()
}

/// A number in one part of the user data, where the part with the number that counts is another one: EKS' own part has
/// one, and of the numbers in the branches of one script only one counts.
fn lost_pods(texts: &[String], plan: &Plan, node: &Value) -> Option<String> {
    let seen: u32 = node["status"]["capacity"]["pods"].as_str()?.parse().ok()?;
    let expected = plan.expect.node.as_ref();
    let expected = expected.and_then(|node| node.capacity.get("pods"));
    // One that only a run shows may be the one that counts.
    let stated: Vec<_> = texts
        .iter()
        .map(|text| stated_pods(text))
        .collect::<Option<_>>()?;
    let mut others = stated.iter().filter(|stated| !stated.contains_key(&seen));
    let (number, how) = others.find_map(|stated| stated.first_key_value())?;
    let is_expected = match expected {
        Some(Quantity::Number(expected)) => *expected == i64::from(*number),
        Some(Quantity::Text(expected)) => *expected == number.to_string(),
        None => false,
    };
    if is_expected {
        return None;
    }
    Some(format!(
        "the Node has capacity for {seen} pods, and `{how}` in the user data states another number"
    ))
}

/// The numbers of pods in a text, with how it states each; `None` if it states one that only a run shows.
fn stated_pods(text: &str) -> Option<BTreeMap<u32, String>> {
    let of_flags = values(text, "--max-pods").map(|value| {
        let number = value.parse().ok()?;
        Some((number, format!("--max-pods={number}")))
    });
    let of_fields = lines(text).filter_map(|line| {
        let (_, rest) = line.split_once("maxPods")?;
        let number = rest.trim_start_matches(['"', '\'', '\\', ' ', ':', '=']);
        let digits = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
        let number = number[..digits].parse().ok()?;
        Some((number, format!("maxPods: {number}")))
    });
    of_fields.map(Some).chain(of_flags).collect()
}

/// The values of a flag in a text, without those in comments. `--flag=value`, `--flag value`, each with or without
/// quotes.
fn values<'t>(text: &'t str, flag: &'static str) -> impl Iterator<Item = &'t str> {
    lines(text).flat_map(move |line| {
        let behind = line.match_indices(flag).map(|(at, _)| &line[at + flag.len()..]);
        behind.filter_map(|rest| {
            let rest = rest.strip_prefix(['=', ' '])?.trim_start_matches(['"', '\'']);
            let end = rest.find(|c: char| c.is_whitespace() || ENDS.contains(&c));
            Some(&rest[..end.unwrap_or(rest.len())])
        })
    })
}

/// The lines of a text that are not comments.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim_start().starts_with('#'))
}

fn is_key(text: &str) -> bool {
    let (domain, name) = text.split_once('/').unwrap_or(("", text));
    !name.is_empty() && is_name(name) && is_name(domain)
}

/// Whether a text can be the value of a label.
fn is_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    text.len() <= 63 && text.bytes().all(is_allowed)
}

/// Whether a text is a whole taint, such as `key=value:NoSchedule`.
fn is_taint(text: &str) -> bool {
    let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    text.rsplit_once(':').is_some_and(|(pair, effect)| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        effects.contains(&effect) && is_key(key) && is_name(value)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::judge::tests::plan;
    use crate::plan::{UserDataEngine, UserDataPlan};

    /// Notes on a trial with an expectation, whose Node has a label, a taint and a capacity.
    fn notes(expect: &str, script: &str) -> Vec<String> {
        let node = json!({
            "metadata": { "labels": { "team": "web", "size": "big" } },
            "spec": { "taints": [{ "key": "gpu", "effect": "NoSchedule" }] },
            "status": { "capacity": { "pods": "29" } },
        });
        let observation = Observation {
            node: Some(node),
            ..Observation::default()
        };
        let mut plan = plan(expect);
        plan.is_trial = true;
        plan.user_data = Some(UserDataPlan {
            engine: UserDataEngine::CloudInit,
            base64: STANDARD.encode(script),
            gzip: false,
            replace: None,
            is_translated: false,
        });
        let notes = lost_registration(&plan, &observation).into_iter();
        notes.map(|note| note.what).collect()
    }

    #[test]
    fn what_the_node_lacks_is_noted() {
        let script = "#!/bin/bash\nexport KUBELET_EXTRA_ARGS=\"--node-labels=app=x,zone=$ZONE,size=small,bad/=1 \
                      --register-with-taints a=b:NoExecute --max-pods=17\"\n";
        assert_eq!(
            notes("phase: ready", script),
            [
                "the Node has no label `app=x`, which `--node-labels` in the user data states",
                "the Node has the label `size=big`, and `--node-labels` in the user data states `size=small`",
                "the Node has no label `zone`, which `--node-labels` in the user data states",
                "the Node registered without the taint `a=b:NoExecute`, which `--register-with-taints` in the user data states",
                "the Node has capacity for 29 pods, and `--max-pods=17` in the user data states another number",
            ]
        );
        let files = "#cloud-config\nwrite_files:\n- { path: /etc/x, content: '--node-labels=app=x' }\n";
        assert_eq!(notes("phase: ready", files).len(), 1);
    }

    #[test]
    fn what_the_node_has_or_an_expectation_names_is_not() {
        for script in [
            "#!/bin/bash\nx --node-labels=team=web,size=$S --register-with-taints=gpu=:NoSchedule --max-pods 29\n",
            "#!/bin/bash\n# --node-labels=app=x\n",
            // The branch that was not taken.
            "#!/bin/bash\nif a; then x --node-labels=size=big; else x --node-labels=size=small; fi\n",
            "#!/bin/bash\nx --max-pods=$PODS --max-pods=17 --node-labels=$LABELS\nsed 's/--node-labels=[^ ]*//'\n",
        ] {
            assert_eq!(notes("phase: ready", script), Vec::<String>::new(), "{script}");
        }
        let expect =
            "node: { labels: { app: x }, taints_at_creation: ['a:NoExecute'], capacity: { pods: 17 } }";
        let script = "#!/bin/bash\nx --node-labels=app=x --register-with-taints=a=:NoExecute --max-pods=17\n";
        assert_eq!(notes(expect, script), Vec::<String>::new());
    }

    #[test]
    fn a_number_of_pods_that_another_part_overrides_is_noted() {
        let part =
            |content: &str| format!("--B\nContent-Type: text/x-shellscript\n\n#!/bin/bash\n{content}\n");
        let message = |content: &str| {
            format!(
                "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n{}{}--B--\n",
                part(content),
                part("/etc/eks/bootstrap.sh x --kubelet-extra-args '--max-pods=29'")
            )
        };
        for (content, how) in [
            ("export KUBELET_EXTRA_ARGS=--max-pods=35", "--max-pods=35"),
            ("jq '.maxPods=12' x.json", "maxPods: 12"),
        ] {
            let noted = notes("node: { capacity: { pods: 29 } }", &message(content));
            let expected = format!(
                "the Node has capacity for 29 pods, and `{how}` in the user data states another number"
            );
            assert_eq!(noted, [expected]);
        }
        let by_branch = "if x; then y --max-pods=110; else y --max-pods=29; fi";
        assert_eq!(notes("phase: ready", &message(by_branch)), Vec::<String>::new());
        assert_eq!(
            notes("node: { capacity: { pods: 12 } }", &message("jq .maxPods=12 x")),
            Vec::<String>::new()
        );
    }

    #[test]
    fn only_trials_have_such_notes() {
        let observation = Observation {
            node: Some(json!({})),
            ..Observation::default()
        };
        let mut plan = plan("phase: ready");
        plan.user_data = Some(UserDataPlan {
            engine: UserDataEngine::CloudInit,
            base64: STANDARD.encode("#!/bin/bash\n--node-labels=a=b\n"),
            gzip: false,
            replace: None,
            is_translated: false,
        });
        assert_eq!(lost_registration(&plan, &observation), []);
        plan.is_trial = true;
        assert_eq!(lost_registration(&plan, &observation).len(), 1);
    }
}
