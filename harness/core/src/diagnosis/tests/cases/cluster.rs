//! What comes with and after registration: the Node object, its certificates, its network.

use super::*;
use crate::observation::phases::KUBELET_CLIENT;
use crate::observation::{Certificate, NodeChange, ServingCertificate};
use crate::plan::Approval;

fn invalid(name: &'static str, message: &str) -> Case {
    let refusal = audit("create", "nodes", 422, "system:node:x", message);
    Case::new(name, after_token([refusal]))
}

fn with_serving(name: &'static str, approved: Option<bool>) -> Case {
    let certificate = Certificate {
        requestor: format!("system:node:{NAME}"),
        dns_names: vec!["other".into()],
        ip_addresses: vec!["192.0.2.1".into()],
        ..serving(approved, false)
    };
    Case::new(
        name,
        after_token([node(false), ObservedEvent::Certificate(certificate), node(true)]),
    )
}

fn without_network(name: &'static str, cni: Cni) -> Case {
    let mut case = Case::new(name, join().into_iter().take(8)).plan(|plan| plan.cni = cni);
    case.observation.node = Some(json!({"status": {"conditions": [{
        "type": "Ready",
        "status": "False",
        "message": "runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:cni config uninitialized",
    }]}}));
    case
}

fn gone() -> ObservedEvent {
    ObservedEvent::Node(NodeChange {
        name: NAME.into(),
        exists: false,
        ready: false,
    })
}

pub(super) fn cases() -> Vec<Case> {
    let pending_client = Certificate {
        signer: KUBELET_CLIENT.into(),
        requestor: format!("system:node:{NAME}"),
        ..serving(None, false)
    };
    let without_reason = || {
        let ObservedEvent::Audit(audit) = audit("create", "nodes", 422, "system:node:x", "") else {
            unreachable!("it is an audit event")
        };
        ObservedEvent::Audit(Audit {
            message: None,
            ..audit
        })
    };
    let registering = format!(
        "E1121 11:27:33.888033     282 kubelet_node_status.go:93] Unable to register node \"{NAME}\" with API server: Node \
         \"{NAME}\" is invalid: metadata.labels: Invalid value: \"has/slash\": a valid label must be (e.g. 'MyValue')"
    );
    vec![
        invalid(
            "invalid label",
            "Node \"x\" is invalid: metadata.labels: Invalid value: \"b c\"",
        ),
        invalid(
            "invalid taint",
            "Node \"x\" is invalid: metadata.taints[1]: Duplicate value",
        ),
        invalid(
            "invalid name",
            "Node \"x\" is invalid: metadata.name: Invalid value: \"X\"",
        ),
        Case::new("invalid Node without a reason", after_token([without_reason()])),
        Case::new(
            "invalid Node with the kubelet's reason",
            after_token([without_reason(), kubelet(&registering)]),
        ),
        Case::new(
            "client certificate without approval",
            after_token([ObservedEvent::Certificate(pending_client)]),
        ),
        with_serving("serving certificate without approval", None),
        with_serving("serving certificate without an approver", None)
            .plan(|plan| plan.cluster.approve_serving = Approval::Always(false)),
        with_serving("port 10250 without a certificate", None).seen(|seen| {
            seen.collected = Some(Collected {
                served: Some(ServingCertificate {
                    error: Some("no handshake: tls alert".into()),
                    ..ServingCertificate::default()
                }),
                ..Collected::default()
            });
        }),
        with_serving("serving certificate that was denied", Some(false)),
        with_serving("serving certificate that was denied with a reason", Some(false)).seen(|seen| {
            let certificate = seen.certificates.last_mut().unwrap();
            certificate.decided_by = Some("eks:certificate-controller".into());
            certificate.decision = Some("Denied: not the instance's address".into());
        }),
        with_serving("serving certificate of a name that a flag gives", Some(false)).seen(|seen| {
            seen.certificates.last_mut().unwrap().dns_names = vec!["worker-1".into()];
            seen.collected = Some(Collected {
                kubelet_argv: Some(vec!["kubelet".into(), "--hostname-override=worker-1".into()]),
                ..Collected::default()
            });
        }),
        without_network("scenario without a CNI", Cni::None),
        without_network("CNI that is not there", Cni::Bridge),
        Case::new(
            "Node that was deleted",
            after_start([
                node(false),
                audit("delete", "nodes", 200, "kubernetes-admin", ""),
                gone(),
            ]),
        ),
        Case::new("Node that is gone", after_start([node(false), gone()])),
        Case::new("Node of another instance", join()).seen(|seen| {
            let spec = json!({ "providerID": "aws:///eu-west-1a/i-1" });
            seen.node = Some(json!({ "metadata": { "name": NAME }, "spec": spec }));
        }),
    ]
}
