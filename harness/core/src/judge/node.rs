//! Checks of the Node object.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{check, list, same};
use crate::judge::verdict::Check;
use crate::kubernetes::quantity::amount;
use crate::kubernetes::{canonical_taint, labels_of_node, taints_of_node, value_of_flag};
use crate::observation::Observation;
use crate::plan::expect::objects::{NodeExpect, Quantity};

/// Taints that the node controller adds when the kubelet reports that a resource runs out.
const PRESSURE: [&str; 3] = [
    "node.kubernetes.io/disk-pressure:",
    "node.kubernetes.io/memory-pressure:",
    "node.kubernetes.io/pid-pressure:",
];

/// Checks of the Node in its latest state and at its creation.
pub(super) fn node(required: &NodeExpect, observation: &Observation) -> Vec<Check> {
    let now = ObservedNode {
        node: observation.node.as_ref(),
        missing: "no Node",
        kubelet: observation
            .collected
            .as_ref()
            .and_then(|collected| collected.kubelet_argv.as_deref()),
    };
    let then = ObservedNode {
        node: observation.node_at_creation.as_ref(),
        missing: "no creation of the Node",
        kubelet: None,
    };
    let mut checks = Vec::new();
    checks.extend(
        required
            .name
            .as_deref()
            .map(|name| now.text("node.name", name, "/metadata/name")),
    );
    checks.extend(
        required
            .provider_id
            .as_deref()
            .map(|id| now.text("node.provider_id", id, "/spec/providerID")),
    );
    checks.extend(required.provider_id_absent.then(|| now.no_provider_id()));
    checks.extend(
        required
            .kubelet_version
            .as_deref()
            .map(|v| now.text("node.kubelet_version", v, "/status/nodeInfo/kubeletVersion")),
    );
    checks.extend(
        required
            .addresses
            .iter()
            .map(|(kind, address)| now.address(kind, address)),
    );
    checks.extend(
        required
            .capacity
            .iter()
            .map(|(name, quantity)| now.capacity(name, quantity)),
    );
    checks.extend(
        required
            .labels
            .iter()
            .map(|(key, value)| now.label("node.labels", key, value)),
    );
    checks.extend(
        required
            .labels_exactly
            .as_ref()
            .map(|labels| now.labels_exactly(labels)),
    );
    checks.extend(required.labels_absent.iter().map(|key| now.label_absent(key)));
    checks.extend(
        required
            .labels_at_creation
            .iter()
            .map(|(key, value)| then.label("node.labels_at_creation", key, value)),
    );
    let annotations = required.annotations.iter();
    checks.extend(annotations.map(|(key, value)| now.annotation(key, value)));
    let absent = required.annotations_absent.iter();
    checks.extend(absent.map(|key| now.annotation_absent(key)));
    checks.extend(required.taints.as_ref().map(|taints| now.taints_exactly(taints)));
    checks.extend(
        required
            .taints_include
            .iter()
            .map(|taint| now.taint("node.taints_include", taint, true)),
    );
    checks.extend(
        required
            .taints_absent
            .iter()
            .map(|taint| now.taint("node.taints_absent", taint, false)),
    );
    checks.extend(
        required
            .taints_at_creation
            .iter()
            .map(|taint| then.taint("node.taints_at_creation", taint, true)),
    );
    checks.extend(required.ready.map(|ready| now.ready(ready)));
    checks.extend(compared_with_before(required, observation));
    checks
}

/// Compares the Node with the Node before a step.
fn compared_with_before(required: &NodeExpect, observation: &Observation) -> Vec<Check> {
    let (before, now) = (observation.node_before.as_ref(), observation.node.as_ref());
    let compare = |pointer: &str, required: bool, key: &str, of: &str| {
        let text = |node: Option<&Value>| Some(node?.pointer(pointer)?.as_str()?.to_owned());
        let (before, now) = (text(before), text(now));
        let is_kept = before.is_some() && before == now;
        let expected = if required {
            format!("the same {of}")
        } else {
            format!("a different {of}")
        };
        let word = |seen: Option<String>| seen.unwrap_or_else(|| "none".to_owned());
        let held = now.is_some() && before.is_some() && is_kept == required;
        check(
            key,
            held,
            expected,
            format!("{} before, {} now", word(before), word(now)),
        )
    };
    let same = required
        .same
        .map(|same| compare("/metadata/uid", same, "node.same", "UID"));
    let again = required.booted_again;
    let again = again.map(|again| compare("/status/nodeInfo/bootID", !again, "node.booted_again", "boot id"));
    same.into_iter().chain(again).collect()
}

/// The Node at one time.
struct ObservedNode<'a> {
    node: Option<&'a Value>,
    missing: &'static str,
    /// Arguments of its kubelet, if they say something about a missing value.
    kubelet: Option<&'a [String]>,
}

