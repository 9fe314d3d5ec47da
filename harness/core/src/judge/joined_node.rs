//! The Node that a join has at its end, for the reader of a verdict.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::observation::Observation;

/// Labels that every kubelet, or the cloud provider, sets.
const USUAL_LABELS: [&str; 7] = [
    "beta.kubernetes.io/",
    "failure-domain.beta.kubernetes.io/",
    "kubernetes.io/",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/",
    "topology.k8s.aws/",
    "k8s.io/cloud-provider-aws",
];

/// The Node of a join.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JoinedNode {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    /// Taints as `key=value:Effect` or `key:Effect`.
    pub taints: Vec<String>,
    /// How many pods fit on it, as its capacity states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<String>,
}

impl JoinedNode {
    /// The Node in its latest state; `None` if there is none.
    #[must_use]
    pub(super) fn of(observation: &Observation) -> Option<Self> {
        let node = observation.node.as_ref()?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let labels = node.pointer("/metadata/labels").and_then(Value::as_object);
        let labels = labels.into_iter().flatten();
        let taints = node.pointer("/spec/taints").and_then(Value::as_array);
        Some(Self {
            name: node.pointer("/metadata/name").and_then(text)?,
            labels: labels
                .filter_map(|(key, value)| Some((key.clone(), text(value)?)))
                .collect(),
            taints: taints.into_iter().flatten().filter_map(taint).collect(),
            pods: node.pointer("/status/capacity/pods").and_then(text),
        })
    }

    /// The labels that not every node has.
    pub fn own_labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let labels = self.labels.iter();
        labels
            .filter(|(key, _)| !USUAL_LABELS.iter().any(|usual| key.starts_with(usual)))
            .map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

fn taint(taint: &Value) -> Option<String> {
    let field = |name: &str| taint.get(name).and_then(Value::as_str);
    let value = field("value").filter(|value| !value.is_empty());
    let value = value.map(|value| format!("={value}")).unwrap_or_default();
    Some(format!("{}{value}:{}", field("key")?, field("effect")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_every_node_are_not_its_own() {
        let node = serde_json::json!({
            "metadata": { "name": "a", "labels": {
                "kubernetes.io/os": "linux",
                "topology.kubernetes.io/zone": "eu-west-1a",
                "node.kubernetes.io/lifecycle": "spot",
                "team": "ironman",
            } },
            "spec": { "taints": [
                { "key": "x", "value": "y", "effect": "NoSchedule" },
                { "key": "z", "effect": "NoExecute" },
            ] },
            "status": { "capacity": { "pods": "29" } },
        });
        let mut observation = Observation::default();
        assert_eq!(JoinedNode::of(&observation), None);
        observation.node = Some(node);
        let node = JoinedNode::of(&observation).unwrap();
        let own: Vec<_> = node.own_labels().collect();
        assert_eq!(
            own,
            [("node.kubernetes.io/lifecycle", "spot"), ("team", "ironman")]
        );
        assert_eq!(node.taints, ["x=y:NoSchedule", "z:NoExecute"]);
        assert_eq!((node.labels.len(), node.pods.as_deref()), (4, Some("29")));
    }
}
