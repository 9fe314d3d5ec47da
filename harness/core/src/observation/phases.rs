//! Derives the phases of a join from its observation.

use std::collections::BTreeMap;

use crate::observation::phase::Phase;
use crate::observation::{Audit, AwsCall, JournalLine, Millis, Observation, ObservedEvent};
use crate::plan::fault::Service;

/// Signer of the serving certificates of kubelets.
pub const KUBELET_SERVING: &str = "kubernetes.io/kubelet-serving";

/// Signer of the client certificates that kubelets register with.
pub const KUBELET_CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";

/// The time of each phase that the join reached.
#[must_use]
pub fn phases(observation: &Observation) -> BTreeMap<Phase, Millis> {
    let mut phases = BTreeMap::new();
    for seen in &observation.timeline {
        for phase in Phase::ALL {
            if shows(&seen.what, phase) {
                let first = phases.entry(phase).or_insert(seen.at);
                *first = seen.at.min(*first);
            }
        }
    }
    phases
}

/// The current phase of a join. `ready` counts only with the serving certificate that the kubelet requested: without it
/// the node is ready, but `logs` and `exec` fail.
#[must_use]
pub fn reached(phases: &BTreeMap<Phase, Millis>, observation: &Observation) -> Option<Phase> {
    let requested = observation
        .certificates
        .iter()
        .any(|certificate| certificate.signer == KUBELET_SERVING);
    let counts =
        |phase: &Phase| *phase != Phase::Ready || !requested || phases.contains_key(&Phase::Certified);
    phases.keys().copied().filter(counts).max()
}

fn shows(what: &ObservedEvent, phase: Phase) -> bool {
    match (phase, what) {
        (Phase::Booted, ObservedEvent::Journal(_)) => true,
        (Phase::Metadata, ObservedEvent::Aws(call)) => call.service == Service::Imds && succeeded(call),
        (Phase::Described, ObservedEvent::Aws(call)) => {
            call.service == Service::Eks && call.operation == "DescribeCluster" && succeeded(call)
        }
        (Phase::Configured, ObservedEvent::Journal(line)) => is_start_of_kubelet(line),
        (Phase::KubeletStarted, ObservedEvent::Journal(line)) => is_by_kubelet(line),
        (Phase::Authenticated, ObservedEvent::Authentication(decision)) => decision.is_accepted(),
        (Phase::Authenticated, ObservedEvent::Audit(audit)) => is_by_node(audit) && audit.code != 401,
        (Phase::Registered, ObservedEvent::Node(change)) => change.exists,
        (Phase::Certified, ObservedEvent::Certificate(certificate)) => {
            certificate.signer == KUBELET_SERVING && certificate.issued
        }
        (Phase::Ready, ObservedEvent::Node(change)) => change.exists && change.ready,
        _ => false,
    }
}

fn succeeded(call: &AwsCall) -> bool {
    (200..400).contains(&call.status)
}

/// Whether the line belongs to the kubelet's unit; its name depends on the distribution.
#[must_use]
pub fn is_of_kubelet(line: &JournalLine) -> bool {
    line.unit
        .as_deref()
        .is_some_and(|unit| unit.starts_with("kubelet") || unit.starts_with("snap.kubelet"))
}

/// Whether the kubelet itself wrote the line, and not an `ExecStartPre` command of its unit.
#[must_use]
pub fn is_by_kubelet(line: &JournalLine) -> bool {
    let by_command = line
        .command
        .as_deref()
        .is_none_or(|command| command.starts_with("kubelet"));
    is_of_kubelet(line) && !line.by_systemd && by_command
}

fn is_start_of_kubelet(line: &JournalLine) -> bool {
    let starts = line.message.starts_with("Starting ") || line.message.starts_with("Started ");
    is_of_kubelet(line) && line.by_systemd && starts
}

/// Prefix of the user names of bootstrap tokens.
const BOOTSTRAP_USER: &str = "system:bootstrap:";

/// Whether the node sent the request, and not a controller.
fn is_by_node(audit: &Audit) -> bool {
    // kubeadm sends requests with the same token before the kubelet does.
    if audit.username.starts_with(BOOTSTRAP_USER) {
        return audit.resource.starts_with("certificatesigningrequests");
    }
    audit.username.starts_with("system:node:")
        || audit
            .groups
            .iter()
            .any(|group| group == "system:nodes" || group.starts_with("system:bootstrappers"))
}

/// When the user data was done: cloud-init reported it, or its unit ended. With nodeadm, its last unit has to end as
/// well, which comes after cloud-init.
#[must_use]
pub fn user_data_done(observation: &Observation) -> Option<Millis> {
    let lines = || {
        observation.timeline.iter().filter_map(|seen| match &seen.what {
            ObservedEvent::Journal(line) => Some((seen.at, line)),
            _ => None,
        })
    };
    let done = lines().find(|(_, line)| is_end_of_user_data(line))?.0;
    if !lines().any(|(_, line)| is_of_nodeadm(line)) {
        return Some(done);
    }
    let ended = lines().find(|(_, line)| is_end_of_nodeadm(line))?.0;
    Some(done.max(ended))
}

