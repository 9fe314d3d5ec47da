//! Verdicts and progress of joins that are held against expectations.

use serde_json::json;

use super::{Progress, judge, progress};
use crate::expect::Expect;
use crate::fault::Service;
use crate::observation::{
    Audit, Certificate, Collected, CollectedFile, Observation, PodResult, Refusal, Served, UserDataResult,
    What,
};
use crate::phase::Phase;
use crate::phases::tests::{accepted, aws, join, journal, observed, serving};
use crate::plan::{Plan, UserDataEngine, UserDataPlan, tests};
use crate::verdict::{Cause, Check, Outcome};

const NAME: &str = "ip-192-168-40-16.eu-west-1.compute.internal";

fn plan(expect: &str) -> Plan {
    let expect: Expect = serde_json::from_value(crate::yaml::parse(expect).unwrap().to_json()).unwrap();
    Plan {
        expect,
        ..tests::plan()
    }
}

/// A whole join with everything that a scenario can ask for.
fn whole() -> Observation {
    let audit = What::Audit(Audit {
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
    let mut whats = join();
    whats.extend([
        What::Isolated,
        audit,
        journal("kubelet.service", "systemd", "Started Kubernetes Kubelet."),
    ]);
    let labels = json!({"team": "ironman", "kubernetes.io/os": "linux"});
    let node = json!({
        "metadata": {"name": NAME, "labels": labels},
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
        text: "BEGIN CERTIFICATE\n".into(),
    };
    Observation {
        node_at_creation: Some(node.clone()),
        node: Some(node),
        certificates: vec![certificate],
        collected: Some(Collected {
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
            served: Some(Served {
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
        }),
        ..observed(whats)
    }
}

fn broken(plan: &Plan, observation: &Observation) -> Vec<Check> {
    judge(plan, observation)
        .checks
        .into_iter()
        .filter(|check| !check.held)
        .collect()
}

/// Each: an expectation that the whole join meets, and one beside it that it does not, with the key that tells.
const PAIRS: &[(&str, &str, &str)] = &[
    (
        "phase: ready",
        "{ phase: registered, diagnosis: cni-not-ready }",
        "phase",
    ),
    ("phase: registered", "{ diagnosis: role-not-mapped }", "diagnosis"),
    (
        "authentication: { accepted: true }",
        "authentication: { accepted: false }",
        "authentication.accepted",
    ),
    (
        "authentication: { role: demo-role }",
        "authentication: { role: demo }",
        "authentication.role",
    ),
    (
        "authentication: { username: 'system:node:ip-192-168-40-16.eu-west-1.compute.internal' }",
        "authentication: { username: 'system:node:x' }",
        "authentication.username",
    ),
    (
        "authentication: { groups: ['system:nodes', 'system:bootstrappers'] }",
        "authentication: { groups: ['system:nodes'] }",
        "authentication.groups",
    ),
    (
        "certificates: [{ signer: kubernetes.io/kubelet-serving, organizations: ['system:nodes'], approved: true, issued: true, served: true }]",
        "certificates: [{ signer: kubernetes.io/kubelet-serving, approved: false }]",
        "certificates[0].approved",
    ),
    (
        "certificates: [{ signer: kubernetes.io/kubelet-serving, usages: ['server auth', 'digital signature', 'key encipherment'] }]",
        "certificates: [{ signer: kubernetes.io/kubelet-serving, usages: ['client auth'] }]",
        "certificates[0].usages",
    ),
    (
        "certificates: [{ signer: kubernetes.io/kubelet-serving, ip_addresses: [192.168.40.16] }]",
        "certificates: [{ signer: kubernetes.io/kubelet-serving, served: false }]",
        "certificates[0].served",
    ),
    (
        "certificates: [{ signer: kubernetes.io/kubelet-serving }]",
        "certificates: [{ signer: kubernetes.io/kubelet-serving }, { signer: kubernetes.io/kubelet-serving }]",
        "certificates[1]",
    ),
    (
        "certificates: [{ signer: kubernetes.io/kubelet-serving }]",
        "certificates: []",
        "certificates",
    ),
    (
        "node: { name: ip-192-168-40-16.eu-west-1.compute.internal }",
        "node: { name: x }",
        "node.name",
    ),
    (
        "node: { provider_id: 'aws:///eu-west-1a/i-0b22a22eec53b9321' }",
        "node: { provider_id: x }",
        "node.provider_id",
    ),
    (
        "node: { addresses: { InternalIP: 192.168.40.16 } }",
        "node: { addresses: { InternalIP: 1.2.3.4 } }",
        "node.addresses.InternalIP",
    ),
    (
        "node: { capacity: { pods: 29, memory: 8192Mi } }",
        "node: { capacity: { pods: 30 } }",
        "node.capacity.pods",
    ),
    (
        "node: { kubelet_version: v1.20.2 }",
        "node: { kubelet_version: v1.20 }",
        "node.kubelet_version",
    ),
    (
        "node: { labels: { team: ironman } }",
        "node: { labels: { team: thor } }",
        "node.labels.team",
    ),
    (
        "node: { labels_exactly: { team: ironman, kubernetes.io/os: linux } }",
        "node: { labels_exactly: { team: ironman } }",
        "node.labels_exactly",
    ),
    (
        "node: { labels_absent: [tier] }",
        "node: { labels_absent: [team] }",
        "node.labels_absent.team",
    ),
    (
        "node: { labels_at_creation: { team: ironman } }",
        "node: { labels_at_creation: { tier: x } }",
        "node.labels_at_creation.tier",
    ),
    (
        "node: { taints: ['gpu:NoExecute', 'dedicated=batch:NoSchedule'] }",
        "node: { taints: ['gpu:NoExecute'] }",
        "node.taints",
    ),
    (
        "node: { taints_include: ['gpu=:NoExecute'] }",
        "node: { taints_include: ['x:NoExecute'] }",
        "node.taints_include.x:NoExecute",
    ),
    (
        "node: { taints_absent: ['x:NoExecute'] }",
        "node: { taints_absent: ['gpu:NoExecute'] }",
        "node.taints_absent.gpu:NoExecute",
    ),
    (
        "node: { taints_at_creation: ['dedicated=batch:NoSchedule'] }",
        "node: { taints_at_creation: ['dedicated=x:NoSchedule'] }",
        "node.taints_at_creation.dedicated=x:NoSchedule",
    ),
    ("node: { ready: true }", "node: { ready: false }", "node.ready"),
    (
        "aws: { eks.DescribeCluster: 1 }",
        "aws: { eks.DescribeCluster: 0 }",
        "aws.eks.DescribeCluster",
    ),
    (
        "aws: { eks.DescribeCluster: { min: 1 } }",
        "aws: { eks.DescribeCluster: { min: 2 } }",
        "aws.eks.DescribeCluster",
    ),
    (
        "aws: { imds.meta-data/*: { max: 1 } }",
        "aws: { imds.meta-data/*: { max: 0 } }",
        "aws.imds.meta-data/*",
    ),
    (
        "aws_order: [imds.meta-data/instance-id, eks.DescribeCluster]",
        "aws_order: [eks.DescribeCluster, imds.meta-data/instance-id]",
        "aws_order",
    ),
    (
        "files: { /etc/kubernetes/pki/ca.crt: { contains: [BEGIN], lacks: [END], mode: '0644' } }",
        "files: { /etc/kubernetes/pki/ca.crt: { mode: '0600' } }",
        "files./etc/kubernetes/pki/ca.crt.mode",
    ),
    (
        "files: { /etc/kubernetes/pki/ca.crt: {} }",
        "files: { /etc/kubernetes/pki/ca.crt: { exists: false } }",
        "files./etc/kubernetes/pki/ca.crt.exists",
    ),
    (
        "files: { /etc/kubernetes/pki/ca.crt: { contains: [CERT] } }",
        "files: { /etc/kubernetes/pki/ca.crt: { lacks: [CERT] } }",
        "files./etc/kubernetes/pki/ca.crt.lacks",
    ),
    (
        "units: { kubelet.service: active }",
        "units: { docker.service: active }",
        "units.docker.service",
    ),
    (
        "kubelet: { argv: ['--max-pods=29', '--max-pods 29', '--v=2', '--v 2'] }",
        "kubelet: { argv: ['--max-pods=2'] }",
        "kubelet.argv.--max-pods=2",
    ),
    (
        "kubelet: { argv_absent: ['--cloud-provider'] }",
        "kubelet: { argv_absent: ['--max-pods'] }",
        "kubelet.argv_absent.--max-pods",
    ),
    (
        "kubelet: { config: { clusterDNS: [10.100.0.10], evictionHard.memory.available: 100Mi } }",
        "kubelet: { config: { clusterDNS: [10.100.0.11] } }",
        "kubelet.config.clusterDNS",
    ),
    (
        "kubelet: { starts: 1 }",
        "kubelet: { starts: 2 }",
        "kubelet.starts",
    ),
    (
        "user_data: { succeeded: true }",
        "user_data: { succeeded: false }",
        "user_data.succeeded",
    ),
    (
        "user_data: { exit_codes: { part-001: 0 } }",
        "user_data: { exit_codes: { part-002: 0 } }",
        "user_data.exit_codes.part-002",
    ),
    (
        "user_data: { output_contains: [is started] }",
        "user_data: { output_contains: [is stopped] }",
        "user_data.output_contains",
    ),
    ("pod: { answers: true }", "pod: { answers: false }", "pod.answers"),
];

#[test]
fn every_expectation_can_hold_and_can_fail() {
    for (met, unmet, key) in PAIRS {
        let (good, bad) = (plan(met), plan(unmet));
        assert_eq!(broken(&good, &whole()), [], "{met}");
        assert_eq!(judge(&good, &whole()).outcome, Outcome::Passed, "{met}");
        let told = broken(&bad, &whole());
        assert_eq!(
            told.first().map(|check| check.key.as_str()),
            Some(*key),
            "{unmet}: {told:#?}"
        );
        assert_eq!(judge(&bad, &whole()).outcome, Outcome::Failed);
    }
}

#[test]
fn nothing_holds_of_what_was_never_seen() {
    let nothing = observed([What::Isolated]);
    // What asks for the absence of calls holds where nothing called.
    let absent = ["aws: { imds.meta-data/*: { max: 1 } }"];
    for (met, ..) in PAIRS.iter().filter(|(met, ..)| !absent.contains(met)) {
        assert_ne!(broken(&plan(met), &nothing), [], "{met}");
    }
}

#[test]
fn a_join_with_no_proof_of_isolation_is_errored() {
    let mut observation = whole();
    observation.timeline.retain(|seen| seen.what != What::Isolated);
    assert!(matches!(
        judge(&plan("phase: ready"), &observation).outcome,
        Outcome::Errored(_)
    ));
    let exit = What::ContainerExited {
        code: 97,
        lines: vec!["no harness".into()],
    };
    let Outcome::Errored(reason) = judge(&plan("phase: ready"), &observed([exit])).outcome else {
        panic!()
    };
    assert_eq!(
        reason,
        "the node's container ended with 97 before it reached the harness: no harness"
    );
}

#[test]
fn a_call_that_the_fake_does_not_know_fails_any_verdict() {
    let mut observation = whole();
    let call = crate::observation::AwsCall {
        known: false,
        path: "/x".into(),
        ..aws(Service::Ec2, "RunInstances", 400)
    };
    observation.timeline.push(crate::observation::Seen {
        at: 0,
        what: What::Aws(call),
    });
    let told = broken(&plan("phase: ready"), &observation);
    assert_eq!(
        (told[0].key.as_str(), told[0].seen.as_str()),
        ("aws", "ec2.RunInstances /x")
    );
}

#[test]
fn a_fault_that_never_fired_fails_the_verdict_unless_it_may() {
    for (may_fire, fired, held) in [(false, 0, false), (false, 2, true), (true, 0, true)] {
        let mut plan = plan("phase: ready");
        plan.faults =
            serde_json::from_value(json!([{"service": "eks", "effect": "refuse", "may_fire": may_fire}]))
                .unwrap();
        let observation = Observation {
            faults_fired: [(0, fired)].into(),
            ..whole()
        };
        assert_eq!(broken(&plan, &observation).is_empty(), held, "{may_fire} {fired}");
    }
}

fn unmapped() -> What {
    let What::Authentication(mut decision) = accepted() else {
        unreachable!("it is a decision")
    };
    decision.accepted = false;
    decision.refusal = Some(Refusal::NotMapped);
    What::Authentication(decision)
}

/// A join that stops because its role is not mapped: refused at 5 s.
fn stopped() -> Observation {
    observed(join().into_iter().take(5).chain([unmapped(), What::Isolated]))
}

#[test]
fn a_scenario_that_must_fail_passes_at_its_phase_for_its_cause_only() {
    for (expect, observation, outcome) in [
        (
            "{ phase: kubelet-started, diagnosis: role-not-mapped }",
            stopped(),
            Outcome::Passed,
        ),
        ("{ diagnosis: role-not-mapped }", stopped(), Outcome::Passed),
        (
            "{ phase: configured, diagnosis: role-not-mapped }",
            stopped(),
            Outcome::Failed,
        ),
        (
            "{ phase: kubelet-started, diagnosis: label-refused }",
            stopped(),
            Outcome::Failed,
        ),
        (
            "{ phase: kubelet-started, diagnosis: role-not-mapped }",
            whole(),
            Outcome::Failed,
        ),
        ("phase: ready", stopped(), Outcome::Failed),
    ] {
        let verdict = judge(&plan(expect), &observation);
        assert_eq!(verdict.outcome, outcome, "{expect}: {:#?}", verdict.checks);
    }
}

#[test]
fn a_diagnosis_stands_in_verdicts_of_joins_that_stopped() {
    let cause = |expect: &str, observation: &Observation| {
        judge(&plan(expect), observation).diagnosis.map(|d| d.cause)
    };
    assert_eq!(cause("phase: ready", &stopped()), Some(Cause::RoleNotMapped));
    assert_eq!(
        cause(
            "{ phase: kubelet-started, diagnosis: role-not-mapped }",
            &stopped()
        ),
        Some(Cause::RoleNotMapped)
    );
    assert_eq!(cause("phase: kubelet-started", &stopped()), None);
    assert_eq!(cause("node: { name: x }", &whole()), None);
}

fn is_settled(plan: &Plan, observation: &Observation, now: u64) -> bool {
    progress(plan, observation, now).is_settled()
}

#[test]
fn a_join_that_must_succeed_settles_when_all_that_is_seen_from_outside_holds() {
    let (ready, label) = (
        plan("phase: ready"),
        plan("{ phase: ready, node: { labels: { team: thor } } }"),
    );
    let part = |count: usize| observed(join().into_iter().take(count));
    assert_eq!(
        progress(&ready, &part(5), 5000),
        Progress::Waiting {
            on: "ready: at kubelet-started".into()
        }
    );
    assert!(is_settled(&ready, &part(9), 8000));
    assert!(!is_settled(&label, &whole(), 11_000));
    assert!(is_settled(&label, &whole(), 90_000), "the limit");
    // What is served is seen at the end only, and does not keep a join from its end.
    let served =
        plan("{ phase: ready, certificates: [{ signer: kubernetes.io/kubelet-serving, served: true }] }");
    assert!(is_settled(&served, &part(9), 8000));
}

#[test]
fn a_ready_node_gets_time_to_ask_for_its_certificate() {
    let ready = plan("phase: ready");
    let mut whats = join();
    whats.remove(7);
    let observation = observed(whats);
    assert!(!is_settled(&ready, &observation, 8000));
    assert!(is_settled(&ready, &observation, 10_000), "it never asked");
    let mut whats = join();
    whats[7] = What::Certificate(serving(None, false));
    assert!(
        !is_settled(&ready, &observed(whats), 20_000),
        "it asked, and waits for an answer"
    );
}

#[test]
fn a_join_that_must_fail_settles_when_its_cause_has_held() {
    let wanted = plan("{ phase: kubelet-started, diagnosis: role-not-mapped }");
    assert!(!is_settled(&wanted, &stopped(), 7999));
    assert!(
        is_settled(&wanted, &stopped(), 8000),
        "3 s after the refusal at 5 s"
    );
    let joined = observed(join());
    assert!(!is_settled(&wanted, &joined, 8000));
    assert!(
        is_settled(&wanted, &joined, 11_000),
        "it joined, which nothing mends"
    );
    let mut checked =
        plan("{ phase: kubelet-started, diagnosis: role-not-mapped, user_data: { succeeded: true } }");
    checked.user_data = Some(UserDataPlan {
        engine: UserDataEngine::CloudInit,
        base64: String::new(),
        gzip: false,
    });
    assert!(!is_settled(&checked, &stopped(), 8000), "user data has not ended");
}

#[test]
fn a_final_cause_ends_a_join_before_its_limit() {
    let ready = plan("phase: ready");
    let done = journal(
        "cloud-final.service",
        "cloud-init",
        "Cloud-init v. 22.4.2 finished at x. Datasource DataSourceEc2.",
    );
    let started_nothing = observed(join().into_iter().take(3).chain([done.clone()]));
    assert!(!is_settled(&ready, &started_nothing, 5000));
    assert!(
        is_settled(&ready, &started_nothing, 6000),
        "3 s after user data was done"
    );
    let exited = observed([What::ContainerExited {
        code: 1,
        lines: vec![],
    }]);
    assert!(is_settled(&ready, &exited, 0));
    // A role may be mapped a little later, as eksctl does it: that takes ten times as long to be given up.
    let unmapped_for_good = observed(join().into_iter().take(5).chain([unmapped(), done]));
    assert!(!is_settled(&ready, &unmapped_for_good, 30_000));
    assert!(is_settled(&ready, &unmapped_for_good, 36_000));
}

#[test]
fn without_a_phase_the_end_of_user_data_is_waited_for() {
    let mut wanted = plan("aws: { eks.DescribeCluster: 1 }");
    wanted.user_data = Some(UserDataPlan {
        engine: UserDataEngine::CloudInit,
        base64: String::new(),
        gzip: false,
    });
    let mut whats: Vec<What> = join().into_iter().take(3).collect();
    assert!(!is_settled(&wanted, &observed(whats.clone()), 60_000));
    whats.push(journal(
        "cloud-final.service",
        "systemd",
        "Finished Execute cloud user/final scripts.",
    ));
    assert!(!is_settled(&wanted, &observed(whats.clone()), 4000));
    assert!(is_settled(&wanted, &observed(whats), 6000));
}

#[test]
fn two_expected_requests_need_two_requests() {
    let mut observation = whole();
    let client = Certificate {
        name: "csr-2".into(),
        signer: "kubernetes.io/kubelet-serving".into(),
        ..Certificate::default()
    };
    observation.certificates.push(client);
    // The first entry fits both requests, the second only the first: the first must yield.
    let wanted = plan(
        "certificates: [{ signer: kubernetes.io/kubelet-serving }, { signer: kubernetes.io/kubelet-serving, issued: true }]",
    );
    assert_eq!(broken(&wanted, &observation), []);
}

#[test]
fn reached_phases_stand_in_the_verdict() {
    let verdict = judge(&plan("phase: ready"), &whole());
    assert_eq!(verdict.phases[&Phase::Ready], 8000);
    assert_eq!(verdict.phases[&Phase::Booted], 0);
}
