//! Impossible scenarios and the report of each.

use std::path::Path;

use crate::input::files::Memory;
use crate::scenario::load;

fn report(text: &str) -> Result<(), String> {
    let files = Memory::default().with("/a.yaml", format!("name: x\n{text}\n"));
    load(Path::new("/a.yaml"), Path::new("/"), &files)
        .map(|_| ())
        .map_err(|error| error.with_hints())
}

/// What stands in a scenario beside its name.
const REFUSED: &[&str] = &[
    "",
    "user_data: '#!'\ninstance: { private_ip: 10.0.0.9, subnet_cidr: 10.1.0.0/16 }",
    "user_data: '#!'\ninstance: { private_ip: 10.1.0.2, subnet_cidr: 10.1.0.0/16 }",
    "user_data: '#!'\ninstance: { subnet_cidr: 10.1.0.0/16, vpc_cidrs: [10.2.0.0/16] }",
    "user_data: '#!'\ninstance: { mac: 0a-1 }",
    "user_data: '#!'\ninstance: { availability_zone: us-east-1a }",
    "user_data: '#!'\nregion: eu-wets-1",
    "user_data: '#!'\ninstance: { host_name: Big_Host }",
    "user_data: '#!'\ninstance: { tags: { a/b: c }, metadata: { instance_tags: true } }",
    "user_data: '#!'\niam: { deny: [DescribeCluster] }",
    "user_data: '#!'\niam: { allow: [':x'] }",
    "user_data: '#!'\ninstance: { metadata: { hop_limit: 65 } }",
    "user_data: '#!'\ninstance: { metadata: { credentials: { lifetime_seconds: 0 } } }",
    "user_data: '#!'\ninstance: { metadata: { spot_notice: { action: stop } } }",
    "user_data: '#!'\ninstance: { network: { secondary_ips: [10.9.9.9] } }",
    "user_data: '#!'\ninstance: { mac: '0a:00:00:00:00:01', network: { interfaces: [{ mac: '0a:00:00:00:00:01', private_ips: [] }] } }",
    "user_data: '#!'\ncluster: { eks: { ip_family: ipv6 } }",
    "user_data: '#!'\ncluster: { authenticator_until: booted }",
    "user_data: '#!'\ncluster: { bootstrap_tokens: [{}, { token: abcdef }] }",
    "user_data: '#!'\ncluster: { name: x }\naws: { clusters: [{ name: x }] }",
    "user_data: '#!'\naws: { instances: [{ id: i-1, private_ip: 10.0.0.9 }] }",
    "user_data: '#!'\nfaults: [{ service: eks, effect: { error: { status: 200 } } }]",
    "user_data: '#!'\nfaults: [{ service: eks, from_seconds: 5, until_seconds: 4, effect: reset }]",
    "user_data: '#!'\nfaults: [{ service: imds, path: latest/, effect: { body: x } }]",
    "user_data: '#!'\ncluster: { name: 'a b' }",
    "user_data: '#!'\ncluster: { service_ipv4_cidr: 10.100.0.0 }",
    "user_data: '#!'\ncluster: { status: ACTVE }",
    "user_data: '#!'\ncluster: { status: [{ status: CREATING }, { status: ACTIVE }] }",
    "user_data: '#!'\ncluster: { status: [{ status: CREATING, until_seconds: 3 }] }",
    "user_data: '#!'\ncluster: { status: [{ status: CREATING, until_seconds: 3 }, { status: FAILED, until_seconds: 2 }, { status: ACTIVE }] }",
    "user_data: '#!'\ncluster: { aws_auth: [{ username: x }] }",
    "user_data: '#!'\ncluster: { aws_auth: [{ role: x, after_seconds: 90 }] }",
    "user_data: '#!'\ncluster: { aws_auth: [{ role: x, added_by: eksctrl }] }",
    "user_data: '#!'\ncluster: { access_entries: [{ type: EC2_LINUX }] }",
    "user_data: '#!'\ncluster: { access_entries: [{ role: x, type: EC2_LINUX, groups: [g] }] }",
    "user_data: '#!'\ncluster: { access_entries: [{ role: x, username: 'system:node:y' }] }",
    "user_data: '#!'\ncluster: { access_entries: [{ principal_arn: 'arn:aws:iam::1:role/x', type: FARGATE_LINUX }] }",
    "user_data: '#!'\ncluster: { access_entries: [{ role: x, type: EC2_LINX }] }",
    "user_data: '#!'\nexpect: { aws_auth: [{ by: eks:node-manager }] }",
    "user_data: '#!'\nfaults: [{ service: eks, effect: refuse, times: 0 }]",
    "user_data: '#!'\ncount: 101",
    "user_data: '#!'\ncount: 2\ninstance: { private_ip: 192.168.40.16 }",
    "user_data: '#!'\ncount: 2\nthen: [{ do: reboot }]",
    "user_data: '#!'\ncount: 2\ncluster: { restart_api_server_after: 3 }",
    "user_data: '#!'\ngolden: { snapshot: x }",
    "user_data: '#!'\ngolden: { files: [etc/x] }",
    "user_data: '#!'\ncount: 2\ngolden: { argv: true }",
    "user_data: '#!'\nthen: [{ do: rebot }]",
    "user_data: '#!'\nthen: [{ expect: {} }]",
    "expect: { phase: booted }\nthen: [{ do: run-user-data-again }]",
    "user_data: '#!'\nthen: [{ do: reboot }, { do: delete-node, expect: { phase: ready, diagnosis: node-deleted } }]",
    "user_data: '#!'\nthen: [{ do: delete-node, expect: { node: { ready: true } } }]",
    "user_data: '#!'\nthen: [{ do: reboot, expect: { phase: ready, diagnosis: role-not-mapped } }]",
    "user_data: '#!'\nthen: [{ do: replace-instance, expect: { phase: booted, diagnosis: cni-not-ready } }]",
    "user_data: '#!'\ncni: none\nthen: [{ do: reboot, expect: { phase: ready } }]",
    "user_data: '#!'\nthen: [{ do: reboot, expect: { node: { booted_again: false } } }]",
    "user_data: '#!'\nthen: [{ do: restart-kubelet, expect: { node: { booted_again: true } } }]",
    "user_data: '#!'\nthen: [{ do: restart-kubelet, expect: { user_data: { succeeded: true } } }]",
    "user_data: '#!'\nthen: [{ do: reboot, expect: { pod: { answers: true } } }]",
    "user_data: '#!'\nthen: [{ do: reboot, expect: { units: { kubelet.service: runing } } }]",
    "user_data: '#!'\nthen: [{ do: reboot, expect: { node: { taints: [a=b] } } }]",
    "user_data: '#!'\nexpect: { phase: ready, node: { same: true } }",
    "user_data: '#!'\nexpect: { node: { provider_id: 'aws:///{{ instance.idd }}' } }",
    "user_data: '#!'\nthen: [{ do: reboot, expect: { aws: { 'imds.{{ cluster.nmae }}': 1 } } }]",
    "user_data: '#!'\nexpect: { kubelet: { argv: ['{{ cluster.nmae }}'] } }",
    "user_data: '#!'\ncount: 20\ninstance: { subnet_cidr: 10.0.0.0/28 }",
    "user_data: '#!'\nexpect: { diagnosis: role-not-mapped }\nthen: [{ do: reboot }]",
    "user_data: '#!'\nfaults: [{ service: eks, above_per_second: 0, effect: throttle }]",
    "user_data: '#!'\nlimits: { join_seconds: 0 }",
    "user_data: '#!'\nlimits: { join_seconds: 1e9 }",
    "user_data: '#!'\nlimits: { join_seconds: 5, settle_seconds: 5 }",
    "user_data: '#!'\nexpect: { phase: ready, diagnosis: role-not-mapped }",
    "user_data: '#!'\nexpect: { phase: registered, diagnosis: role-not-mapped }",
    "user_data: '#!'\nexpect: { phase: booted, diagnosis: cni-not-ready }",
    "user_data: '#!'\ncni: none\nexpect: { phase: ready }",
    "user_data: '#!'\npod: {}\nexpect: { phase: registered }",
    "user_data: '#!'\ncni: none\npod: {}",
    "user_data: '#!'\ncni: none\nexpect: { phase: registered, node: { ready: true } }",
    "user_data: '#!'\nexpect: { phase: ready, pod: { answers: true } }",
    "user_data: '#!'\ncluster: { approve_serving: false }",
    "user_data: '#!'\nfaults: [{ service: imds, effect: refuse }]",
    "user_data: '#!'\ninstance: { metadata: { enabled: false } }",
    "user_data: '#!'\nexpect: { aws: { ekss.DescribeCluster: 1 } }",
    "user_data: '#!'\nexpect: { aws_order: [DescribeCluster] }",
    "user_data: '#!'\nexpect: { files: { etc/x: {} } }",
    "user_data: '#!'\nexpect: { files: { /x: { exists: false, mode: '0644' } } }",
    "user_data: '#!'\nexpect: { units: { kubelet.service: runing } }",
    "user_data: '#!'\nexpect: { certificates: [{ approved: true }] }",
    "user_data: '#!'\nexpect: { node: { taints: ['a=b'] } }",
];

