//! Node groups that eksctl refuses.

use super::config;
use crate::tests::{machine, read_with, refused};

#[test]
fn fields_that_eksctl_refuses_are_refused() {
    let self_managed = [
        ("  maxPodPerNode: 20\n", "has no field `maxPodPerNode`"),
        ("  label: { a: b }\n", "has no field `label`"),
        (
            "  preBootstrapCommand: [echo]\n",
            "has no field `preBootstrapCommand`",
        ),
        ("  spot: true\n", "only `managedNodeGroups` has it"),
        ("  iam: { instanceRoleArn: x }\n", "write `instanceRoleARN`"),
        (
            "  kubeletExtraConfig: { authentication: {} }\n",
            "eksctl refuses `authentication`",
        ),
        (
            "  labels: { node-role.kubernetes.io/web: \"\" }\n",
            "eksctl refuses the label",
        ),
        (
            "  containerRuntime: dockerd\n",
            "eksctl refuses `containerRuntime: dockerd`",
        ),
        (
            "  amiFamily: Bottlerocket\n  preBootstrapCommands: [echo]\n",
            "of a group with Bottlerocket",
        ),
        (
            "  bottlerocket: { settings: {} }\n",
            "with another `amiFamily` than Bottlerocket",
        ),
    ];
    let managed = [
        ("  kubeletExtraConfig: {}\n", "only `nodeGroups` has it"),
        (
            "  iam: { instanceProfileARN: x }\n",
            "eksctl refuses `iam.instanceProfileARN`",
        ),
        (
            "  amiFamily: Ubuntu2404\n  overrideBootstrapCommand: /opt/join\n",
            "of a managed group without `ami`",
        ),
        (
            "  amiFamily: AmazonLinux2023\n  ami: ami-1\n  maxPodsPerNode: 9\n",
            "eksctl refuses `maxPodsPerNode` of a managed group",
        ),
    ];
    let all = self_managed.map(|case| ("nodeGroups", case)).into_iter();
    for (key, (group, problem)) in all.chain(managed.map(|case| ("managedNodeGroups", case))) {
        let refused = refused("c", &config("1.33", key, group));
        assert!(
            refused.contains(problem) && refused.starts_with("line "),
            "{refused}"
        );
    }
    let top = config("1.33", "nodeGroups", "").replace("version:", "verison:");
    assert!(refused("c", &top).contains("write `version`"));
}

/// Files of each kind of groups, each with a part of its error.
fn assert_refused(version: &str, cases: &[(&str, &str, &str)]) {
    for (key, group, problem) in cases {
        let refused = refused("c", &config(version, key, group));
        assert!(
            refused.contains(problem) && refused.starts_with("line "),
            "{group}: {refused}"
        );
    }
}

#[test]
fn taints_without_a_known_effect_are_refused() {
    for key in ["nodeGroups", "managedNodeGroups"] {
        for (taints, problem) in [
            (
                "[{ key: a, value: b, effect: NoSchedul }]",
                "the effect `NoSchedul`",
            ),
            (
                "[{ key: a, value: b, effect: NO_SCHEDULE }]",
                "the effect `NO_SCHEDULE`",
            ),
            ("[{ key: a, value: b }]", "the taint `a` has no effect"),
            ("[{ value: b, effect: NoSchedule }]", "a taint has no `key`"),
            ("{ a: \"b:NoSchedul\" }", "the effect `NoSchedul`"),
            ("{ a: \"b:c:NoSchedule\" }", "the effect `c:NoSchedule`"),
        ] {
            assert_refused("1.33", &[(key, &format!("  taints: {taints}\n"), problem)]);
        }
        let without_value = config("1.33", key, "  taints: { a: NoSchedule, b: \":NoExecute\" }\n");
        let taints = machine(&without_value).traits.taints;
        let taints: Vec<String> = taints.iter().map(ToString::to_string).collect();
        assert_eq!(taints, ["a=:NoSchedule", "b=:NoExecute"]);
    }
}

