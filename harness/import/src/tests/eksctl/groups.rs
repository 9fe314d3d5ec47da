//! What the nodes of a group are.

use super::{config, of_al2};
use crate::AmiFamily;
use crate::tests::{machine, refused};

#[test]
fn a_command_that_passes_the_labels_of_the_group_has_no_note() {
    let notes = |lines: &str| {
        let group = of_al2(&format!("  overrideBootstrapCommand: |\n{lines}"));
        machine(&config("1.29", "nodeGroups", &group)).notes
    };
    let source = "    source /var/lib/cloud/scripts/eksctl/bootstrap.helper.sh\n";
    let call = |labels: &str| {
        format!("    /etc/eks/bootstrap.sh demo --kubelet-extra-args \"--node-labels={labels}\"\n")
    };
    for passing in [
        format!("{source}{}", call("$NODE_LABELS")),
        format!("{source}    /etc/eks/bootstrap.sh demo --kubelet-extra-args \"${{KUBELET_EXTRA_ARGS}}\"\n"),
        format!("    . /etc/eksctl/kubelet.env\n{}", call("${NODE_LABELS}")),
    ] {
        assert_eq!(notes(&passing), [""; 0], "{passing}");
    }
    for other in [call("$NODE_LABELS"), format!("{source}{}", call("a=b"))] {
        let notes = notes(&other);
        assert!(
            notes[0].contains("leaves labels and taints"),
            "{other}: {notes:?}"
        );
    }
}

#[test]
fn a_script_with_a_node_config_in_it_is_not_one_for_eksctl() {
    let config = |command: &str| {
        let lines: String = command.lines().map(|line| format!("    {line}\n")).collect();
        let group = format!("  amiFamily: AmazonLinux2023\n  overrideBootstrapCommand: |\n{lines}");
        config("1.33", "nodeGroups", &group)
    };
    let own = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet: { flags: [--v=3] }\n";
    let script = format!("cat > node.yaml << EOF\n{own}EOF\nnodeadm init -c file://node.yaml\n");
    let message = format!(
        "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\nContent-Type: application/node.eks.aws\n\n{own}--B--\n"
    );
    for command in [format!("#!/bin/bash\n{script}"), script, message] {
        let refused = refused("c", &config(&command));
        assert!(
            refused.contains("as a NodeConfig, and this is none"),
            "{command}: {refused}"
        );
    }
    for command in [
        own.to_owned(),
        format!("#!/bin/bash is a comment\n{own}"),
        format!("---\n{own}"),
    ] {
        machine(&config(&command));
    }
}

#[test]
fn a_version_without_amis_of_al2023_has_those_of_al2_by_default() {
    for (version, key, family) in [
        ("1.21", "nodeGroups", AmiFamily::Al2),
        ("1.22", "managedNodeGroups", AmiFamily::Al2),
        ("1.23", "managedNodeGroups", AmiFamily::Al2023),
    ] {
        let machine = machine(&config(version, key, "  minSize: 1\n"));
        assert_eq!(machine.traits.ami_family, Some(family), "{version}");
        let is_noted = machine.notes[0].contains("gets AmazonLinux2, which eksctl before 0.219 took");
        assert_eq!(is_noted, family == AmiFamily::Al2, "{:?}", machine.notes);
    }
    let stated = machine(&config("1.21", "nodeGroups", "  amiFamily: Bottlerocket\n"));
    assert_eq!(stated.traits.ami_family, Some(AmiFamily::Bottlerocket));
}

#[test]
fn a_distribution_without_on_demand_instances_is_all_spot() {
    for (distribution, is_spot) in [
        ("onDemandPercentageAboveBaseCapacity: 0", true),
        (
            "onDemandBaseCapacity: 0, onDemandPercentageAboveBaseCapacity: 0",
            true,
        ),
        (
            "onDemandBaseCapacity: 1, onDemandPercentageAboveBaseCapacity: 0",
            false,
        ),
        (
            "onDemandBaseCapacity: 0, onDemandPercentageAboveBaseCapacity: 50",
            false,
        ),
        ("onDemandBaseCapacity: 0", false),
    ] {
        let group = format!("  instancesDistribution: {{ instanceTypes: [m5.large], {distribution} }}\n");
        let machine = machine(&config("1.33", "nodeGroups", &group));
        assert_eq!(machine.traits.is_spot, is_spot, "{distribution}");
    }
}

#[test]
fn a_config_for_hybrid_nodes_alone_has_no_machine() {
    let text = "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: { name: demo, region: eu-west-1 }\n\
                remoteNetworkConfig: { iam: { provider: ssm }, remoteNodeNetworks: [{ cidrs: [10.80.0.0/16] }] }\n";
    let refused = refused("c", text);
    assert!(refused.contains("hybrid nodes run outside of EC2"), "{refused}");
}
