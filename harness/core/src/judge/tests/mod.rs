//! Observations of joins for the tests of this folder.

mod expectations;
mod outcome;
mod progress;
mod texts;

use serde_json::json;

use super::judge;
use crate::judge::verdict::Check;
use crate::observation::phases::tests::{accepted, join, journal, observed, serving};
use crate::observation::{
    AccessResult, Audit, AuthenticationOutcome, Certificate, Collected, CollectedFile, MappingWrite,
    Observation, ObservedEvent, PodResult, RejectionKind, ServingCertificate, TokenRejection, UserDataResult,
};
use crate::plan::Plan;
use crate::plan::expect::Expect;

pub(super) const NAME: &str = "ip-192-168-40-16.eu-west-1.compute.internal";

pub(super) fn plan(expect: &str) -> Plan {
    let expect: Expect =
        serde_json::from_value(crate::input::yaml::parse(expect).unwrap().to_json()).unwrap();
    Plan {
        expect,
        ..crate::testing::plan()
    }
}

/// A complete join with everything that a scenario can check.
pub(super) fn complete() -> Observation {
    let audit = ObservedEvent::Audit(Audit {
        verb: "create".into(),
        resource: "nodes".into(),
        namespace: None,
        name: Some(NAME.into()),
        username: format!("system:node:{NAME}"),
        groups: ["system:nodes", "system:bootstrappers", "system:authenticated"]
            .map(String::from)
            .to_vec(),
        code: 201,
        message: None,
        object: None,
    });
    let mut events = join();
    events.extend([
        ObservedEvent::Isolated,
        audit,
        journal("kubelet.service", "systemd", "Started Kubernetes Kubelet."),
        ObservedEvent::Mapping(MappingWrite {
            verb: "patch".into(),
            username: "eks:node-manager".into(),
            added: vec!["arn:aws:iam::111122223333:role/demo-role".into()],
        }),
    ]);
    let labels = json!({"team": "ironman", "kubernetes.io/os": "linux"});
    let node = json!({
        "metadata": {"name": NAME, "labels": labels, "annotations": {"example.com/a": "b"}},
        "spec": {
            "providerID": "aws:///eu-west-1a/i-0b22a22eec53b9321",
            "taints": [
                {"key": "dedicated", "value": "batch", "effect": "NoSchedule"},
                {"key": "gpu", "effect": "NoExecute"},
                {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
            ],
        },
        "status": {
            "addresses": [{"type": "InternalIP", "address": "192.168.40.16"}],
            "capacity": {"pods": "29", "memory": "8Gi"},
            "nodeInfo": {"kubeletVersion": "v1.20.2"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    });
    let certificate = Certificate {
        requestor: format!("system:node:{NAME}"),
        groups: ["system:bootstrappers", "system:nodes", "system:authenticated"]
            .map(String::from)
            .to_vec(),
        common_name: Some(format!("system:node:{NAME}")),
        organizations: vec!["system:nodes".into()],
        dns_names: vec![NAME.into()],
        ip_addresses: vec!["192.168.40.16".into()],
        usages: vec![
            "digital signature".into(),
            "key encipherment".into(),
            "server auth".into(),
        ],
        decided_by: Some("eks:certificate-controller".into()),
        ..serving(Some(true), true)
    };
    let file = CollectedFile {
        exists: true,
        mode: 0o644,
        owner: "root:root".into(),
        text: "BEGIN CERTIFICATE\n".into(),
        ..CollectedFile::default()
    };
    Observation {
        node_at_creation: Some(node.clone()),
        node: Some(node),
        certificates: vec![certificate],
        collected: Some(Collected {
            chosen_configuration: Default::default(),
            user_data_processes: Vec::new(),
            redirected_output: Vec::new(),
            golden: None,
            script_trace: None,
            kubelet_argv: Some(
                ["/usr/bin/kubelet", "--max-pods=29", "--v", "2"]
                    .map(String::from)
                    .to_vec(),
            ),
            configz: Some(json!({"kubeletconfig": {
                "clusterDNS": ["10.100.0.10"], "evictionHard": {"memory.available": "100Mi"},
            }})),
            files: [("/etc/kubernetes/pki/ca.crt".to_owned(), file)].into(),
            units: [("kubelet.service".to_owned(), "active".to_owned())].into(),
            unit_properties: [
                ("kubelet.service UnitFileState", "enabled"),
                ("kubelet.service Slice", "runtime.slice"),
                ("kubelet.service Restart", "always"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
            units_enabled: Some(vec!["kubelet.service".into(), "containerd.service".into()]),
            served: Some(ServingCertificate {
                fingerprint: Some("f".into()),
                verified: true,
                error: None,
            }),
            user_data: Some(UserDataResult {
                ran: true,
                exit_codes: [("part-001".to_owned(), 0)].into(),
                output: "the kubelet is started\n".into(),
                ..UserDataResult::default()
            }),
            pod: Some(PodResult {
                answered: true,
                detail: "Running".into(),
            }),
            access: Some(vec![AccessResult {
                allowed: true,
                reason: String::new(),
            }]),
        }),
        ..observed(events)
    }
}

pub(super) fn broken(plan: &Plan, observation: &Observation) -> Vec<Check> {
    judge(plan, observation)
        .checks
        .into_iter()
        .filter(|check| !check.held)
        .collect()
}

pub(super) fn unmapped() -> ObservedEvent {
    let ObservedEvent::Authentication(mut decision) = accepted() else {
        unreachable!("it is a decision")
    };
    let rejection = TokenRejection::new(RejectionKind::NotMapped, "ARN is not mapped");
    decision.outcome = AuthenticationOutcome::Refused(rejection);
    ObservedEvent::Authentication(decision)
}

/// A join that stops because its role is not mapped; the token is refused at 5 s.
pub(super) fn stopped() -> Observation {
    observed(
        join()
            .into_iter()
            .take(5)
            .chain([unmapped(), ObservedEvent::Isolated]),
    )
}