impl ObservedNode<'_> {
    fn at(&self, pointer: &str) -> Option<&Value> {
        self.node?.pointer(pointer)
    }

    /// The text for a missing value.
    fn nothing(&self) -> String {
        if self.node.is_some() {
            "nothing".to_owned()
        } else {
            self.missing.to_owned()
        }
    }

    /// The text for a value that a kubelet registers by a flag: the flag says where the value was lost.
    fn not_registered(&self, flag: &str) -> String {
        let Some(arguments) = self.kubelet.filter(|_| self.node.is_some()) else {
            return self.nothing();
        };
        match value_of_flag(arguments, flag) {
            Some(value) => format!("nothing (the kubelet ran with `{flag}={value}`)"),
            None => format!("nothing (the kubelet ran without `{flag}`)"),
        }
    }

    fn text(&self, key: &str, required: &str, pointer: &str) -> Check {
        let seen = self.at(pointer).and_then(Value::as_str);
        check(
            key,
            seen == Some(required),
            required,
            seen.map_or_else(|| self.nothing(), str::to_owned),
        )
    }

    fn address(&self, kind: &str, required: &str) -> Check {
        let addresses = self
            .at("/status/addresses")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let of_kind = addresses.iter().filter(|address| address["type"] == kind);
        let seen: Vec<&str> = of_kind
            .filter_map(|address| address["address"].as_str())
            .collect();
        let text = if seen.is_empty() {
            self.nothing()
        } else {
            list(&seen)
        };
        check(
            format!("node.addresses.{kind}"),
            seen.contains(&required),
            required,
            text,
        )
    }

    fn capacity(&self, name: &str, required: &Quantity) -> Check {
        let seen = self
            .at("/status/capacity")
            .and_then(|capacity| capacity.get(name))
            .and_then(Value::as_str);
        let required = match required {
            Quantity::Number(number) => number.to_string(),
            Quantity::Text(text) => text.clone(),
        };
        let held = seen.is_some_and(|seen| is_same_quantity(seen, &required));
        check(
            format!("node.capacity.{name}"),
            held,
            required,
            seen.map_or_else(|| self.nothing(), str::to_owned),
        )
    }

    fn labels(&self) -> BTreeMap<&str, &str> {
        self.node.map(labels_of_node).unwrap_or_default()
    }

    fn label(&self, key: &str, label: &str, required: &str) -> Check {
        let seen = self.labels().get(label).copied();
        let text = seen.map_or_else(|| self.not_registered("--node-labels"), str::to_owned);
        check(format!("{key}.{label}"), seen == Some(required), required, text)
    }

    fn labels_exactly(&self, required: &BTreeMap<String, String>) -> Check {
        let seen = self.labels();
        let missing = required
            .iter()
            .filter(|(key, value)| seen.get(key.as_str()) != Some(&value.as_str()));
        let missing: Vec<String> = missing
            .map(|(key, value)| format!("{key}={value} is missing"))
            .collect();
        let extra = seen.iter().filter(|(key, _)| !required.contains_key(**key));
        let extra: Vec<String> = extra
            .map(|(key, value)| format!("{key}={value} is not expected"))
            .collect();
        let differences: Vec<String> = missing.into_iter().chain(extra).collect();
        let held = self.node.is_some() && differences.is_empty();
        let text = if self.node.is_none() {
            self.nothing()
        } else {
            list(differences)
        };
        check(
            "node.labels_exactly",
            held,
            format!(
                "exactly these labels: {}",
                list(required.iter().map(|(key, value)| format!("{key}={value}")))
            ),
            text,
        )
    }

    fn label_absent(&self, label: &str) -> Check {
        let seen = self.labels().get(label).map(|value| format!("{label}={value}"));
        let held = self.node.is_some() && seen.is_none();
        check(
            format!("node.labels_absent.{label}"),
            held,
            "no such label",
            seen.unwrap_or_else(|| self.nothing()),
        )
    }

    fn no_provider_id(&self) -> Check {
        let seen = self.at("/spec/providerID").and_then(Value::as_str);
        let held = self.node.is_some() && seen.is_none_or(str::is_empty);
        let found = seen.map_or_else(|| self.nothing(), str::to_owned);
        check("node.provider_id_absent", held, "no providerID", found)
    }

    /// A key can contain slashes, so it is not a part of a pointer.
    fn annotation_value(&self, key: &str) -> Option<&str> {
        self.at("/metadata/annotations")?.get(key)?.as_str()
    }

    fn annotation(&self, key: &str, required: &str) -> Check {
        let seen = self.annotation_value(key);
        let found = seen.map_or_else(|| self.nothing(), str::to_owned);
        check(
            format!("node.annotations.{key}"),
            seen == Some(required),
            required,
            found,
        )
    }

    fn annotation_absent(&self, key: &str) -> Check {
        let seen = self.annotation_value(key);
        let held = self.node.is_some() && seen.is_none();
        let found = seen.map_or_else(|| self.nothing(), |value| format!("{key}={value}"));
        check(
            format!("node.annotations_absent.{key}"),
            held,
            "no such annotation",
            found,
        )
    }

    fn is_ready(&self) -> bool {
        let conditions = self.at("/status/conditions").and_then(Value::as_array);
        conditions
            .into_iter()
            .flatten()
            .any(|c| c["type"] == "Ready" && c["status"] == "True")
    }

    fn ready(&self, required: bool) -> Check {
        let held = self.node.is_some() && self.is_ready() == required;
        let seen = if self.node.is_some() {
            self.is_ready().to_string()
        } else {
            self.nothing()
        };
        check("node.ready", held, required.to_string(), seen)
    }

    fn taints(&self) -> Vec<String> {
        self.node.map(taints_of_node).unwrap_or_default()
    }

    /// A node shares disk, memory and process ids with the host, so its pressure taints come from there.
    fn taints_text(&self, taints: &[String]) -> String {
        let is_of_host = |taint: &String| PRESSURE.iter().any(|key| taint.starts_with(key));
        match self.node {
            None => self.nothing(),
            Some(_) if taints.iter().any(is_of_host) => format!(
                "{} (the host that runs nodejoin causes pressure taints, not the script: see `nodejoin doctor`)",
                list(taints)
            ),
            Some(_) => list(taints),
        }
    }

    /// The node controller removes the not-ready taints shortly after the node is ready.
    fn taints_exactly(&self, required: &[String]) -> Check {
        let mut seen = self.taints();
        if self.is_ready() {
            seen.retain(|taint| !taint.starts_with("node.kubernetes.io/not-ready:"));
        }
        let required: Vec<String> = required.iter().map(|taint| canonical_taint(taint)).collect();
        let text = self.taints_text(&seen);
        check(
            "node.taints",
            self.node.is_some() && same(&seen, &required),
            list(&required),
            text,
        )
    }

    fn taint(&self, key: &str, taint: &str, required: bool) -> Check {
        let seen = self.taints();
        let held = self.node.is_some() && seen.contains(&canonical_taint(taint)) == required;
        let expected = if required { "this taint" } else { "no such taint" };
        let text = match seen.is_empty() && required {
            true => self.not_registered("--register-with-taints"),
            false => self.taints_text(&seen),
        };
        check(format!("{key}.{taint}"), held, expected, text)
    }
}

