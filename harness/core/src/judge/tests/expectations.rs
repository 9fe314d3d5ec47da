//! Every expectation, once with a value that a complete join has and once with another.

use serde_json::json;

use super::{broken, complete, plan, stopped};
use crate::judge::judge;
use crate::judge::verdict::{Check, Outcome};
use crate::observation::phases::tests::observed;
use crate::observation::{Certificate, Observation, ObservedEvent, TimelineEntry};

/// An expectation that the complete join matches, one that it does not match, and the key of the failed check.
pub(super) const PAIRS: &[(&str, &str, &str)] = &[
    (
        "phase: ready",
        "{ phase: registered, diagnosis: cni-not-ready }",
        "phase",
    ),
    ("phase: registered", "{ diagnosis: role-not-mapped }", "diagnosis"),
    (
        "one_of: [{ node: { labels: { team: x } } }, { node: { labels: { team: ironman } }, authentication: { accepted: true } }]",
        "one_of: [{ node: { labels: { team: x } } }, { node: { labels: { team: ironman } }, authentication: { accepted: false } }]",
        "one_of",
    ),
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
        "authentication: { refused: 0 }",
        "authentication: { refused: { min: 1 } }",
        "authentication.refused",
    ),
    (
        "aws_auth: [{ added_by: 'eks:node-manager', verb: patch }]",
        "aws_auth: [{ added_by: kubernetes-admin }]",
        "aws_auth[0]",
    ),
    (
        "aws_auth: [{ role: demo-role }]",
        "aws_auth: [{ verb: patch }, { role: other, verb: patch }]",
        "aws_auth[1]",
    ),
    (
        "aws_auth: [{ verb: patch }]",
        "aws_auth: [{ verb: update }]",
        "aws_auth[0]",
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
        "certificates: [{ signer: kubernetes.io/kubelet-serving, groups: ['system:nodes', 'system:bootstrappers'] }]",
        "certificates: [{ signer: kubernetes.io/kubelet-serving, groups: ['system:nodes'] }]",
        "certificates[0].groups",
    ),
    (
        "audit: [{ verb: create, resource: nodes, groups: ['system:nodes', 'system:bootstrappers'] }]",
        "audit: [{ verb: create, resource: nodes, groups: ['system:nodes'] }]",
        "audit[0]",
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
        "node: { annotations: { example.com/a: b } }",
        "node: { annotations: { example.com/a: c } }",
        "node.annotations.example.com/a",
    ),
    (
        "node: { annotations_absent: [example.com/x] }",
        "node: { annotations_absent: [example.com/a] }",
        "node.annotations_absent.example.com/a",
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
        "access: [{ verb: list, resource: services, allowed: true }]",
        "access: [{ verb: list, resource: services, allowed: false }]",
        "access.list services",
    ),
    (
        "aws: { eks.DescribeCluster: { min: 1, subject: demo } }",
        "aws: { eks.DescribeCluster: { min: 1, subject: another } }",
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
        "aws_order: [eks.DescribeCluster, phase.described, phase.registered, phase.ready]",
        "aws_order: [phase.registered, phase.described]",
        "aws_order",
    ),
    (
        "aws_order: [eks.DescribeCluster, start.kubelet.service]",
        "aws_order: [start.kubelet.service, eks.DescribeCluster]",
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
        "files: { /etc/kubernetes/pki/ca.crt: { type: file, owner: 'root:root' } }",
        "files: { /etc/kubernetes/pki/ca.crt: { type: folder } }",
        "files./etc/kubernetes/pki/ca.crt.type",
    ),
    (
        "files: { /etc/kubernetes/pki/ca.crt: { owner: 'root:root' } }",
        "files: { /etc/kubernetes/pki/ca.crt: { owner: 'daemon:root' } }",
        "files./etc/kubernetes/pki/ca.crt.owner",
    ),
    (
        "files: { /etc/kubernetes/pki/ca.crt: {} }",
        "files: { /etc/kubernetes/pki/ca.crt: { target: /ca } }",
        "files./etc/kubernetes/pki/ca.crt.target",
    ),
    (
        "units: { kubelet.service: { state: active, slice: runtime.slice, show: { Restart: always } } }",
        "units: { kubelet.service: { slice: system.slice } }",
        "units.kubelet.service.Slice",
    ),
    (
        "units: { kubelet.service: { enabled: true } }",
        "units: { kubelet.service: { enabled: false } }",
        "units.kubelet.service.enabled",
    ),
    (
        "units: { kubelet.service: { show: { Restart: always } } }",
        "units: { kubelet.service: { state: active, show: { Restarts: always } } }",
        "units.kubelet.service.Restarts",
    ),
    (
        "units_enabled: [containerd.service, kubelet.service]",
        "units_enabled: [kubelet.service]",
        "units_enabled",
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
        "kubelet: { config_absent: [providerID, evictionHard.nodefs] }",
        "kubelet: { config_absent: [evictionHard.memory.available] }",
        "kubelet.config_absent.evictionHard.memory.available",
    ),
    (
        "kubelet: { starts: { min: 1 } }",
        "kubelet: { starts: { min: 2 } }",
        "kubelet.starts",
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
    (
        "user_data: { output_lacks: [is stopped] }",
        "user_data: { output_lacks: [is started] }",
        "user_data.output_lacks",
    ),
    ("pod: { answers: true }", "pod: { answers: false }", "pod.answers"),
    (
        "pod: { answers: true, contains: [Runn] }",
        "pod: { answers: true, contains: [FailedCreatePodSandBox] }",
        "pod.contains",
    ),
];

