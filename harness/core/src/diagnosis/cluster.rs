//! Registration and what follows it: the Node object and the network.

use serde_json::Value;

use super::facts::{Evidence, Facts, between, sentence};
use super::labels::InvalidLabel;
use super::types::Finding;
use crate::observation::{Millis, NodeChange, ObservedEvent};
use crate::plan::Cni;
use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;

/// The API server rejects the Node object as invalid.
pub(super) fn node_invalid(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Registered) {
        return None;
    }
    // The kubelet always logs the full reason, the audit log only sometimes.
    let logged = facts.kubelet().find(|(_, line)| {
        line.message.contains("Unable to register node") && line.message.contains("is invalid:")
    });
    let (evidence, message) = match logged {
        Some((at, line)) => (Evidence::journal(at, line), line.message.clone()),
        None => refused_by_audit(facts)?,
    };
    let why = between(&message, "is invalid: ", &['\n']).unwrap_or_else(|| sentence(&message));
    let why = why.split(" (e.g.").next().unwrap_or(why);
    if let Some(label) = InvalidLabel::of_api_server(&message) {
        let words = label.words(&facts.user_data_text().unwrap_or_default());
        let because = format!("the API server rejects the Node object, because of {words}");
        return facts.final_(Cause::NodeInvalid, because, &evidence, label.remedy().to_owned());
    }
    let because = format!("the API server rejects the Node object: {why}");
    let remedy = if why.contains("labels") {
        "correct the value in --node-labels: at most 63 letters, digits, `-`, `_` and `.`"
    } else if why.contains("taints") {
        "correct --register-with-taints: each taint needs a key and an effect, and no two taints may be equal"
    } else {
        "correct the fields that the kubelet registers with"
    };
    facts.final_(Cause::NodeInvalid, because, &evidence, remedy.to_owned())
}

fn refused_by_audit(facts: &Facts<'_>) -> Option<(Evidence, String)> {
    facts
        .observation
        .timeline
        .iter()
        .find_map(|seen| match &seen.what {
            ObservedEvent::Audit(audit) if audit.resource == "nodes" && audit.code == 422 => {
                let message = audit
                    .message
                    .clone()
                    .unwrap_or_else(|| "422 without a reason".to_owned());
                let line = format!("{} nodes: {message}", audit.verb);
                Some((Evidence::new("audit log", seen.at, line), message))
            }
            _ => None,
        })
}

/// The container runtime has no network configuration.
pub(super) fn cni_not_ready(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.has(Phase::Registered) {
        return None;
    }
    let message = ready_message(facts.observation.node.as_ref()?)?;
    if ![
        "cni plugin not initialized",
        "cni config uninitialized",
        "NetworkPluginNotReady",
        "network is not ready",
    ]
    .iter()
    .any(|word| message.contains(word))
    {
        return None;
    }
    let at = facts
        .observation
        .timeline
        .iter()
        .find(|seen| matches!(&seen.what, ObservedEvent::Node(change) if change.exists));
    let evidence = Evidence::new(
        "Node",
        at.map_or(0, |seen| seen.at),
        format!("Ready is False: {message}"),
    );
    let because = "the node registered, but its container runtime has no network configuration".to_owned();
    let remedy = match facts.plan.cni {
        Cni::None => {
            let set = facts.plan.key_hint("cni: bridge");
            format!("{set} to let the harness install one; on EKS the VPC CNI's pod installs it")
        }
        Cni::Bridge => {
            "check /etc/cni/net.d and /opt/cni/bin in the node, and their paths in containerd's configuration"
                .to_owned()
        }
    };
    facts.found(Cause::CniNotReady, because, &evidence, remedy)
}

/// The Node was deleted, and a kubelet registers only when it starts.
pub(super) fn node_deleted(facts: &Facts<'_>) -> Option<Finding> {
    let (_, change) = last_change(facts)?;
    let (evidence, by) = deletion(facts)?;
    let because = format!(
        "the Node {} was deleted{by}, and a kubelet registers only when it starts",
        change.name
    );
    let remedy = "restart the kubelet (`systemctl restart kubelet`), or replace the instance".to_owned();
    facts.found(Cause::NodeDeleted, because, &evidence, remedy)
}

/// The last change of the Node.
pub(super) fn last_change<'a>(facts: &Facts<'a>) -> Option<(Millis, &'a NodeChange)> {
    let mut timeline = facts.observation.timeline.iter().rev();
    timeline.find_map(|seen| match &seen.what {
        ObservedEvent::Node(change) => Some((seen.at, change)),
        _ => None,
    })
}

/// The deletion of a Node that does not exist any more: its evidence, and the user in words.
pub(super) fn deletion(facts: &Facts<'_>) -> Option<(Evidence, String)> {
    let (at, change) = last_change(facts).filter(|(_, change)| !change.exists)?;
    let by = facts
        .observation
        .timeline
        .iter()
        .rev()
        .find_map(|seen| match &seen.what {
            ObservedEvent::Audit(audit) if audit.verb == "delete" && audit.resource == "nodes" => {
                Some(&audit.username)
            }
            _ => None,
        });
    let by = by.map(|user| format!(" by {user}")).unwrap_or_default();
    let evidence = Evidence::new("Node", at, format!("{} was deleted", change.name));
    Some((evidence, by))
}

/// A kubelet reuses an existing Node of its name, and the provider id of a Node cannot change.
pub(super) fn of_another_instance(facts: &Facts<'_>) -> Option<Finding> {
    let node = facts.observation.node.as_ref()?;
    let provider_id = node.pointer("/spec/providerID")?.as_str()?;
    let other = provider_id.strip_prefix("aws:///")?.rsplit('/').next()?;
    let own = &facts.plan.instance.id;
    if other == own.as_str() {
        return None;
    }
    let name = node
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let because = format!(
        "the Node {name} belongs to instance {other}, which had the name before {own}: provider id, labels and taints stay"
    );
    let at = facts
        .observation
        .timeline
        .iter()
        .find(|seen| matches!(&seen.what, ObservedEvent::Node(_)));
    let evidence = Evidence::new(
        "Node",
        at.map_or(0, |seen| seen.at),
        format!("spec.providerID is {provider_id}"),
    );
    let remedy = format!(
        "delete the Node (`kubectl delete node {name}`) before the new kubelet starts, as the cloud controller does \
                          once the instance is terminated"
    );
    facts.found(Cause::ProviderIdOfAnotherInstance, because, &evidence, remedy)
}

/// The message of the Ready condition if it is not true.
pub(super) fn ready_message(node: &Value) -> Option<&str> {
    let conditions = node.pointer("/status/conditions")?.as_array()?;
    let ready = conditions.iter().find(|condition| condition["type"] == "Ready")?;
    if ready["status"] == "True" {
        None
    } else {
        ready["message"].as_str()
    }
}
