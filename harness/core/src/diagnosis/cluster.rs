//! What comes with and after registration: the Node object, its serving certificate, its network.

use serde_json::Value;

use super::Finding;
use super::facts::{Evidence, Facts, between, sentence};
use crate::diagnosis::Cause;
use crate::observation::phase::Phase;
use crate::observation::phases::{KUBELET_CLIENT, KUBELET_SERVING};
use crate::observation::{Certificate, Millis, ObservedEvent};
use crate::plan::Cni;

/// The API server refuses the Node object itself.
pub(super) fn node_invalid(scene: &Facts<'_>) -> Option<Finding> {
    if !scene.is_before(Phase::Registered) {
        return None;
    }
    // The kubelet is told the reason in full; the audit log has it not always.
    let said = scene.kubelet().find(|(_, line)| {
        line.message.contains("Unable to register node") && line.message.contains("is invalid:")
    });
    let (evidence, message) = match said {
        Some((at, line)) => (Evidence::journal(at, line), line.message.clone()),
        None => refused_by_audit(scene)?,
    };
    let why = between(&message, "is invalid: ", &['\n']).unwrap_or_else(|| sentence(&message));
    let why = why.split(" (e.g.").next().unwrap_or(why);
    let because = format!("the API server refuses the Node object: {why}");
    let remedy = if why.contains("labels") {
        "correct the value in --node-labels: letters, digits, `-`, `_` and `.`, at most 63"
    } else if why.contains("taints") {
        "correct --register-with-taints: every taint needs a key and an effect, and no two may be alike"
    } else {
        "correct what the kubelet registers with"
    };
    scene.final_(Cause::NodeInvalid, because, &evidence, remedy.to_owned())
}

fn refused_by_audit(scene: &Facts<'_>) -> Option<(Evidence, String)> {
    scene
        .observation
        .timeline
        .iter()
        .find_map(|seen| match &seen.what {
            ObservedEvent::Audit(audit) if audit.resource == "nodes" && audit.code == 422 => {
                let message = audit
                    .message
                    .clone()
                    .unwrap_or_else(|| "422, without a reason".to_owned());
                let line = format!("{} nodes: {message}", audit.verb);
                Some((Evidence::new("audit log", seen.at, line), message))
            }
            _ => None,
        })
}

fn serving<'a>(scene: &Facts<'a>) -> impl Iterator<Item = &'a Certificate> + use<'a> {
    scene
        .observation
        .certificates
        .iter()
        .filter(|certificate| certificate.signer == KUBELET_SERVING)
}

/// When the request came first.
fn asked_at(scene: &Facts<'_>, name: &str) -> Millis {
    let first = scene.observation.timeline.iter().find(|seen| match &seen.what {
        ObservedEvent::Certificate(certificate) => certificate.name == name,
        _ => false,
    });
    first.map_or(0, |seen| seen.at)
}

/// The kubelet waits for the client certificate with which it is to register.
pub(super) fn client_certificate_not_approved(scene: &Facts<'_>) -> Option<Finding> {
    if !scene.is_before(Phase::Registered) {
        return None;
    }
    let all = scene.observation.certificates.iter();
    let pending = all
        .filter(|certificate| certificate.signer == KUBELET_CLIENT)
        .find(|certificate| certificate.approved != Some(true) && !certificate.issued)?;
    let because = format!(
        "nobody approved {}: the kubelet waits for its client certificate, and registers with no other",
        pending.name
    );
    let remedy = format!(
        "let {} create `certificatesigningrequests/selfnodeclient` (`cluster.approve_clients: true`), by which \
         kube-controller-manager approves it, or approve by hand: kubectl certificate approve {}",
        pending.requestor, pending.name
    );
    let line = format!("{} of {} is pending", pending.name, pending.requestor);
    let evidence = Evidence::new(
        "certificate signing request",
        asked_at(scene, &pending.name),
        line,
    );
    scene.found(Cause::ClientCertificateNotApproved, because, &evidence, remedy)
}

/// The approver said no.
pub(super) fn serving_certificate_denied(scene: &Facts<'_>) -> Option<Finding> {
    if scene.has(Phase::Certified) {
        return None;
    }
    let denied = serving(scene)
        .filter(|certificate| certificate.approved == Some(false))
        .last()?;
    let reason = denied.decision.as_deref().unwrap_or("without a reason");
    let line = format!("{} of {} is denied: {reason}", denied.name, denied.requestor);
    let by = denied.decided_by.as_deref().unwrap_or("the approver");
    let because = format!("{by} denied the serving certificate: {reason}");
    let names = denied
        .dns_names
        .iter()
        .chain(&denied.ip_addresses)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    let instance = &scene.plan.instance;
    let remedy = format!(
        "let the kubelet ask for what the instance has, {} and {}; it asked for {names}",
        instance.private_dns_name, instance.private_ip
    );
    let evidence = Evidence::new("certificate signing request", asked_at(scene, &denied.name), line);
    scene.found(Cause::ServingCertificateDenied, because, &evidence, remedy)
}

