//! Events of a usual join for the tests of other modules, and the phases that they reach.

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
        answer: None,
        upstream: false,
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
pub(crate) fn observed(events: impl IntoIterator<Item = ObservedEvent>) -> Observation {
    let mut observation = Observation::default();
    for (index, what) in events.into_iter().enumerate() {
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
        let events = certificate
            .clone()
            .map(ObservedEvent::Certificate)
            .into_iter()
            .chain([node(false), node(true)]);
        let observation = observed(events);
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

#[test]
fn a_watch_of_an_earlier_kubelet_that_closes_authenticates_nobody() {
    for (verb, authenticated) in [("watch", false), ("get", true)] {
        let request = ObservedEvent::Audit(Audit {
            verb: verb.into(),
            resource: "pods".into(),
            namespace: None,
            name: None,
            username: "system:node:a".into(),
            groups: vec!["system:nodes".into()],
            code: 200,
            message: None,
            object: None,
        });
        let phases = phases(&observed([request]));
        assert_eq!(
            phases.contains_key(&Phase::Authenticated),
            authenticated,
            "{verb}"
        );
    }
}

/// A node whose kubelet registered before its user data rebooted it, with these events after the reboot.
fn after_reboot(registered: usize, events: impl IntoIterator<Item = ObservedEvent>) -> Observation {
    observed(
        join()
            .into_iter()
            .take(registered)
            .chain([ObservedEvent::Rebooted])
            .chain(events),
    )
}

fn last_phase(observation: &Observation) -> Option<Phase> {
    reached(&phases(observation), observation)
}

#[test]
fn a_reboot_ends_the_phases_of_the_kubelet() {
    let boot = || journal("init.scope", "systemd", "systemd 252 running in system mode");
    let kubelet = || join().into_iter().skip(3).take(2);
    for all in [7, 9] {
        assert_eq!(last_phase(&after_reboot(all, [boot()])), Some(Phase::Described));
        // The Node is still the one of the boot before.
        assert_eq!(
            last_phase(&after_reboot(all, [node(true)])),
            Some(Phase::Described)
        );
        let started = after_reboot(all, kubelet());
        assert_eq!(last_phase(&started), Some(Phase::KubeletStarted));
    }
    let ready = after_reboot(9, kubelet().chain([accepted(), node(true)]));
    assert_eq!(last_phase(&ready), Some(Phase::Ready));
    let phases = phases(&ready);
    assert_eq!((phases[&Phase::Described], phases[&Phase::Ready]), (2000, 13_000));
    assert_eq!(
        phases[&Phase::Certified],
        13_000,
        "the kubelet keeps its certificate"
    );
}

#[test]
fn a_node_of_the_boot_before_is_not_ready_after_a_reboot() {
    let boot_id = |id: &str| Some(serde_json::json!({ "status": { "nodeInfo": { "bootID": id } } }));
    let kubelet = join().into_iter().skip(3).take(2);
    let mut seen = after_reboot(9, kubelet.chain([node(true)]));
    seen.node_before = boot_id("1");
    for (id, required) in [("1", Phase::KubeletStarted), ("2", Phase::Ready)] {
        seen.node = boot_id(id);
        assert_eq!(last_phase(&seen), Some(required));
    }
}

#[test]
fn a_controller_that_changes_the_old_node_registers_no_new_instance() {
    let boot_id = |id: &str| Some(serde_json::json!({ "status": { "nodeInfo": { "bootID": id } } }));
    let boots = journal(
        "init.scope",
        "systemd",
        "Reached target basic.target - Basic System.",
    );
    let old = observed([boots.clone(), node(true)]);
    let replaced = Observation {
        node_before: boot_id("1"),
        node: boot_id("1"),
        ..old
    };
    assert_eq!(last_phase(&replaced), Some(Phase::Booted));
    let kubelet = join().into_iter().skip(3).take(2);
    let joined = Observation {
        node_before: boot_id("1"),
        node: boot_id("2"),
        ..observed([boots].into_iter().chain(kubelet).chain([accepted(), node(true)]))
    };
    assert_eq!(last_phase(&joined), Some(Phase::Ready));
}

#[test]
fn user_data_ends_again_after_a_reboot() {
    let ends = || {
        journal(
            "cloud-final.service",
            "systemd",
            "Finished Execute cloud user/final scripts.",
        )
    };
    let skips = journal(
        "nodejoin-user-data.service",
        "systemd",
        "User data was skipped because of an unmet condition check (ConditionPathExists=!/opt/nodejoin/user-data/status).",
    );
    let rebooted = observed([ends(), ObservedEvent::Rebooted]);
    assert_eq!(user_data_done(&rebooted), None);
    for end in [ends(), skips] {
        let seen = observed([ends(), ObservedEvent::Rebooted, end]);
        assert_eq!(user_data_done(&seen), Some(2000));
    }
}

#[test]
fn phases_after_a_step_belong_to_the_kubelet_that_it_started() {
    let start = journal("kubelet.service", "systemd", "Started Kubernetes Kubelet.");
    let before = [
        ObservedEvent::Isolated,
        journal("kubelet.service", "kubelet", "x509: unknown authority"),
        accepted(),
        node(true),
    ];
    let step = |after: &[ObservedEvent]| Observation {
        node_before: Some(serde_json::json!({})),
        ..observed(
            before
                .iter()
                .cloned()
                .chain([start.clone()])
                .chain(after.iter().cloned()),
        )
    };
    let last = |after: &[ObservedEvent]| phases(&step(after)).into_keys().max();
    assert_eq!(last(&[]), Some(Phase::Configured));
    let line = journal("kubelet.service", "kubelet", "Starting kubelet.");
    assert_eq!(last(std::slice::from_ref(&line)), Some(Phase::KubeletStarted));
    assert_eq!(last(&[line, accepted(), node(true)]), Some(Phase::Ready));
    // Without a start, the kubelet is the one from before.
    let unchanged = Observation {
        node_before: Some(serde_json::json!({})),
        ..observed(before.iter().cloned())
    };
    assert_eq!(phases(&unchanged).into_keys().max(), Some(Phase::Ready));
}