/// Whether the line belongs to one of nodeadm's units.
#[must_use]
pub fn is_of_nodeadm(line: &JournalLine) -> bool {
    line.unit
        .as_deref()
        .is_some_and(|unit| unit.starts_with("nodeadm-"))
}

fn is_end_of_nodeadm(line: &JournalLine) -> bool {
    const WORDS: [&str; 3] = ["Finished ", "Failed to start ", "Dependency failed for "];
    line.by_systemd
        && line.unit.as_deref() == Some("nodeadm-run.service")
        && WORDS.iter().any(|word| line.message.starts_with(word))
}

fn is_end_of_user_data(line: &JournalLine) -> bool {
    let unit = line.unit.as_deref().unwrap_or_default();
    if !unit.starts_with("cloud-final") && !unit.contains("user-data") {
        return false;
    }
    let message = &line.message;
    if !line.by_systemd {
        return message.starts_with("Cloud-init v. ") && message.contains(" finished at ");
    }
    ["Finished ", "Failed to start "]
        .iter()
        .any(|word| message.starts_with(word))
        || message.contains("Failed with result")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::observation::{Authentication, AuthenticationOutcome, Certificate, NodeChange, TimelineEntry};

    pub(crate) fn journal(unit: &str, command: &str, message: &str) -> ObservedEvent {
        ObservedEvent::Journal(JournalLine {
            unit: Some(unit.to_owned()),
            command: Some(command.to_owned()),
            by_systemd: command == "systemd",
            message: message.to_owned(),
        })
    }

    pub(crate) fn aws(service: Service, operation: &str, status: u16) -> AwsCall {
        AwsCall {
            service: service.into(),
            operation: operation.to_owned(),
            method: "GET".into(),
            host: String::new(),
            path: String::new(),
            status,
            error: None,
            message: None,
            subject: (service == Service::Eks).then(|| "demo".to_owned()),
            known: true,
            fault: None,
            authorization: None,
            took_ms: 1,
        }
    }

    pub(crate) fn accepted() -> ObservedEvent {
        ObservedEvent::Authentication(Authentication {
            arn: Some("arn:aws:sts::111122223333:assumed-role/demo-role/i-0b22a22eec53b9321".into()),
            canonical_arn: Some("arn:aws:iam::111122223333:role/demo-role".into()),
            outcome: AuthenticationOutcome::Accepted {
                username: "system:node:ip-192-168-40-16.eu-west-1.compute.internal".into(),
                groups: vec!["system:bootstrappers".into(), "system:nodes".into()],
            },
        })
    }

    pub(crate) fn node(ready: bool) -> ObservedEvent {
        ObservedEvent::Node(NodeChange {
            name: "ip-192-168-40-16.eu-west-1.compute.internal".into(),
            exists: true,
            ready,
        })
    }

    pub(crate) fn serving(approved: Option<bool>, issued: bool) -> Certificate {
        Certificate {
            name: "csr-1".into(),
            signer: KUBELET_SERVING.into(),
            approved,
            issued,
            fingerprint: issued.then(|| "f".into()),
            ..Certificate::default()
        }
    }

    /// An observation of these events, one each second.
    pub(crate) fn observed(whats: impl IntoIterator<Item = ObservedEvent>) -> Observation {
        let mut observation = Observation::default();
        for (index, what) in whats.into_iter().enumerate() {
            if let ObservedEvent::Certificate(certificate) = &what {
                observation
                    .certificates
                    .retain(|old| old.name != certificate.name);
                observation.certificates.push(certificate.clone());
            }
            observation.timeline.push(TimelineEntry {
                at: index as Millis * 1000,
                what,
            });
        }
        observation
    }

    /// A complete join in its usual order: ready at 8 s.
    pub(crate) fn join() -> Vec<ObservedEvent> {
        vec![
            journal("init.scope", "systemd", "systemd 252 running in system mode"),
            ObservedEvent::Aws(aws(Service::Imds, "meta-data/instance-id", 200)),
            ObservedEvent::Aws(aws(Service::Eks, "DescribeCluster", 200)),
            journal("kubelet.service", "systemd", "Starting Kubernetes Kubelet..."),
            journal(
                "kubelet.service",
                "kubelet",
                "I1121 server.go:416] Version: v1.20.2",
            ),
            accepted(),
            node(false),
            ObservedEvent::Certificate(serving(Some(true), true)),
            node(true),
        ]
    }

    #[test]
    fn a_complete_join_reaches_every_phase() {
        let phases = phases(&observed(join()));
        assert_eq!(phases.keys().copied().collect::<Vec<_>>(), Phase::ALL);
        assert_eq!(
            phases.values().copied().collect::<Vec<_>>(),
            (0..9).map(|s| s * 1000).collect::<Vec<_>>()
        );
    }

    #[test]
    fn similar_events_do_not_reach_a_phase() {
        for (what, phase) in [
            (
                ObservedEvent::Aws(aws(Service::Imds, "meta-data/x", 404)),
                Phase::Metadata,
            ),
            (
                ObservedEvent::Aws(aws(Service::Imds, "meta-data/x", 0)),
                Phase::Metadata,
            ),
            (
                ObservedEvent::Aws(aws(Service::Eks, "DescribeCluster", 403)),
                Phase::Described,
            ),
            (
                ObservedEvent::Aws(aws(Service::Eks, "ListClusters", 200)),
                Phase::Described,
            ),
            (
                journal(
                    "kubelet.service",
                    "systemd",
                    "Dependency failed for Kubernetes Kubelet.",
                ),
                Phase::Configured,
            ),
            (
                journal("kubelet.service", "iptables", "another app is holding the lock"),
                Phase::KubeletStarted,
            ),
            (
                journal("containerd.service", "kubelet", "x"),
                Phase::KubeletStarted,
            ),
            (
                ObservedEvent::Certificate(serving(Some(true), false)),
                Phase::Certified,
            ),
            (node(false), Phase::Ready),
        ] {
            assert_eq!(phases(&observed([what.clone()])).get(&phase), None, "{what:?}");
        }
    }

    #[test]
    fn ready_counts_only_with_the_requested_certificate() {
        for (certificate, wanted) in [
            (None, Phase::Ready),
            (Some(serving(None, false)), Phase::Registered),
            (Some(serving(Some(false), false)), Phase::Registered),
            (Some(serving(Some(true), true)), Phase::Ready),
        ] {
            let whats = certificate
                .clone()
                .map(ObservedEvent::Certificate)
                .into_iter()
                .chain([node(false), node(true)]);
            let observation = observed(whats);
            let phases = phases(&observation);
            assert_eq!(reached(&phases, &observation), Some(wanted), "{certificate:?}");
        }
    }

    #[test]
    fn cloud_init_or_systemd_report_the_end_of_user_data() {
        for (unit, command, message, done) in [
            (
                "cloud-final.service",
                "cloud-init",
                "Cloud-init v. 22.4.2 finished at Sat, 21 Nov 2026. Datasource DataSourceEc2.",
                true,
            ),
            (
                "cloud-init.service",
                "cloud-init",
                "Cloud-init v. 22.4.2 running 'init' at",
                false,
            ),
            (
                "nodejoin-user-data.service",
                "systemd",
                "nodejoin-user-data.service: Failed with result 'exit-code'.",
                true,
            ),
            (
                "cloud-final.service",
                "systemd",
                "Starting Execute cloud user/final scripts...",
                false,
            ),
            ("kubelet.service", "systemd", "Finished something", false),
        ] {
            let observation = observed([journal(unit, command, message)]);
            assert_eq!(user_data_done(&observation).is_some(), done, "{message}");
        }
    }

    #[test]
    fn nodeadm_ends_user_data_with_its_last_unit() {
        let done = journal(
            "cloud-final.service",
            "cloud-init",
            "Cloud-init v. 22.4.2 finished at x. Datasource DataSourceEc2.",
        );
        let run = |message: &str| journal("nodeadm-run.service", "systemd", message);
        let started = run("Starting EKS Nodeadm Run...");
        assert_eq!(user_data_done(&observed([done.clone()])), Some(0));
        assert_eq!(user_data_done(&observed([done.clone(), started.clone()])), None);
        for word in ["Finished", "Failed to start", "Dependency failed for"] {
            let ended = run(&format!("{word} EKS Nodeadm Run."));
            let observation = observed([done.clone(), started.clone(), ended]);
            assert_eq!(user_data_done(&observation), Some(2000), "{word}");
        }
    }

    #[test]
    fn only_the_kubelet_authenticates_a_node_with_a_bootstrap_token() {
        for (resource, authenticated) in [("configmaps", false), ("certificatesigningrequests", true)] {
            let request = ObservedEvent::Audit(Audit {
                verb: "create".into(),
                resource: resource.into(),
                namespace: None,
                name: None,
                username: "system:bootstrap:abcdef".into(),
                groups: vec!["system:nodes".into()],
                code: 201,
                message: None,
                object: None,
            });
            let phases = phases(&observed([request]));
            assert_eq!(
                phases.contains_key(&Phase::Authenticated),
                authenticated,
                "{resource}"
            );
        }
    }
}
