//! Node groups of eksctl.

mod groups;
mod refusals;

use nodejoin_core::plan::Tokens;
use nodejoin_core::plan::aws::IpFamily;

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

fn of_al2(group: &str) -> String {
    format!("  amiFamily: AmazonLinux2\n{group}")
}

#[test]
fn self_managed_al2_is_a_compressed_cloud_config() {
    let machine = machine(&config("1.29", "nodeGroups", &of_al2(GROUP)));
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
    let types = "  instancesDistribution: { instanceTypes: [t3.medium, t3a.medium] }\n";
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
    let managed = machine(&config("1.29", "managedNodeGroups", &of_al2(GROUP)));
    insta::assert_snapshot!(user_data(&managed));
    let none = machine(&config("1.29", "managedNodeGroups", &of_al2("  spot: true\n")));
    assert!(none.traits.is_spot);
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

/// eksctl has AL2023 as the default of all versions since 0.219.
#[test]
fn a_group_without_a_family_has_al2023_and_an_older_default_is_noted() {
    for (key, version, is_noted) in [
        ("managedNodeGroups", "1.29", true),
        ("managedNodeGroups", "1.30", false),
        ("nodeGroups", "1.32", true),
        ("nodeGroups", "1.33", false),
    ] {
        let machine = machine(&config(version, key, "  minSize: 1\n"));
        assert_eq!(machine.traits.ami_family, Some(AmiFamily::Al2023), "{version}");
        let note = "state `amiFamily: AmazonLinux2` for that";
        let found = machine.notes.iter().any(|found| found.ends_with(note));
        assert_eq!(found, is_noted, "{key} {version}: {:?}", machine.notes);
    }
    let stated = machine(&config("1.29", "nodeGroups", &of_al2("")));
    assert_eq!(stated.notes.len(), 0);
}

#[test]
fn only_a_command_in_place_of_a_script_must_pass_labels_itself() {
    let notes = |family: &str, command: &str| {
        let group = format!("  amiFamily: {family}\n  overrideBootstrapCommand: \"{command}\"\n");
        machine(&config("1.29", "nodeGroups", &group)).notes
    };
    assert!(notes("AmazonLinux2", "/opt/join")[0].contains("$NODE_LABELS"));
    let node_config = "apiVersion: node.eks.aws/v1alpha1\\nkind: NodeConfig\\n";
    assert_eq!(notes("AmazonLinux2023", node_config).len(), 0);
}

#[test]
fn a_managed_group_of_ubuntu_is_bootstrapped_by_eksctl() {
    let group = format!("  amiFamily: Ubuntu2204\n{GROUP}");
    let own = machine(&config("1.33", "managedNodeGroups", &group));
    assert_eq!(own.managed, None, "EKS adds nothing to it");
    let text = user_data(&own);
    assert!(
        text.contains("bootstrap.ubuntu.sh") && text.contains("MAX_PODS=20"),
        "{text}"
    );
    assert_eq!(
        (own.traits.labels["team"].as_str(), own.traits.max_pods),
        ("web", Some(20))
    );
    let refused = refused(
        "c",
        &config(
            "1.33",
            "managedNodeGroups",
            "  amiFamily: Ubuntu2204\n  overrideBootstrapCommand: /opt/join\n",
        ),
    );
    assert!(refused.contains("of a managed group without `ami`"), "{refused}");
}

#[test]
fn labels_in_the_user_data_of_a_managed_group_are_expected() {
    let group =
        "  labels: { team: web }\n  taints: [{ key: a, value: b, effect: NoSchedule }]\n  ami: ami-1\n";
    let traits = |family: &str| {
        let text = config(
            "1.33",
            "managedNodeGroups",
            &format!("  amiFamily: {family}\n{group}"),
        );
        machine(&text).traits
    };
    let own = traits("AmazonLinux2023");
    assert_eq!((own.labels["team"].as_str(), own.taints.len()), ("web", 1));
    assert!(own.later_labels.is_empty() && own.later_taints.is_empty());
    let bottlerocket = traits("Bottlerocket");
    assert_eq!(
        (
            bottlerocket.later_labels["team"].as_str(),
            bottlerocket.taints.len()
        ),
        ("web", 0)
    );
}

#[test]
fn the_nodes_of_an_ipv6_cluster_get_its_network() {
    let text = |key: &str| {
        config("1.33", key, "  amiFamily: AmazonLinux2023\n")
            .replace("serviceIPv4CIDR: 172.20.0.0/16", "ipFamily: ipv6")
    };
    let own = machine(&text("nodeGroups"));
    assert_eq!(own.traits.cluster.ip_family, Some(IpFamily::Ipv6));
    let data = user_data(&own);
    assert!(
        data.contains("\"cidr\":\"fd30:1c53:5f8a::/108\"") && data.contains("[\"fd30:1c53:5f8a::a\"]"),
        "{data}"
    );
    let managed = machine(&text("managedNodeGroups"));
    let complete = complete_user_data(&managed, &managed.traits.cluster)
        .unwrap()
        .unwrap();
    let complete = String::from_utf8(complete).unwrap();
    assert!(complete.contains("cidr: fd30:1c53:5f8a::/108\n"), "{complete}");
    let bottlerocket = |key: &str, family: &str| {
        let config = config("1.33", key, "  amiFamily: Bottlerocket\n");
        user_data(&machine(
            &config.replace("serviceIPv4CIDR: 172.20.0.0/16", family),
        ))
    };
    let own = bottlerocket("nodeGroups", "ipFamily: IPv6");
    assert!(own.contains("cluster-dns-ip = \"fd30:1c53:5f8a::a\""), "{own}");
    for (key, family) in [
        ("nodeGroups", "ipFamily: IPv4"),
        ("managedNodeGroups", "ipFamily: IPv6"),
    ] {
        let other = bottlerocket(key, family);
        assert!(!other.contains("cluster-dns-ip"), "{other}");
    }
    let both = config("1.33", "nodeGroups", "").replace("serviceIPv4CIDR", "ipFamily: IPv6, serviceIPv4CIDR");
    assert!(refused("c", &both).contains("refuses `serviceIPv4CIDR`"));
    let unknown = config("1.33", "nodeGroups", "").replace("serviceIPv4CIDR: 172.20.0.0/16", "ipFamily: v6");
    assert!(refused("c", &unknown).contains("no `ipFamily` with the name `v6`"));
}

#[test]
fn the_nodes_of_a_local_cluster_on_an_outpost_know_its_id() {
    let outpost =
        "outpost: { controlPlaneOutpostARN: \"arn:aws:outposts:eu-west-1:111122223333:outpost/op-1\" }\n";
    let with = |group: &str| format!("{}{outpost}", config("1.31", "nodeGroups", group));
    let al2023 = machine(&with("  amiFamily: AmazonLinux2023\n"));
    let text = user_data(&al2023);
    assert!(
        text.contains("\"enableOutpost\":true") && text.contains("\"id\":\"demo\""),
        "{text}"
    );
    assert!(
        al2023.notes[0].contains("only AWS knows the id"),
        "{:?}",
        al2023.notes
    );
    let al2 = user_data(&machine(&with("  amiFamily: AmazonLinux2\n")));
    assert!(
        al2.contains("--enable-local-outpost true --cluster-id") && al2.contains("CLUSTER_ID=demo"),
        "{al2}"
    );
    assert!(refused("c", &with("  amiFamily: Bottlerocket\n")).contains("a local cluster on an Outpost"));
    let elsewhere = user_data(&machine(&config(
        "1.31",
        "nodeGroups",
        "  amiFamily: AmazonLinux2\n",
    )));
    assert!(!elsewhere.contains("outpost"), "{elsewhere}");
}

#[test]
fn settings_of_bottlerocket_keep_what_eksctl_does_not_write() {
    let settings = |group: &str, kubernetes: &str| {
        let text = format!(
            "  amiFamily: Bottlerocket\n{group}  bottlerocket: {{ settings: {{ kubernetes: {{ {kubernetes} }} }} }}\n"
        );
        user_data(&machine(&config("1.33", "nodeGroups", &text)))
    };
    let dns = "cluster-dns-ip: 169.254.20.10";
    assert!(settings("", dns).contains("cluster-dns-ip = \"169.254.20.10\""));
    assert!(settings("  clusterDNS: 10.0.0.10\n", "").contains("cluster-dns-ip = \"10.0.0.10\""));
    assert!(
        !settings("", "").contains("cluster-dns-ip"),
        "Bottlerocket asks EKS"
    );
    assert!(!settings("", "").contains("admin"));
    assert!(
        settings("  ssh: { publicKeyName: k }\n", "")
            .contains("[settings.host-containers.admin]\nenabled = true")
    );
    let group = "  amiFamily: Bottlerocket\n  bottlerocket: { enableAdminContainer: false }\n";
    let managed = user_data(&machine(&config("1.33", "managedNodeGroups", group)));
    assert!(managed.contains("enabled = false"), "{managed}");
    assert!(!managed.contains("node-labels"), "EKS adds them: {managed}");
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

#[test]
fn the_dns_address_of_a_group_tells_the_network_of_a_cluster_that_states_none() {
    let stated = "kubernetesNetworkConfig: { serviceIPv4CIDR: 172.20.0.0/16 }\n";
    let with = |dns: &str| config("1.33", "nodeGroups", &format!("  clusterDNS: {dns}\n"));
    for (text, network, is_noted) in [
        (with("172.20.0.10").replace(stated, ""), "172.20.0.0/16", false),
        (with("10.0.0.10").replace(stated, ""), "10.100.0.0/16", false),
        (with("10.0.0.10"), "172.20.0.0/16", true),
    ] {
        let machine = machine(&text);
        let data = user_data(&machine);
        assert!(data.contains(&format!("\"cidr\":\"{network}\"")), "{data}");
        let trial = crate::adopt(&machine, &std::collections::BTreeMap::new()).unwrap();
        let mut lines = trial.report.iter();
        let found = lines.any(|line| line.text.contains("is neither in the service CIDR"));
        assert_eq!(found, is_noted, "{text}");
    }
}
