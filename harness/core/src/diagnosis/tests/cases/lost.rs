//! Nodes that were ready and are not any more.

use super::*;
use crate::observation::NodeChange;

const EXITED: &str = "kubelet.service: Main process exited, code=exited, status=255/EXCEPTION";
const STARTED: &str = "Started Kubernetes Kubelet.";

fn unit(message: &str) -> ObservedEvent {
    systemd("kubelet.service", message)
}

/// Events after a complete join.
fn after_join(events: impl IntoIterator<Item = ObservedEvent>) -> Vec<ObservedEvent> {
    join().into_iter().chain(events).collect()
}

fn with_condition(name: &'static str, message: &str) -> Case {
    let condition = json!({ "type": "Ready", "status": "False", "message": message });
    Case::new(name, after_join([node(false)]))
        .seen(|seen| seen.node = Some(json!({ "status": { "conditions": [condition] } })))
}

fn gone() -> ObservedEvent {
    ObservedEvent::Node(NodeChange {
        name: NAME.into(),
        exists: false,
        ready: false,
    })
}

pub(super) fn cases() -> Vec<Case> {
    let fatal = || {
        kubelet("F1121 10:00:00.000001     321 server.go:198] failed to load Kubelet config file /etc/k.json")
    };
    let deleted = audit("delete", "nodes", 200, "kubernetes-admin", "");
    vec![
        Case::new(
            "kubelet that exits again and again after the join",
            after_join([
                unit(STARTED),
                unit(EXITED),
                fatal(),
                unit(STARTED),
                unit(EXITED),
                unit(STARTED),
            ]),
        ),
        Case::new(
            "kubelet that exits without a word after the join",
            after_join([unit(EXITED)]),
        ),
        Case::new(
            "kubelet that is stopped after the join",
            after_join([unit("Stopped Kubernetes Kubelet.")]),
        ),
        Case::new(
            "Node that is deleted after the join",
            after_join([deleted, gone()]),
        ),
        with_condition(
            "network that is removed after the join",
            "runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:cni config uninitialized",
        ),
        with_condition(
            "container runtime that stops after the join",
            "container runtime is down",
        ),
    ]
}

#[test]
fn a_node_that_is_ready_again_is_not_lost() {
    let stopped = || unit("Stopped Kubernetes Kubelet.");
    for events in [
        vec![stopped(), unit(STARTED)],
        vec![unit(EXITED), unit(STARTED)],
        vec![node(false), node(true)],
        vec![gone(), node(true)],
    ] {
        assert_eq!(diagnose(&plan(), &observed(after_join(events))), None);
    }
}

#[test]
fn a_loss_that_the_scenario_expects_has_no_cause() {
    let mut expects_loss = plan();
    let expect: crate::plan::expect::Expect = serde_yaml::from_str("node: { ready: false }").unwrap();
    expects_loss.expect = expect;
    let lost = observed(after_join([node(false)]));
    assert_eq!(diagnose(&expects_loss, &lost), None);
    assert_ne!(diagnose(&plan(), &lost), None);
}