/// Nobody decided: the node registers and works, and port 10250 has no certificate.
pub(super) fn serving_certificate_not_approved(scene: &Facts<'_>) -> Option<Finding> {
    if scene.has(Phase::Certified) || !scene.has(Phase::Registered) {
        return None;
    }
    let pending = serving(scene).find(|certificate| certificate.approved.is_none() && !certificate.issued)?;
    let served = scene
        .observation
        .collected
        .as_ref()
        .and_then(|collected| collected.served.as_ref());
    let error = served
        .and_then(|served| served.error.as_deref())
        .map(|error| format!("; port 10250: {error}"));
    let line = format!(
        "{} of {} is pending{}",
        pending.name,
        pending.requestor,
        error.unwrap_or_default()
    );
    let because = format!(
        "nobody approved {}: the node has no serving certificate, so logs, exec and metrics fail at port 10250",
        pending.name
    );
    let remedy = if scene.plan.cluster.approve_serving {
        format!(
            "see why the approver left it: kubectl describe csr {}",
            pending.name
        )
    } else {
        format!(
            "let an approver of kubelet-serving requests run (`cluster.approve_serving: true`), or approve by hand: \
             kubectl certificate approve {}",
            pending.name
        )
    };
    let evidence = Evidence::new(
        "certificate signing request",
        asked_at(scene, &pending.name),
        line,
    );
    scene.found(Cause::ServingCertificateNotApproved, because, &evidence, remedy)
}

/// The container runtime has no network configuration.
pub(super) fn cni_not_ready(scene: &Facts<'_>) -> Option<Finding> {
    if !scene.has(Phase::Registered) {
        return None;
    }
    let message = ready_message(scene.observation.node.as_ref()?)?;
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
    let at = scene
        .observation
        .timeline
        .iter()
        .find(|seen| matches!(&seen.what, ObservedEvent::Node(change) if change.exists));
    let evidence = Evidence::new(
        "Node",
        at.map_or(0, |seen| seen.at),
        format!("Ready is False: {message}"),
    );
    let because = "the node registered, and its container runtime has no network configuration".to_owned();
    let remedy = match scene.plan.cni {
        Cni::None => "on EKS the VPC CNI's pod brings it; `cni: bridge` lets the harness lay one down",
        Cni::Bridge => {
            "see /etc/cni/net.d and /opt/cni/bin in the node, and where containerd's configuration looks for them"
        }
    };
    scene.found(Cause::CniNotReady, because, &evidence, remedy.to_owned())
}

/// Somebody deleted the Node, and a kubelet registers only when it starts.
pub(super) fn node_deleted(scene: &Facts<'_>) -> Option<Finding> {
    let mut changes = scene
        .observation
        .timeline
        .iter()
        .filter_map(|seen| match &seen.what {
            ObservedEvent::Node(change) => Some((seen.at, change)),
            _ => None,
        });
    let (at, change) = changes.next_back().filter(|(_, change)| !change.exists)?;
    let by = scene
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
    let by = by.map(|user| format!(", by {user}")).unwrap_or_default();
    let because = format!(
        "the Node {} was deleted{by}, and a kubelet registers once, when it starts",
        change.name
    );
    let evidence = Evidence::new("Node", at, format!("{} is gone", change.name));
    let remedy =
        "restart the kubelet (`systemctl restart kubelet`), or let the instance be replaced".to_owned();
    scene.found(Cause::NodeDeleted, because, &evidence, remedy)
}

/// A kubelet that finds a Node of its name takes it over as it is: nobody changes the provider id of a Node.
pub(super) fn of_another_instance(scene: &Facts<'_>) -> Option<Finding> {
    let node = scene.observation.node.as_ref()?;
    let provider_id = node.pointer("/spec/providerID")?.as_str()?;
    let other = provider_id.strip_prefix("aws:///")?.rsplit('/').next()?;
    let own = &scene.plan.instance.id;
    if other == own.as_str() {
        return None;
    }
    let name = node
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let because = format!(
        "the Node {name} was made by instance {other}, which had the name before {own}: its provider id, labels and taints stay"
    );
    let at = scene
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
    scene.found(Cause::ProviderIdOfAnotherInstance, because, &evidence, remedy)
}

/// The message of a Ready condition that is not true.
fn ready_message(node: &Value) -> Option<&str> {
    let conditions = node.pointer("/status/conditions")?.as_array()?;
    let ready = conditions.iter().find(|condition| condition["type"] == "Ready")?;
    if ready["status"] == "True" {
        None
    } else {
        ready["message"].as_str()
    }
}
