//! Node groups of eksctl.

use nodejoin_core::plan::Tokens;

use super::{machine, read, refused, user_data};
use crate::{AmiFamily, FileFormat, System, complete_user_data};

const GROUP: &str = "  instanceType: m5.large
  labels: { team: web }
  taints: [{ key: a, value: b, effect: NoSchedule }]
  maxPodsPerNode: 20
  preBootstrapCommands: [echo one]
";

fn config(version: &str, key: &str, group: &str) -> String {
    format!(
        "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: {{ name: demo, region: eu-west-1, version: \"{version}\" }}\n\
         kubernetesNetworkConfig: {{ serviceIPv4CIDR: 172.20.0.0/16 }}\n{key}:\n- name: ng\n{group}"
    )
}

#[test]
fn self_managed_al2_is_a_compressed_cloud_config() {
    let machine = machine(&config("1.29", "nodeGroups", GROUP));
    assert!(machine.user_data.as_ref().unwrap().starts_with(&[0x1f, 0x8b]));
    let text = user_data(&machine);
    let parsed = nodejoin_core::user_data::parse(text.as_bytes());
    assert_eq!(parsed.faults, []);
    let config = parsed.cloud_config();
    let paths: Vec<&str> = config.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "/etc/eksctl/kubelet-extra.json",
            "/etc/eksctl/kubelet.env",
            "/var/lib/cloud/scripts/eksctl/bootstrap.helper.sh",
            "/var/lib/cloud/scripts/eksctl/bootstrap.al2.sh"
        ]
    );
    assert!(text.contains(
        "NODE_LABELS=alpha.eksctl.io/cluster-name=demo,alpha.eksctl.io/nodegroup-name=ng,team=web"
    ));
    assert!(text.contains("MAX_PODS=20"));
    for file in config.files.iter().filter(|file| file.path.ends_with(".sh")) {
        let script = String::from_utf8(file.content.clone()).unwrap();
        assert!(script.starts_with("#!/bin/bash\n"), "{script}");
    }
    assert_eq!((machine.name.as_str(), machine.managed), ("nodeGroups/ng", None));
    let traits = machine.traits;
    assert_eq!(
        (traits.ami_family, traits.max_pods),
        (Some(AmiFamily::Al2), Some(20))
    );
    assert_eq!(
        (traits.http_tokens, traits.hop_limit),
        (Some(Tokens::Required), Some(2))
    );
    assert_eq!(traits.region.as_deref(), Some("eu-west-1"));
    assert_eq!(traits.cluster.dns_ip.as_deref(), Some("172.20.0.10"));
}

#[test]
fn an_override_replaces_the_bootstrap_script() {
    let text = user_data(&machine(&config(
        "1.33",
        "nodeGroups",
        "  amiFamily: Ubuntu2204\n  overrideBootstrapCommand: /opt/join\n",
    )));
    assert!(
        text.contains("/opt/join") && !text.contains("bootstrap.ubuntu.sh"),
        "{text}"
    );
}

#[test]
fn the_first_type_of_a_distribution_is_that_of_the_node() {
    let types =
        "  amiFamily: AmazonLinux2\n  instancesDistribution: { instanceTypes: [t3.medium, t3a.medium] }\n";
    let machine = machine(&config("1.33", "nodeGroups", types));
    assert_eq!(machine.traits.instance_type.as_deref(), Some("t3.medium"));
}

#[test]
fn al2023_gets_node_configs() {
    let own = machine(&config(
        "1.33",
        "nodeGroups",
        &format!(
            "{GROUP}  overrideBootstrapCommand: |\n    apiVersion: node.eks.aws/v1alpha1\n    kind: NodeConfig\n"
        ),
    ));
    insta::assert_snapshot!(user_data(&own).replace("\r\n", "\n"));
    // A line end of Windows in a script would be part of its commands.
    assert!(user_data(&own).contains("\r\n\r\n#!/bin/bash\necho one\r\n--"));
    let managed = machine(&config("1.33", "managedNodeGroups", GROUP));
    let text = user_data(&managed);
    assert!(
        text.contains("maxPods") && !text.contains("apiServerEndpoint"),
        "{text}"
    );
    let complete = complete_user_data(&managed, &managed.traits.cluster)
        .unwrap()
        .unwrap();
    let complete = String::from_utf8(complete).unwrap();
    assert!(
        complete.contains("alpha.eksctl.io/nodegroup-name=ng"),
        "{complete}"
    );
}

#[test]
fn managed_al2_keeps_commands_as_they_are() {
    let managed = machine(&config("1.29", "managedNodeGroups", GROUP));
    insta::assert_snapshot!(user_data(&managed));
    let none = machine(&config("1.29", "managedNodeGroups", "  spot: true\n"));
    assert_eq!(none.user_data, None);
    let own_ami = machine(&config(
        "1.29",
        "managedNodeGroups",
        "  amiFamily: AmazonLinux2\n  ami: ami-1\n  overrideBootstrapCommand: /opt/join\n",
    ));
    assert_eq!(
        (own_ami.managed.is_none(), own_ami.traits.ami_id.as_deref()),
        (true, Some("ami-1"))
    );
    assert!(user_data(&own_ami).contains("\n/opt/join\r\n"));
    // EKS gives labels to the Nodes of a managed node group, whatever the command passes.
    assert!(own_ami.traits.labels.is_empty());
    assert_eq!(
        own_ami.traits.later_labels["alpha.eksctl.io/nodegroup-name"],
        "ng"
    );
    for (group, problem) in [
        ("  ami: ami-<id>\n", "`ami: ami-<id>` is not filled in"),
        ("  ami: ami-1\n", "eksctl refuses `ami` without `amiFamily`"),
        (
            "  ami: ami-1\n  amiFamily: AmazonLinux2\n",
            "eksctl refuses `ami` without `overrideBootstrapCommand`",
        ),
        (
            "  amiFamily: AmazonLinux2023\n  overrideBootstrapCommand: /opt/join\n",
            "as a NodeConfig, and this is none",
        ),
    ] {
        let refused = refused("c", &config("1.29", "managedNodeGroups", group));
        assert!(refused.contains(problem), "{refused}");
    }
}