#[test]
fn every_expectation_can_hold_and_can_fail() {
    for (met, unmet, key) in PAIRS {
        let (good, bad) = (plan(met), plan(unmet));
        assert_eq!(broken(&good, &complete()), [], "{met}");
        assert_eq!(judge(&good, &complete()).outcome, Outcome::Passed, "{met}");
        let failed = broken(&bad, &complete());
        assert_eq!(
            failed.first().map(|check| check.key.as_str()),
            Some(*key),
            "{unmet}: {failed:#?}"
        );
        assert_eq!(judge(&bad, &complete()).outcome, Outcome::Failed);
    }
}

#[test]
fn no_expectation_holds_for_a_node_that_did_nothing() {
    let nothing = observed([ObservedEvent::Isolated]);
    // An expectation without calls holds if the node sent none.
    let absent = ["aws: { imds.meta-data/*: { max: 1 } }"];
    for (met, ..) in PAIRS.iter().filter(|(met, ..)| !absent.contains(met)) {
        assert_ne!(broken(&plan(met), &nothing), [], "{met}");
    }
}

#[test]
fn reasons_of_rejected_tokens_and_a_missing_provider_id_are_checked() {
    let required = plan("authentication: { reasons: [is not mapped] }");
    let is_of_reasons = |check: &Check| check.key == "authentication.reasons";
    assert!(!broken(&required, &stopped()).iter().any(is_of_reasons));
    assert!(broken(&required, &complete()).iter().any(is_of_reasons));
    let required = plan("node: { provider_id_absent: true }");
    let mut observation = complete();
    assert_eq!(broken(&required, &observation)[0].key, "node.provider_id_absent");
    let node = observation.node.as_mut().unwrap();
    node["spec"].as_object_mut().unwrap().remove("providerID");
    assert_eq!(broken(&required, &observation), []);
}

#[test]
fn user_data_that_still_runs_has_not_succeeded() {
    let required = plan("user_data: { succeeded: true }");
    let mut observation = complete();
    let is_end = |seen: &TimelineEntry| matches!(&seen.what, ObservedEvent::Journal(line) if line.message.contains("finished"));
    let user_data = |seen: &mut Observation, status: &str| {
        let collected = seen.collected.as_mut().unwrap();
        collected.user_data.as_mut().unwrap().status = Some(status.to_owned());
    };
    user_data(&mut observation, "running");
    observation.timeline.retain(|seen| !is_end(seen));
    let failed = broken(&required, &observation);
    assert_eq!(failed[0].key, "user_data.succeeded");
    assert_eq!(failed[0].seen, "it still ran at the end of the join");
    user_data(&mut observation, "done");
    assert_eq!(broken(&required, &observation), []);
}

#[test]
fn two_expected_requests_need_two_requests() {
    let mut observation = complete();
    let client = Certificate {
        name: "csr-2".into(),
        signer: "kubernetes.io/kubelet-serving".into(),
        ..Certificate::default()
    };
    observation.certificates.push(client);
    // The first entry matches both requests, the second only the first request.
    let required = plan(
        "certificates: [{ signer: kubernetes.io/kubelet-serving }, { signer: kubernetes.io/kubelet-serving, issued: true }]",
    );
    assert_eq!(broken(&required, &observation), []);
}

#[test]
fn a_pressure_taint_is_reported_as_caused_by_the_host() {
    let mut observation = complete();
    let required = plan("node: { taints: ['gpu:NoExecute', 'dedicated=batch:NoSchedule'] }");
    let node = observation.node.as_mut().unwrap();
    let taints = node["spec"]["taints"].as_array_mut().unwrap();
    taints.push(json!({"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}));
    let failed = broken(&required, &observation);
    assert!(failed[0].seen.contains("`nodejoin doctor`"), "{failed:#?}");
    let other = broken(&plan("node: { taints: [] }"), &complete());
    assert!(!other[0].seen.contains("doctor"), "{other:#?}");
}