/// Whether two quantities are equal, such as `1Gi` and `1024Mi`.
fn is_same_quantity(left: &str, right: &str) -> bool {
    left == right || matches!((amount(left), amount(right)), (Some(left), Some(right)) if left == right)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::observation::Collected;

    /// What was seen of a label and of a taint that the Node lacks, for arguments of its kubelet.
    fn missing(arguments: Option<&[&str]>) -> [String; 2] {
        let arguments = arguments.map(|arguments| arguments.iter().map(ToString::to_string).collect());
        let observation = Observation {
            node: Some(json!({ "metadata": { "labels": {} } })),
            collected: Some(Collected {
                kubelet_argv: arguments,
                ..Collected::default()
            }),
            ..Observation::default()
        };
        let required = NodeExpect {
            labels: BTreeMap::from([("team".to_owned(), "web".to_owned())]),
            taints_include: vec!["a=b:NoSchedule".to_owned()],
            ..NodeExpect::default()
        };
        let seen: Vec<String> = node(&required, &observation)
            .into_iter()
            .map(|check| check.seen)
            .collect();
        seen.try_into().unwrap()
    }

    #[test]
    fn a_missing_label_or_taint_is_explained_by_the_flag_of_the_kubelet() {
        assert_eq!(
            missing(Some(&[
                "kubelet",
                "--node-labels",
                "app=x",
                "--register-with-taints=c:NoExecute"
            ])),
            [
                "nothing (the kubelet ran with `--node-labels=app=x`)",
                "nothing (the kubelet ran with `--register-with-taints=c:NoExecute`)"
            ]
        );
        assert_eq!(
            missing(Some(&["kubelet", "--node-labels-file=x"])),
            [
                "nothing (the kubelet ran without `--node-labels`)",
                "nothing (the kubelet ran without `--register-with-taints`)"
            ]
        );
        assert_eq!(
            missing(None),
            ["nothing", "nothing"],
            "nothing is claimed without arguments"
        );
    }
}
