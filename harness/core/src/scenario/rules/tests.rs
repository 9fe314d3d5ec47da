//! Scenarios that cannot be, each with what is said of it.

use std::path::Path;

use crate::input::files::Memory;
use crate::scenario::load;

fn report(text: &str) -> Result<(), String> {
    let files = Memory::default().with("/a.yaml", format!("name: x\n{text}\n"));
    load(Path::new("/a.yaml"), Path::new("/"), &files)
        .map(|_| ())
        .map_err(|error| error.with_hints())
}

/// Each: what stands in the scenario beside its name, and what the report says.
const REFUSED: &[(&str, &str)] = &[
    (
        "",
        "`expect.phase`: the join cannot come to ready: there is no `user_data`",
    ),
    (
        "user_data: '#!'\ninstance: { private_ip: 10.0.0.9, subnet_cidr: 10.1.0.0/16 }",
        "/a.yaml:3:25: `instance.private_ip`: 10.0.0.9 is not in the subnet 10.1.0.0/16",
    ),
    (
        "user_data: '#!'\ninstance: { private_ip: 10.1.0.2, subnet_cidr: 10.1.0.0/16 }",
        "10.1.0.2 cannot be an instance's",
    ),
    (
        "user_data: '#!'\ninstance: { subnet_cidr: 10.1.0.0/16, vpc_cidrs: [10.2.0.0/16] }",
        "the subnet 10.1.0.0/16 is not in the VPC 10.2.0.0/16",
    ),
    (
        "user_data: '#!'\ninstance: { mac: 0a-1 }",
        "`instance.mac`: `0a-1` is not a MAC address",
    ),
    (
        "user_data: '#!'\ninstance: { availability_zone: us-east-1a }",
        "`us-east-1a` is no zone of eu-west-1",
    ),
    (
        "user_data: '#!'\ninstance: { host_name: Big_Host }",
        "`Big_Host` is not a host name",
    ),
    (
        "user_data: '#!'\ninstance: { tags: { a/b: c }, metadata: { instance_tags: true } }",
        "`instance.tags.a/b`: the tag `a/b` cannot be",
    ),
    (
        "user_data: '#!'\niam: { deny: [DescribeCluster] }",
        "`iam.deny[0]`: `DescribeCluster` is not an action",
    ),
    (
        "user_data: '#!'\niam: { allow: [':x'] }",
        "`iam.allow[0]`: `:x` is not an action",
    ),
    (
        "user_data: '#!'\ninstance: { metadata: { hop_limit: 65 } }",
        "`instance.metadata.hop_limit`: 65 hops cannot be",
    ),
    (
        "user_data: '#!'\ninstance: { metadata: { credentials: { lifetime_seconds: 0 } } }",
        "credentials cannot live for no time",
    ),
    (
        "user_data: '#!'\ninstance: { metadata: { spot_notice: { action: stop } } }",
        "only a spot instance is taken back",
    ),
    (
        "user_data: '#!'\ninstance: { network: { secondary_ips: [10.9.9.9] } }",
        "`instance.network.secondary_ips[0]`: 10.9.9.9 is not in the subnet",
    ),
    (
        "user_data: '#!'\ninstance: { mac: '0a:00:00:00:00:01', network: { interfaces: [{ mac: '0a:00:00:00:00:01', private_ips: [] }] } }",
        "`0a:00:00:00:00:01` is another interface's",
    ),
    (
        "user_data: '#!'\ncluster: { eks: { ip_family: ipv6 } }",
        "`cluster.eks.ip_family`: an IPv6 cluster has IPv6 service addresses",
    ),
    (
        "user_data: '#!'\ncluster: { authenticator_until: booted }",
        "`cluster.authenticator_until`: the control plane does not see that phase",
    ),
    (
        "user_data: '#!'\ncluster: { bootstrap_tokens: [{}, { token: abcdef }] }",
        "`cluster.bootstrap_tokens[1].token`: `abcdef` is not a bootstrap token: 6 and 16 lower-case letters",
    ),
    (
        "user_data: '#!'\ncluster: { name: x }\naws: { clusters: [{ name: x }] }",
        "`aws.clusters[0].name`: `x` is the scenario's own cluster",
    ),
    (
        "user_data: '#!'\naws: { instances: [{ id: i-1, private_ip: 10.0.0.9 }] }",
        "`aws.instances[0].id`: `i-1` is not an EC2 instance id",
    ),
    (
        "user_data: '#!'\nfaults: [{ service: eks, effect: { error: { status: 200 } } }]",
        "200 is not the status of an error",
    ),
    (
        "user_data: '#!'\nfaults: [{ service: eks, from_seconds: 5, until_seconds: 4, effect: reset }]",
        "`faults[0].until_seconds`: a fault that is over before it begins",
    ),
    (
        "user_data: '#!'\nfaults: [{ service: imds, path: latest/, effect: { body: x } }]",
        "`faults[0].path`: a path starts with `/`",
    ),
    (
        "user_data: '#!'\ncluster: { name: 'a b' }",
        "`a b` is not a cluster's name",
    ),
    (
        "user_data: '#!'\ncluster: { service_ipv4_cidr: 10.100.0.0 }",
        "`cluster.service_ipv4_cidr`: it is not an IPv4 network",
    ),
    (
        "user_data: '#!'\ncluster: { status: ACTVE }",
        "hint: did you mean `ACTIVE`?",
    ),
    (
        "user_data: '#!'\ncluster: { status: [{ status: CREATING }, { status: ACTIVE }] }",
        "/a.yaml:3:21: `cluster.status[0]`: this status never ends",
    ),
    (
        "user_data: '#!'\ncluster: { status: [{ status: CREATING, until_seconds: 3 }] }",
        "the last status cannot end",
    ),
    (
        "user_data: '#!'\ncluster: { status: [{ status: CREATING, until_seconds: 3 }, { status: FAILED, until_seconds: 2 }, { status: ACTIVE }] }",
        "ends before it begins",
    ),
    (
        "user_data: '#!'\ncluster: { aws_auth: [{ username: x }] }",
        "`cluster.aws_auth[0]`: it needs one of `role` and `rolearn`",
    ),
    (
        "user_data: '#!'\ncluster: { aws_auth: [{ role: x, after_seconds: 90 }] }",
        "/a.yaml:3:49: `cluster.aws_auth[0].after_seconds`: the row never comes: the join ends after 90 s",
    ),
    (
        "user_data: '#!'\ncluster: { aws_auth: [{ role: x, added_by: eksctrl }] }",
        "did you mean `eksctl`?",
    ),
    (
        "user_data: '#!'\ncluster: { access_entries: [{ type: EC2_LINUX }] }",
        "`cluster.access_entries[0]`: it needs one of `role` and `principal_arn`",
    ),
    (
        "user_data: '#!'\ncluster: { access_entries: [{ role: x, type: EC2_LINUX, groups: [g] }] }",
        "`cluster.access_entries[0].groups`: an entry of the type EC2_LINUX has none of its own",
    ),
    (
        "user_data: '#!'\ncluster: { access_entries: [{ role: x, username: 'system:node:y' }] }",
        "`cluster.access_entries[0].username`: `system:node:y` begins with `system:`",
    ),
    (
        "user_data: '#!'\ncluster: { access_entries: [{ principal_arn: 'arn:aws:iam::1:role/x', type: FARGATE_LINUX }] }",
        "`cluster.access_entries[0].principal_arn`: nodes of FARGATE_LINUX are of another account",
    ),
    (
        "user_data: '#!'\ncluster: { access_entries: [{ role: x, type: EC2_LINX }] }",
        "did you mean `EC2_LINUX`?",
    ),
    (
        "user_data: '#!'\nexpect: { aws_auth: [{ by: eks:node-manager }] }",
        "`expect.aws_auth[0].by`: unknown key",
    ),
    (
        "user_data: '#!'\nfaults: [{ service: eks, effect: refuse, times: 0 }]",
        "`faults[0].times`: a fault that meets no request",
    ),
    (
        "user_data: '#!'\ncount: 101",
        "/a.yaml:3:8: `count`: 101 nodes cannot be",
    ),
    (
        "user_data: '#!'\ncount: 2\ninstance: { private_ip: 192.168.40.16 }",
        "/a.yaml:4:25: `instance.private_ip`: 2 instances cannot share it",
    ),
    (
        "user_data: '#!'\ncount: 2\nthen: [{ do: reboot }]",
        "`then`: steps are for a scenario with one node",
    ),
    (
        "user_data: '#!'\ncount: 2\ncluster: { restart_api_server_after: 3 }",
        "`cluster.restart_api_server_after`: the API server is never restarted: there are 2 nodes",
    ),
    (
        "user_data: '#!'\ngolden: { snapshot: x }",
        "`golden`: there is nothing to keep",
    ),
    (
        "user_data: '#!'\ngolden: { files: [etc/x] }",
        "/a.yaml:3:19: `golden.files[0]`: `etc/x` is not an absolute path",
    ),
    (
        "user_data: '#!'\ncount: 2\ngolden: { argv: true }",
        "`golden`: a snapshot is of a scenario with one node",
    ),
    ("user_data: '#!'\nthen: [{ do: rebot }]", "did you mean `reboot`?"),
    (
        "user_data: '#!'\nthen: [{ expect: {} }]",
        "/a.yaml:3:8: `then[0]`: the key `do` is missing",
    ),
    (
        "expect: { phase: booted }\nthen: [{ do: run-user-data-again }]",
        "`then[0].do`: there is no `user_data` to run again",
    ),
    (
        "user_data: '#!'\nthen: [{ do: reboot }, { do: delete-node, expect: { phase: ready, diagnosis: node-deleted } }]",
        "/a.yaml:3:60: `then[1].expect.phase`: the Node is deleted",
    ),
    (
        "user_data: '#!'\nthen: [{ do: delete-node, expect: { node: { ready: true } } }]",
        "`then[0].expect.node`: the Node is deleted: a kubelet registers when it starts",
    ),
    (
        "user_data: '#!'\nthen: [{ do: reboot, expect: { phase: ready, diagnosis: role-not-mapped } }]",
        "`then[0].expect.diagnosis`: a join that reaches ready has no cause of failure",
    ),
    (
        "user_data: '#!'\nthen: [{ do: replace-instance, expect: { phase: booted, diagnosis: cni-not-ready } }]",
        "`then[0].expect.phase`: a join does not stop at booted for cni-not-ready",
    ),
    (
        "user_data: '#!'\ncni: none\nthen: [{ do: reboot, expect: { phase: ready } }]",
        "`then[0].expect.phase`: the join cannot come to ready: `cni` is `none`",
    ),
    (
        "user_data: '#!'\nthen: [{ do: reboot, expect: { node: { booted_again: false } } }]",
        "`then[0].expect.node.booted_again`: `reboot` is another boot",
    ),
    (
        "user_data: '#!'\nthen: [{ do: restart-kubelet, expect: { node: { booted_again: true } } }]",
        "`then[0].expect.node.booted_again`: `restart-kubelet` boots nothing",
    ),
    (
        "user_data: '#!'\nthen: [{ do: restart-kubelet, expect: { user_data: { succeeded: true } } }]",
        "`then[0].expect.user_data`: `restart-kubelet` runs no user data",
    ),
    (
        "user_data: '#!'\nthen: [{ do: reboot, expect: { pod: { answers: true } } }]",
        "`then[0].expect.pod`: a step runs no pod",
    ),
    (
        "user_data: '#!'\nthen: [{ do: reboot, expect: { units: { kubelet.service: runing } } }]",
        "/a.yaml:3:58: `then[0].expect.units.kubelet.service`: `runing` is not a state of a unit",
    ),
    (
        "user_data: '#!'\nthen: [{ do: reboot, expect: { node: { taints: [a=b] } } }]",
        "`then[0].expect.node.taints[0]`: `a=b` is not a taint",
    ),
    (
        "user_data: '#!'\nexpect: { phase: ready, node: { same: true } }",
        "`expect.node.same`: there is nothing to compare the node with",
    ),
    (
        "user_data: '#!'\nexpect: { node: { provider_id: 'aws:///{{ instance.idd }}' } }",
        "/a.yaml:3:32: `expect.node.provider_id`: there is no `{{ instance.idd }}`",
    ),
    (
        "user_data: '#!'\nthen: [{ do: reboot, expect: { aws: { 'imds.{{ cluster.nmae }}': 1 } } }]",
        "`then[0].expect.aws.imds.{{ cluster.nmae }}`: there is no `{{ cluster.nmae }}`",
    ),
    (
        "user_data: '#!'\nexpect: { kubelet: { argv: ['{{ cluster.nmae }}'] } }",
        "hint: did you mean `{{ cluster.name }}`?",
    ),
    (
        "user_data: '#!'\ncount: 20\ninstance: { subnet_cidr: 10.0.0.0/28 }",
        "`count`: the subnet 10.0.0.0/28 has no addresses for 20 nodes: it has 11",
    ),
    (
        "user_data: '#!'\nexpect: { diagnosis: role-not-mapped }\nthen: [{ do: reboot }]",
        "`then`: a join that fails has no steps after it",
    ),
    (
        "user_data: '#!'\nfaults: [{ service: eks, above_per_second: 0, effect: throttle }]",
        "`faults[0].above_per_second`: it lets no request pass",
    ),
    (
        "user_data: '#!'\nlimits: { join_seconds: 0 }",
        "a join cannot take no time",
    ),
    (
        "user_data: '#!'\nlimits: { join_seconds: 1e9 }",
        "the scenario would hardly ever end",
    ),
    (
        "user_data: '#!'\nlimits: { join_seconds: 5, settle_seconds: 5 }",
        "nothing could ever settle",
    ),
    (
        "user_data: '#!'\nexpect: { phase: ready, diagnosis: role-not-mapped }",
        "a join that reaches ready has no cause of failure",
    ),
    (
        "user_data: '#!'\nexpect: { phase: registered, diagnosis: role-not-mapped }",
        "a join does not stop at registered for role-not-mapped: it stops at kubelet-started",
    ),
    (
        "user_data: '#!'\nexpect: { phase: booted, diagnosis: cni-not-ready }",
        "hint: expect `registered`",
    ),
    (
        "user_data: '#!'\ncni: none\nexpect: { phase: ready }",
        "`expect.phase`: the join cannot come to ready: `cni` is `none`",
    ),
    (
        "user_data: '#!'\npod: {}\nexpect: { phase: registered }",
        "`pod`: no pod can run: a pod runs on a node that is ready",
    ),
    ("user_data: '#!'\ncni: none\npod: {}", "`pod`: no pod can run"),
    (
        "user_data: '#!'\ncni: none\nexpect: { phase: registered, node: { ready: true } }",
        "the node cannot become ready",
    ),
    (
        "user_data: '#!'\nexpect: { phase: ready, pod: { answers: true } }",
        "`expect.pod`: there is no pod",
    ),
    (
        "user_data: '#!'\ncluster: { approve_serving: false }",
        "the join cannot come to ready: `cluster.approve_serving` is off",
    ),
    (
        "user_data: '#!'\nfaults: [{ service: imds, effect: refuse }]",
        "the metadata service never answers",
    ),
    (
        "user_data: '#!'\ninstance: { metadata: { enabled: false } }",
        "the metadata service never answers",
    ),
    (
        "user_data: '#!'\nexpect: { aws: { ekss.DescribeCluster: 1 } }",
        "/a.yaml:3:40: `expect.aws.ekss.DescribeCluster`: there is no service `ekss`",
    ),
    (
        "user_data: '#!'\nexpect: { aws_order: [DescribeCluster] }",
        "`DescribeCluster` is not a call",
    ),
    (
        "user_data: '#!'\nexpect: { files: { etc/x: {} } }",
        "`etc/x` is not an absolute path",
    ),
    (
        "user_data: '#!'\nexpect: { files: { /x: { exists: false, mode: '0644' } } }",
        "has no content and no mode",
    ),
    (
        "user_data: '#!'\nexpect: { units: { kubelet.service: runing } }",
        "`runing` is not a state of a unit",
    ),
    (
        "user_data: '#!'\nexpect: { certificates: [{ approved: true }] }",
        "the key `signer` is missing",
    ),
    (
        "user_data: '#!'\nexpect: { node: { taints: ['a=b'] } }",
        "`expect.node.taints[0]`: `a=b` is not a taint",
    ),
];

#[test]
fn what_cannot_be_is_refused_and_says_why() {
    for (text, message) in REFUSED {
        let told = report(text).expect_err(text);
        assert!(told.contains(message), "{text}:\n{told}");
    }
}

#[test]
fn what_can_be_passes() {
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
