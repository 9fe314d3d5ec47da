//! Stacks of a folder of the CDK that import values of each other.

use std::collections::BTreeMap;
use std::path::PathBuf;

use nodejoin_core::plan::aws::AuthenticationMode;

use super::user_data;
use crate::{ClusterTraits, Import, ImportError, Imported, import};

/// A cluster with an access entry, and its exports.
const NETWORK: &str = r#"{"Resources": {
  "C": {"Type": "AWS::EKS::Cluster", "Properties": {"Name": "shop", "Version": "1.32", "AccessConfig": {"AuthenticationMode": "API"},
    "KubernetesNetworkConfig": {"ServiceIpv4Cidr": "172.20.0.0/16"}}},
  "Entry": {"Type": "AWS::EKS::AccessEntry", "Properties": {"ClusterName": {"Ref": "C"}, "Type": "EC2_LINUX",
    "PrincipalArn": "arn:aws:iam::111122223333:role/nodes"}},
  "Vpc": {"Type": "AWS::EC2::VPC"}},
 "Outputs": {
  "Name": {"Value": {"Ref": "C"}, "Export": {"Name": "Net:Name"}},
  "Endpoint": {"Value": {"Fn::GetAtt": ["C", "Endpoint"]}, "Export": {"Name": "Net:Endpoint"}},
  "Vpc": {"Value": {"Ref": "Vpc"}, "Export": {"Name": "Net:Vpc"}}}}"#;

/// A launch template with the values of the other stack, and a group of its nodes.
const NODES: &str = r##"{"Resources": {
  "Lt": {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": {"ImageId": "ami-0123456789abcdef0",
    "UserData": {"Fn::Base64": {"Fn::Join": ["", ["#!/bin/bash\n/etc/eks/bootstrap.sh ", {"Fn::ImportValue": "Net:Name"},
      " --apiserver-endpoint ", {"Fn::ImportValue": "Again:Endpoint"}, "\necho ", {"Fn::ImportValue": "Net:Vpc"}, "\n"]]}}}}},
  "Ng": {"Type": "AWS::EKS::Nodegroup", "Properties": {"ClusterName": {"Fn::ImportValue": "Net:Name"},
    "NodeRole": "arn:aws:iam::111122223333:role/n", "AmiType": "AL2023_x86_64_STANDARD"}}}}"##;

/// Exports what it imports.
const AGAIN: &str = r#"{"Resources": {"T": {"Type": "AWS::SNS::Topic"}}, "Outputs": {
  "E": {"Value": {"Fn::ImportValue": "Net:Endpoint"}, "Export": {"Name": "Again:Endpoint"}}}}"#;

fn manifest(region: &str) -> String {
    let artifact = |stack: &str, region: &str| {
        format!(
            r#""{stack}":{{"environment":"aws://111122223333/{region}","properties":{{"templateFile":"{stack}.template.json"}}}}"#
        )
    };
    let artifacts = [
        artifact("Again", "eu-west-1"),
        artifact("Net", region),
        artifact("Nodes", "eu-west-1"),
    ];
    format!(r#"{{"artifacts":{{{}}}}}"#, artifacts.join(","))
}

/// The folder with the cluster in a region, read.
fn imported(name: &str, region: &str) -> Result<Imported, ImportError> {
    let folder: PathBuf = std::env::temp_dir().join(format!("nodejoin-import-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (file, text) in [
        ("manifest.json", manifest(region).as_str()),
        ("Again.template.json", AGAIN),
        ("Net.template.json", NETWORK),
        ("Nodes.template.json", NODES),
    ] {
        std::fs::write(folder.join(file), text).unwrap();
    }
    let imported = import(&Import {
        name: "cdk.out",
        bytes: b"",
        folder: Some(&folder),
        set: &BTreeMap::new(),
        cluster: &ClusterTraits::default(),
    });
    std::fs::remove_dir_all(&folder).unwrap();
    imported
}

#[test]
fn a_value_that_another_stack_of_the_folder_exports_is_known() {
    let imported = imported("exports", "eu-west-1").unwrap();
    let [template, group] = &imported.machines[..] else {
        panic!("{imported:?}")
    };
    let endpoint = "https://0123456789ABCDEF0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com";
    assert_eq!(
        user_data(template),
        format!(
            "#!/bin/bash\n/etc/eks/bootstrap.sh shop --apiserver-endpoint {endpoint}\necho nodejoin-Vpc\n"
        )
    );
    assert!(
        imported
            .notes
            .iter()
            .any(|note| note.starts_with("`nodejoin-Vpc` stands for the id")),
        "{:?}",
        imported.notes
    );
    assert!(group.managed.is_some());
    for machine in [template, group] {
        let cluster = &machine.traits.cluster;
        assert_eq!(
            (cluster.version.as_deref(), cluster.service_cidr.as_deref()),
            (Some("1.32"), Some("172.20.0.0/16")),
            "{}",
            machine.name
        );
        assert_eq!(cluster.authentication_mode, Some(AuthenticationMode::Api));
        assert_eq!(
            cluster.access.node_roles(),
            ["arn:aws:iam::111122223333:role/nodes"]
        );
    }
    assert_eq!(group.traits.cluster.name.as_deref(), Some("shop"));
}

#[test]
fn a_stack_of_another_region_exports_nothing_here() {
    let imported = imported("regions", "eu-west-3").unwrap();
    assert_eq!(imported.machines.len(), 1, "{imported:?}");
    let error = &imported.unread[0].error;
    assert!(error.problem().contains("export `Net:Name`"), "{error}");
    assert_eq!(imported.machines[0].traits.cluster.version, None);
}