#[test]
fn families_without_an_ami_for_the_version_are_refused() {
    let own = "  amiFamily: AmazonLinux2\n  ami: ami-1\n  overrideBootstrapCommand: /opt/join\n";
    assert_refused(
        "1.33",
        &[
            (
                "managedNodeGroups",
                "  amiFamily: AmazonLinux2\n",
                "eksctl refuses AmazonLinux2 for Kubernetes 1.33",
            ),
            (
                "nodeGroups",
                own,
                "eksctl refuses AmazonLinux2 for Kubernetes 1.33",
            ),
            (
                "nodeGroups",
                "  amiFamily: Ubuntu2004\n",
                "Canonical has them from 1.21 to 1.29",
            ),
        ],
    );
    assert_refused(
        "1.30",
        &[(
            "managedNodeGroups",
            "  amiFamily: Ubuntu2404\n",
            "Canonical has them from 1.31 on",
        )],
    );
    machine(&config("1.33", "managedNodeGroups", own));
    machine(&config(
        "1.32",
        "managedNodeGroups",
        "  amiFamily: AmazonLinux2\n",
    ));
}

#[test]
fn labels_that_kubernetes_does_not_know_are_refused() {
    assert_refused(
        "1.33",
        &[
            (
                "managedNodeGroups",
                "  labels: { too/many/slashes: x }\n",
                "its key is not valid",
            ),
            (
                "nodeGroups",
                "  labels: { app: -bad- }\n",
                "its value `-bad-` is not valid",
            ),
            (
                "nodeGroups",
                "  labels: { app: \"a b\" }\n",
                "its value `a b` is not valid",
            ),
        ],
    );
    machine(&config("1.33", "nodeGroups", "  labels: { app: \"${APP}\" }\n"));
}

#[test]
fn fields_that_exclude_each_other_are_refused() {
    let bottlerocket = |settings: &str| {
        format!(
            "  amiFamily: Bottlerocket\n  clusterDNS: 10.0.0.10\n  bottlerocket: {{ settings: {{ kubernetes: {{ {settings} }} }} }}\n"
        )
    };
    let managed = |settings: &str| bottlerocket(settings).replace("  clusterDNS: 10.0.0.10\n", "");
    assert_refused(
        "1.33",
        &[
            (
                "nodeGroups",
                "  instanceType: m5.large\n  instancesDistribution: { instanceTypes: [c5.large] }\n",
                "beside `instancesDistribution`",
            ),
            (
                "managedNodeGroups",
                "  instanceType: m5.large\n  instanceTypes: [m5a.large]\n",
                "beside `instanceTypes`",
            ),
            (
                "managedNodeGroups",
                "  instanceType: m5.large\n  instanceSelector: { vCPUs: 2 }\n",
                "beside `instanceSelector`",
            ),
            (
                "nodeGroups",
                &bottlerocket("max-pods: 30"),
                "write it as `maxPodsPerNode` of the group",
            ),
            (
                "managedNodeGroups",
                &managed("node-labels: { a: b }"),
                "write it as `labels` of the group",
            ),
            ("managedNodeGroups", &managed("api-server: x"), "EKS adds it"),
            (
                "nodeGroups",
                &bottlerocket("cluster-dns-ip: 10.0.0.11"),
                "beside `clusterDNS`",
            ),
            (
                "managedNodeGroups",
                "  amiFamily: Bottlerocket\n  bottlerocket: { enableAdminContainer: true, settings: { host-containers: { admin: { enabled: false } } } }\n",
                "beside `enableAdminContainer`",
            ),
            (
                "managedNodeGroups",
                "  amiFamily: WindowsServer2022CoreContainer\n  ami: ami-1\n",
                "of a managed group with Windows",
            ),
            (
                "nodeGroups",
                "  ssh: true\n",
                "`ssh` of a node group is not a mapping",
            ),
            ("nodeGroups", "  ssh: { alow: true }\n", "write `allow`"),
            (
                "managedNodeGroups",
                "  iam: { withAddonPolicies: { autoscaler: true } }\n",
                "write `autoScaler`",
            ),
        ],
    );
    let mixed = "  instanceType: mixed\n  instancesDistribution: { instanceTypes: [c5.large] }\n";
    let machine_of = machine(&config("1.33", "nodeGroups", mixed));
    assert_eq!(machine_of.traits.instance_type.as_deref(), Some("c5.large"));
    machine(&config("1.33", "managedNodeGroups", &managed("max-pods: 30")));
}

