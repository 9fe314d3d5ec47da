//! Mistakes of CloudFormation templates: attributes, names without braces, AMIs.

use std::collections::BTreeMap;

use super::{machine, read, refused, user_data};
use crate::adopt::adopt;

/// A NodeConfig in a launch template. `name`, `authority`, `cidr`: values of its cluster.
fn template(name: &str, authority: &str, cidr: &str) -> String {
    format!(
        "Resources:\n  Cluster:\n    Type: AWS::EKS::Cluster\n    Properties: {{ Name: shop }}\n  NodeRole:\n    Type: AWS::IAM::Role\n  \
         Lt:\n    Type: AWS::EC2::LaunchTemplate\n    Properties:\n      LaunchTemplateData:\n        ImageId: ami-0123456789abcdef0\n        \
         UserData:\n          Fn::Base64: !Sub |\n            apiVersion: node.eks.aws/v1alpha1\n            kind: NodeConfig\n            \
         spec:\n              cluster:\n                name: {name}\n                apiServerEndpoint: ${{Cluster.Endpoint}}\n                \
         certificateAuthority: {authority}\n                cidr: {cidr}\n"
    )
}

const AUTHORITY: &str = "${Cluster.CertificateAuthorityData}";

#[test]
fn an_attribute_that_a_cluster_does_not_have_is_refused_with_the_right_one() {
    for (authority, cidr, remedy) in [
        (
            "${Cluster.Enpoint}",
            "10.100.0.0/16",
            "hint: write `Cluster.Endpoint`",
        ),
        (
            "${Cluster.CertificateAuthority.Data}",
            "10.100.0.0/16",
            "hint: write `Cluster.CertificateAuthorityData`",
        ),
        (
            AUTHORITY,
            "${Cluster.KubernetesNetworkConfig.ServiceIpv4Cidr}",
            "hint: write the range of services itself",
        ),
    ] {
        let refused = refused("t.yaml", &template("${Cluster}", authority, cidr));
        assert!(
            refused.contains("AWS::EKS::Cluster has no attribute `"),
            "{refused}"
        );
        assert!(
            refused.contains(remedy) && !refused.contains("--set"),
            "{refused}"
        );
    }
    let newer = refused(
        "t.yaml",
        &template("${Cluster}", "${Cluster.Newer}", "10.100.0.0/16"),
    );
    assert!(
        newer.contains("nodejoin knows no attribute `Newer` of AWS::EKS::Cluster")
            && newer.contains("write one of Arn, CertificateAuthorityData,"),
        "{newer}"
    );
    let right = machine(&template("${Cluster}", AUTHORITY, "10.100.0.0/16"));
    assert_eq!(right.problems, [""; 0]);
}

#[test]
fn an_attribute_elsewhere_in_the_template_concerns_its_machines() {
    let group = |role: &str| {
        let text = template("${Cluster}", AUTHORITY, "10.100.0.0/16");
        let group = format!(
            "  Ng:\n    Type: AWS::EKS::Nodegroup\n    Properties:\n      ClusterName: !Ref Cluster\n      NodegroupName: web\n      \
             NodeRole: !GetAtt {role}\n      Subnets: [subnet-1]\n"
        );
        read(&format!("{text}{group}")).machines
    };
    let wrong = "CloudFormation refuses the template, as AWS::IAM::Role has no attribute `RoleArn`: write `NodeRole.Arn`";
    for machine in group("NodeRole.RoleArn") {
        let problem = machine.problems.iter().find(|problem| problem.ends_with(wrong));
        assert!(problem.is_some(), "{:?}", machine.problems);
    }
    for right in ["NodeRole.Arn", "Ng.NodegroupName"] {
        for machine in group(right) {
            let problems = machine.problems.concat();
            assert!(!problems.contains("has no attribute"), "{problems}");
        }
    }
}

#[test]
fn a_name_without_braces_is_named() {
    let found = machine(&template("$Cluster", AUTHORITY, "10.100.0.0/16"));
    assert!(user_data(&found).contains("name: $Cluster\n"));
    assert_eq!(
        found.problems,
        [
            "`$Cluster` stays as it is in `name: $Cluster`: `Fn::Sub` fills in names in braces alone; write `${Cluster}`"
        ]
    );
    let script = |text: &str| {
        let text = format!(
            "Parameters: {{ Cluster: {{ Type: String, Default: demo }} }}\nResources:\n  A:\n    Type: AWS::EC2::LaunchTemplate\n    \
             Properties:\n      LaunchTemplateData:\n        ImageId: ami-0123456789abcdef0\n        UserData:\n          \
             Fn::Base64: !Sub |\n            #!/bin/bash\n{text}"
        );
        machine(&text).problems.concat()
    };
    let call = "            /etc/eks/bootstrap.sh $Cluster\n";
    assert!(script(call).contains("write `${Cluster}`"));
    for set in [
        "            Cluster=${Cluster}\n",
        "            source /etc/names\n",
        "            read -r Cluster < /etc/name\n",
    ] {
        assert_eq!(script(&format!("{set}{call}")), "", "{set}");
    }
}

#[test]
fn an_ami_of_amazon_linux_is_not_one_of_eks() {
    let report = |image: &str| {
        let text = template("${Cluster}", AUTHORITY, "10.100.0.0/16").replace("ami-0123456789abcdef0", image);
        let report = adopt(&machine(&text), &BTreeMap::new()).unwrap().report;
        let lines = report
            .iter()
            .map(|line| format!("{}: {}\n", line.kind, line.text));
        lines.collect::<String>()
    };
    let plain =
        report("\"{{resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64}}\"");
    assert!(
        plain.contains(
            "note: the AMI `/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64` is one of Amazon Linux without the"
        ),
        "{plain}"
    );
    let of_eks = "/aws/service/eks/optimized-ami/1.31/amazon-linux-2023/x86_64/standard/recommended/image_id";
    let of_eks = report(&format!("\"{{{{resolve:ssm:{of_eks}}}}}\""));
    assert!(!of_eks.contains("without the programs of EKS"), "{of_eks}");
}