#[test]
fn the_default_of_the_ami_family_is_noted() {
    let note = |version: &str, group: &str| {
        let notes = machine(&config(version, "nodeGroups", group)).notes;
        notes.into_iter().find(|note| note.contains("amiFamily"))
    };
    for (version, family, other) in [
        ("1.29", "AmazonLinux2 ", "`amiFamily: AmazonLinux2023`"),
        ("1.30", "AmazonLinux2023 ", "`amiFamily: AmazonLinux2`"),
    ] {
        let note = note(version, "  minSize: 1\n").unwrap();
        assert!(note.contains(family) && note.contains(other), "{note}");
    }
    assert_eq!(note("1.30", "  amiFamily: AmazonLinux2\n"), None);
    let machine = machine(&config(
        "1.29",
        "nodeGroups",
        "  amiFamily: AmazonLinux2\n  overrideBootstrapCommand: /opt/join\n",
    ));
    assert!(machine.notes[0].contains("$NODE_LABELS"), "{:?}", machine.notes);
}

#[test]
fn stand_ins_of_a_managed_group_are_of_its_region() {
    let group = "  amiFamily: AmazonLinux2023\n  preBootstrapCommands: [echo]\n";
    let machine = machine(&config("1.33", "managedNodeGroups", group));
    let complete = complete_user_data(&machine, &crate::ClusterTraits::default());
    let complete = String::from_utf8(complete.unwrap().unwrap()).unwrap();
    assert!(
        complete.contains(".eu-west-1.eks.amazonaws.com") && !complete.contains("us-west-2"),
        "{complete}"
    );
}

#[test]
fn bottlerocket_and_windows_are_rendered() {
    let settings = "  amiFamily: Bottlerocket\n  taints: { a: \"b:NoSchedule\" }\n  bottlerocket: { settings: { motd: hi, kubernetes: { allowed-unsafe-sysctls: [x] } } }\n";
    let machine = machine(&config("1.33", "nodeGroups", settings));
    assert_eq!(machine.system, System::Bottlerocket);
    insta::assert_snapshot!(user_data(&machine));
    let windows = super::machine(&config(
        "1.33",
        "nodeGroups",
        "  amiFamily: WindowsServer2022CoreContainer\n",
    ));
    insta::assert_snapshot!(user_data(&windows));
}

#[test]
fn groups_without_user_data_are_reported() {
    let text = config(
        "1.33",
        "managedNodeGroups",
        "- name: b\n  launchTemplate: { id: lt-1 }\n",
    );
    let imported = read(&text);
    assert_eq!(imported.format, FileFormat::Eksctl);
    assert!(
        imported.unread[0]
            .error
            .to_string()
            .contains("is in launch template `lt-1`")
    );
    assert!(
        refused("c", &config("1.33", "nodeGroups", "  amiFamily: AL2\n"))
            .contains("unknown AMI family `AL2`")
    );
    insta::assert_snapshot!(refused(
        "c",
        "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nautoModeConfig: { enabled: true }\n"
    ));
}

#[test]
fn names_in_a_config_are_filled_in() {
    let text = config("1.29", "nodeGroups", "  labels: { team: \"${TEAM}\" }\n")
        .replace("name: demo", "name: \"demo-${STAGE}\"");
    let error = super::read_with("file", text.as_bytes(), &[("TEAM", "web")]).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("`metadata.name` is `demo-${STAGE}`, which is not filled in"),
        "{error}"
    );
    assert!(error.hint().contains("--set NAME=VALUE"));
    let read = super::read_with("file", text.as_bytes(), &[("TEAM", "web"), ("STAGE", "dev")]).unwrap();
    let traits = &read.machines[0].traits;
    assert_eq!(traits.cluster.name.as_deref(), Some("demo-dev"));
    assert!(user_data(&read.machines[0]).contains("team=web"));
}

#[test]
fn a_label_without_a_value_has_an_empty_one() {
    let text = "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: { name: demo, region: eu-west-1, version: \"1.31\" }\n\
                managedNodeGroups:\n- { name: ng, labels: { gpu, role: web } }\n";
    let labels = machine(text).managed.unwrap().labels;
    assert_eq!((labels["gpu"].as_str(), labels["role"].as_str()), ("", "web"));
}

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
            "  amiFamily: AmazonLinux2\n  overrideBootstrapCommand: /opt/join\n",
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

#[test]
fn a_field_that_is_like_no_other_is_noted_and_families_have_any_case() {
    let text = config(
        "1.33",
        "nodeGroups",
        "  amiFamily: amazonlinux2023\n  zonalPreference: a\n",
    );
    let machine = machine(&text);
    assert_eq!(machine.traits.ami_family, Some(AmiFamily::Al2023));
    assert_eq!(
        machine.notes,
        [
            "line 8: nodejoin knows no field `zonalPreference` of a group of `nodeGroups`: if your version has none either, eksctl refuses it"
        ]
    );
}