#[test]
fn numbers_and_booleans_in_place_of_text_are_refused() {
    assert_refused(
        "1.33",
        &[
            (
                "nodeGroups",
                "  labels: { gpu: true }\n",
                "`true` of the label `gpu` is a boolean in YAML",
            ),
            (
                "nodeGroups",
                "  labels: { size: 4 }\n",
                "`4` of the label `size` is a number in YAML",
            ),
            (
                "nodeGroups",
                "  taints: [{ key: a, value: yes, effect: NoSchedule }]\n",
                "`yes` of the taint `a`",
            ),
            (
                "managedNodeGroups",
                "  tags: { cost: 1234 }\n",
                "of the tag `cost`",
            ),
        ],
    );
    let version = config("1.30", "nodeGroups", "").replace("\"1.30\"", "1.30");
    let refused = refused("c", &version);
    assert!(
        refused.contains("`1.30` of `metadata.version` is a number in YAML")
            && refused.contains("`\"1.30\"`"),
        "{refused}"
    );
    machine(&config(
        "1.33",
        "nodeGroups",
        "  labels: { gpu: \"true\", release: 1.30-eks }\n",
    ));
}

#[test]
fn a_config_that_is_not_filled_in_or_has_no_list_of_groups_is_refused() {
    let name = config("1.33", "nodeGroups", "").replace("name: demo", "name: <cluster-name>");
    assert!(refused("c", &name).contains("`metadata.name` is `<cluster-name>`, which is not filled in"));
    let filled = read_with("c", name.as_bytes(), &[("cluster-name", "demo")]).unwrap();
    assert_eq!(filled.machines[0].traits.cluster.name.as_deref(), Some("demo"));
    let mapping = config("1.33", "nodeGroups", "").replace("- name: ng", "  name: ng");
    let refused = refused("c", &mapping);
    assert!(
        refused.contains("`nodeGroups` is not a list")
            && refused.contains("begin each group with `- name: NAME`"),
        "{refused}"
    );
}

#[test]
fn names_that_a_shell_fills_in_before_eksctl_need_values() {
    let group = "  instanceType: $TYPE\n  labels: { team: <<TEAM>> }\n  preBootstrapCommands: [$COMMAND]\n";
    let text = config("1.33", "nodeGroups", group).replace("name: demo", "name: $NAME-a");
    let refused = refused("c", &text);
    assert!(
        refused.starts_with(
            "line 3: manifests with values that are not filled in: `$NAME` (line 3), `$TYPE` (line 7), `<<TEAM>>` (line 8)\n"
        ) && refused.contains("`--set NAME=VALUE --set TYPE=VALUE --set TEAM=VALUE`"),
        "{refused}"
    );
    let values = [("NAME", "demo"), ("TYPE", "m7g.large"), ("TEAM", "web")];
    let filled = read_with("c", text.as_bytes(), &values).unwrap();
    let traits = &filled.machines[0].traits;
    assert_eq!(traits.cluster.name.as_deref(), Some("demo-a"));
    assert_eq!(traits.instance_type.as_deref(), Some("m7g.large"));
    assert_eq!(traits.labels["team"], "web");
}

#[test]
fn a_refused_field_is_named_with_the_line_of_its_key() {
    let config = |group: &str| config("1.31", "nodeGroups", group);
    let refused = |group: &str| refused("c", &config(group));
    let begin = |key: &str, group: &str| {
        let line = config(group).lines().position(|line| line.contains(key));
        format!("line {}: ", line.unwrap() + 1)
    };
    for group in [
        "  amiFamily: AmazonLinux2023\n  overrideBootstrapCommand: |\n    #!/bin/bash\n    /etc/eks/bootstrap.sh demo\n",
        "  amiFamily: AmazonLinux2023\n  overrideBootstrapCommand: \"#!/bin/bash\\n/etc/eks/bootstrap.sh demo\\n\"\n",
        "  amiFamily: AmazonLinux2023\n  overrideBootstrapCommand: /etc/eks/bootstrap.sh demo\n",
    ] {
        let refused = refused(group);
        assert!(
            refused.starts_with(&begin("overrideBootstrapCommand", group)),
            "{refused}"
        );
    }
}

#[test]
fn a_list_in_place_of_text_is_refused() {
    let refused = refused(
        "c",
        &config(
            "1.31",
            "nodeGroups",
            "  amiFamily: AmazonLinux2023\n  ami: [ami-1]\n",
        ),
    );
    assert!(
        refused.contains("line 8: `ami` of a node group is not text"),
        "{refused}"
    );
}
