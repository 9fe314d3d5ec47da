//! Node groups of Rancher.

use super::{machine, read, refused, user_data};
use crate::{AmiFamily, FileFormat};

fn config(group: &str) -> String {
    format!(
        "apiVersion: eks.cattle.io/v1\nkind: EKSClusterConfig\nspec:\n  displayName: demo\n  region: eu-west-1\n  kubernetesVersion: \"1.31\"\n  nodeGroups:\n  - nodegroupName: ng\n{group}"
    )
}

#[test]
fn a_node_group_has_plain_user_data() {
    let message = "    labels: { a: b }\n    instanceType: m5.large\n    userData: |\n      MIME-Version: 1.0\n      Content-Type: multipart/mixed; boundary=\"X\"\n\n      --X--\n";
    assert_eq!(read(&config(message)).format, FileFormat::Rancher);
    let machine = machine(&config(message));
    assert!(user_data(&machine).starts_with("MIME-Version: 1.0\nContent-Type: multipart/mixed"));
    assert_eq!(machine.managed.unwrap().instance_types, ["m5.large"]);
    assert_eq!(machine.traits.cluster.version.as_deref(), Some("1.31"));
    let own_ami = super::machine(&config("    imageId: ami-1\n"));
    assert_eq!((own_ami.managed, own_ami.user_data), (None, None));
}

#[test]
fn what_rancher_rejects_is_refused() {
    insta::assert_snapshot!(refused("r.yaml", &config("    userData: \"#!/bin/bash\\n\"\n")));
    assert!(
        refused("r.yaml", &config("    launchTemplate: { id: lt-1 }\n")).contains("launch template `lt-1`")
    );
    assert!(
        refused("r.yaml", "apiVersion: eks.cattle.io/v1\nkind: EKSClusterConfig\n")
            .contains("no `nodeGroups`")
    );
}

#[test]
fn the_nodes_of_an_ipv6_cluster_get_its_network() {
    let text = "apiVersion: eks.cattle.io/v1\nkind: EKSClusterConfig\nmetadata: { name: c }\nspec:\n  displayName: c\n  \
                kubernetesVersion: \"1.33\"\n  ipFamily: ipv6\n  nodeGroups: [{ nodegroupName: ng, instanceType: m5.large }]\n";
    let found = super::machine(text);
    let own = crate::complete_user_data(&found, &crate::ClusterTraits::default());
    let own = String::from_utf8(own.unwrap().unwrap()).unwrap();
    assert!(
        own.contains("cidr: fd30:1c53:5f8a::/108\n") && own.contains("- fd30:1c53:5f8a::a\n"),
        "{own}"
    );
}

#[test]
fn spot_instances_have_the_smallest_of_their_types() {
    let group = "    instanceType: t3.medium\n    requestSpotInstances: true\n    spotInstanceTypes: [m5.xlarge, m5.large]\n";
    let spot = super::machine(&config(group));
    assert_eq!(spot.traits.instance_type.as_deref(), Some("m5.large"));
    assert_eq!(spot.managed.unwrap().instance_types, ["m5.xlarge", "m5.large"]);
    let on_demand = super::machine(&config(&group.replace("true", "false")));
    assert_eq!(on_demand.traits.instance_type.as_deref(), Some("t3.medium"));
    assert_eq!(on_demand.managed.unwrap().instance_types, ["t3.medium"]);
}

#[test]
fn misspelt_fields_of_a_group_are_refused() {
    let misspelt = refused("r.yaml", &config("    label: { a: b }\n"));
    assert!(
        misspelt.contains("write `labels`") && misspelt.starts_with("line 9"),
        "{misspelt}"
    );
    let notes = machine(&config("    taints: []\n")).notes;
    assert!(
        notes[0].contains("knows no field `taints` of a node group"),
        "{notes:?}"
    );
}

#[test]
fn nodes_of_a_group_are_spot_instances_of_an_ami_that_rancher_chooses() {
    let group = "    requestSpotInstances: true\n    spotInstanceTypes: [m5.large]\n";
    let spot = machine(&config(group));
    assert!(spot.traits.is_spot);
    assert_eq!(spot.traits.ami_family, Some(AmiFamily::Al2023));
    assert!(
        spot.notes[0].starts_with("Rancher chooses the AMI type, one of AL2023"),
        "{:?}",
        spot.notes
    );
    let on_demand = machine(&config("    instanceType: m5.large\n    imageId: ami-1\n"));
    assert!(!on_demand.traits.is_spot);
    assert_eq!((on_demand.traits.ami_family, on_demand.notes.len()), (None, 0));
}