#[test]
fn impossible_scenarios_are_refused_with_a_reason() {
    let reports = REFUSED.iter().map(|text| (*text, report(text).expect_err(text)));
    insta::assert_snapshot!(crate::testing::listing(reports));
}

#[test]
fn possible_scenarios_pass() {
    for text in [
        "user_data: '#!'",
        "user_data: '#!'\nfaults: [{ service: imds, effect: refuse, until_seconds: 2 }]",
        "user_data: '#!'\nfaults: [{ service: imds, effect: refuse, path: /latest/x }]",
        "user_data: { inline: '#!', engine: direct }\nfaults: [{ service: imds, effect: refuse }]\nexpect: { phase: booted, diagnosis: metadata-unreachable }",
        "user_data: '#!'\ncluster: { status: [{ status: CREATING, until_seconds: 3 }, { status: ACTIVE }] }",
        "expect: { phase: metadata }",
        "user_data: '#!'\ncni: none\nexpect: { phase: certified, diagnosis: cni-not-ready }",
        "user_data: '#!'\nexpect: { phase: registered, diagnosis: serving-certificate-not-approved, node: { ready: true } }",
        "user_data: '#!'\nthen: [{ do: delete-node, expect: { phase: kubelet-started, diagnosis: node-deleted } }, { do: restart-kubelet }]",
        "user_data: '#!'\nthen: [{ do: replace-instance, expect: { phase: ready, diagnosis: provider-id-of-another-instance, node: { same: true, booted_again: true } } }]",
        "expect: { phase: metadata }\nthen: [{ do: restart-kubelet, expect: { phase: registered } }]",
    ] {
        assert_eq!(report(text), Ok(()), "{text}");
    }
}
