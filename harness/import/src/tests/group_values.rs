//! Values of managed node groups that EKS refuses, as each tool states them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{SCRIPT, base64, machine};
use crate::adopt;

const ROLE: &str = "arn:aws:iam::111122223333:role/nodes";

/// Problems and notes of the only machine of a file.
fn found(text: &str) -> String {
    let machine = machine(text);
    [machine.problems, machine.notes].concat().join("\n")
}

/// What a trial of the only machine reports.
fn report(text: &str) -> String {
    let trial = adopt(&machine(text), &BTreeMap::new()).unwrap();
    let lines = trial.report.iter();
    lines
        .map(|line| format!("{}: {}\n", line.kind, line.text))
        .collect()
}

/// An object with further values.
fn with(mut object: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        object[key] = value.clone();
    }
    object
}

/// A template with a cluster of Kubernetes 1.31 and a node group.
fn stack(group: &Value) -> String {
    let own = json!({"ClusterName": {"Ref": "C"}, "NodeRole": ROLE, "AmiType": "AL2023_x86_64_STANDARD",
        "InstanceTypes": ["m7i.large"]});
    json!({"Resources": {
        "C": {"Type": "AWS::EKS::Cluster", "Properties": {"Name": "shop", "Version": "1.31"}},
        "NG": {"Type": "AWS::EKS::Nodegroup", "Properties": with(own, group)}}})
    .to_string()
}

/// A plan with this cluster and a node group, which it creates or not.
fn plan(group: &Value, action: &str) -> String {
    let own = json!({"cluster_name": "shop", "node_role_arn": ROLE, "ami_type": "AL2023_x86_64_STANDARD",
        "instance_types": ["m7i.large"]});
    let of =
        |kind: &str, values: Value| json!({"address": format!("{kind}.a"), "type": kind, "values": values});
    let cluster = json!({"name": "shop", "version": "1.31"});
    json!({"format_version": "1.2", "configuration": {"root_module": {}},
        "planned_values": {"root_module": {"resources": [of("aws_eks_cluster", cluster),
            of("aws_eks_node_group", with(own, group))]}},
        "resource_changes": [{"address": "aws_eks_node_group.a", "type": "aws_eks_node_group",
            "change": {"actions": [action]}}]})
    .to_string()
}

/// A preview with this cluster and a node group; `id` is that of a group that exists.
fn preview(group: &Value, id: &str) -> String {
    let own = json!({"clusterName": "shop", "nodeRoleArn": ROLE, "amiType": "AL2023_x86_64_STANDARD",
        "instanceTypes": ["m7i.large"]});
    let step = |kind: &str, id: &str, inputs: Value| {
        let urn = format!("urn:pulumi:dev::p::{kind}::a");
        json!({"op": "create", "urn": urn, "newState": {"urn": urn, "type": kind, "id": id, "inputs": inputs}})
    };
    json!({"config": {"aws:region": "eu-west-1"}, "steps": [
        step("aws:eks/cluster:Cluster", "shop", json!({"name": "shop", "version": "1.31"})),
        step("aws:eks/nodeGroup:NodeGroup", id, with(own, group))]})
    .to_string()
}

/// Manifests of Crossplane with this cluster and a node group.
fn manifests(group: &str) -> String {
    format!(
        "apiVersion: eks.aws.upbound.io/v1beta1\nkind: Cluster\nmetadata: {{ name: c, annotations: {{ crossplane.io/external-name: shop }} }}\n\
         spec: {{ forProvider: {{ region: eu-west-1, version: \"1.31\" }} }}\n---\napiVersion: eks.aws.upbound.io/v1beta1\nkind: NodeGroup\n\
         metadata: {{ name: web }}\nspec:\n  forProvider:\n    region: eu-west-1\n    clusterNameRef: {{ name: c }}\n    \
         nodeRoleArnRef: {{ name: nodes }}\n{group}"
    )
}

fn rancher(group: &str) -> String {
    format!(
        "apiVersion: eks.cattle.io/v1\nkind: EKSClusterConfig\nspec:\n  displayName: shop\n  kubernetesVersion: \"1.31\"\n  nodeGroups:\n  \
         - nodegroupName: ng\n{group}"
    )
}

#[test]
fn groups_that_eks_accepts_have_no_problems() {
    for text in [
        stack(&json!({})),
        stack(
            &json!({"Version": "1.31", "CapacityType": "SPOT", "Labels": {"team": "web"},
            "Taints": [{"Key": "a", "Value": "b", "Effect": "NO_SCHEDULE"}]}),
        ),
        stack(&json!({"NodeRole": {"Fn::ImportValue": "role"}, "InstanceTypes": {"Ref": "AWS::NoValue"}})),
        plan(&json!({"version": "1.31", "labels": {"team": "web"}}), "create"),
        plan(&json!({"ami_type": "AL2_x86_64", "version": "1.30"}), "no-op"),
        preview(&json!({}), ""),
        manifests(
            "    amiType: AL2023_ARM_64_STANDARD\n    instanceTypes: [m7g.large]\n    labels: { team: web }\n",
        ),
        rancher("    instanceType: t4g.medium\n    arm: true\n"),
        rancher(
            "    instanceType: t3.medium\n    version: \"1.31\"\n    nodeRole: arn:aws:iam::111122223333:role/nodes\n",
        ),
    ] {
        assert_eq!(machine(&text).problems, Vec::<String>::new(), "{text}");
    }
}

#[test]
fn each_tool_states_what_eks_refuses() {
    let architecture = "is one for x86_64, and the instance type m7g.large has arm64";
    let newer = "its version 1.33 is newer than that of its cluster, 1.31";
    let spelling = "did you mean `m7i.large`?";
    for (text, problem) in [
        (stack(&json!({"InstanceTypes": ["m7g.large"]})), architecture),
        (stack(&json!({"InstanceTypes": ["m7i.lrage"]})), spelling),
        (stack(&json!({"Version": "1.33"})), newer),
        (stack(&json!({"CapacityType": "Spot"})), "did you mean `SPOT`?"),
        (
            stack(&json!({"AmiType": "AL2023"})),
            "EKS refuses the AMI type `AL2023`",
        ),
        (
            stack(&json!({"Labels": {"team": "a b"}})),
            "its label `team` has the value `a b`",
        ),
        (
            stack(&json!({"NodeRole": "nodes"})),
            "`nodes`, which it states as the role of its nodes, is a name",
        ),
        (
            stack(&json!({"InstanceTypes": "m7i.large"})),
            "its `InstanceTypes` is text, and must be a list",
        ),
        (
            stack(&json!({"Labels": [{"Key": "team", "Value": "web"}]})),
            "its `Labels` is a list, and must be a mapping of keys to values",
        ),
        (
            stack(&json!({"ClusterName": "shop-prod"})),
            "the node group names the cluster `shop-prod`, and the only cluster of the file is `shop`",
        ),
        (
            plan(&json!({"instance_types": ["m7g.large"]}), "create"),
            architecture,
        ),
        (
            plan(&json!({"instance_types": ["m7i.lrage"]}), "create"),
            spelling,
        ),
        (plan(&json!({"version": "1.33"}), "create"), newer),
        (
            plan(&json!({"ami_type": "AL2_x86_64", "version": "1.33"}), "create"),
            "its AMI type AL2_x86_64 is for Kubernetes 1.32 and earlier",
        ),
        (
            plan(
                &json!({"node_role_arn": "arn:aws:iam::111122223333:instance-profile/nodes"}),
                "create",
            ),
            "is the ARN of an instance profile",
        ),
        (
            plan(&json!({"labels": {"team": "a b"}}), "create"),
            "its label `team`",
        ),
        (
            plan(&json!({"cluster_name": "shp"}), "create"),
            "names the cluster `shp`",
        ),
        (
            preview(&json!({"instanceTypes": ["m7g.large"]}), ""),
            architecture,
        ),
        (
            preview(&json!({"instanceTypes": ["m7g.large"]}), "shop:a"),
            architecture,
        ),
        (preview(&json!({"version": "1.33"}), ""), newer),
        (
            preview(&json!({"clusterName": "shp"}), ""),
            "names the cluster `shp`",
        ),
        (
            manifests("    amiType: AL2023_x86_64_STANDARD\n    instanceTypes: [m7g.large]\n"),
            architecture,
        ),
        (
            manifests(
                "    taint: [{ key: a, value: b, effect: NoSchedule }]\n    instanceTypes: [m7i.large]\n",
            ),
            "EKS refuses the effect `NoSchedule` of a taint",
        ),
        (
            manifests("    instanceTypes: m7i.large\n"),
            "its `instance_types` is text",
        ),
        (
            manifests("    instanceTypes: [t4g.medium]\n"),
            "it states no AMI type",
        ),
        (
            rancher("    instanceType: t3.medium\n    arm: true\n"),
            "t3.medium has x86_64",
        ),
        (
            rancher("    instanceType: t3.meduim\n"),
            "did you mean `t3.medium`?",
        ),
    ] {
        let found = found(&text);
        assert!(found.contains(problem), "{text}\n{found}");
    }
    let group = "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: { name: c1, region: us-west-2, version: \"1.32\" }\n\
                 nodeGroups:\n  - { name: ng, amiFamily: AmazonLinux2023, instanceType: m7i.lrage }\n";
    assert!(found(group).contains(spelling));
}

#[test]
fn a_group_of_another_cluster_is_no_mistake_if_its_name_is_a_value() {
    let mut plan: Value = serde_json::from_str(&plan(&json!({"cluster_name": "shp"}), "create")).unwrap();
    plan["configuration"]["root_module"]["resources"] = json!([{"address": "aws_eks_node_group.a", "expressions": {"cluster_name": {"references": ["var.name"]}}}]);
    assert_eq!(found(&plan.to_string()), "");
    let mut stack: Value = serde_json::from_str(&stack(&json!({"ClusterName": {"Ref": "Name"}}))).unwrap();
    stack["Parameters"] = json!({"Name": {"Type": "String", "Default": "other"}});
    assert_eq!(found(&stack.to_string()), "");
    stack["Resources"]["NG"]["Properties"]["ClusterName"] = json!("other");
    stack["Resources"]["D"] = stack["Resources"]["C"].clone();
    assert_eq!(found(&stack.to_string()), "");
}

#[test]
fn the_role_of_a_group_needs_the_trust_of_ec2_and_the_rights_of_nodeadm() {
    let trust = |service: &str| json!({"Statement": [{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}]});
    let arn = |name: &str| format!("arn:aws:iam::aws:policy/{name}");
    let of_stack = |service: &str, role: Value| {
        let mut text: Value =
            serde_json::from_str(&stack(&json!({"NodeRole": {"Fn::GetAtt": ["R", "Arn"]}}))).unwrap();
        let own = json!({"AssumeRolePolicyDocument": trust(service)});
        text["Resources"]["R"] = json!({"Type": "AWS::IAM::Role", "Properties": with(own, &role)});
        report(&text.to_string())
    };
    let of_plan = |service: &str, policy: &str| {
        let mut text: Value = serde_json::from_str(&plan(&json!({}), "create")).unwrap();
        let role = json!({"name": "nodes", "arn": ROLE, "assume_role_policy": trust(service).to_string()});
        let attachment = json!({"role": "nodes", "policy_arn": arn(policy)});
        let resources = &mut text["planned_values"]["root_module"]["resources"];
        for (kind, values) in [
            ("aws_iam_role", role),
            ("aws_iam_role_policy_attachment", attachment),
        ] {
            let resource = json!({"address": format!("{kind}.r"), "type": kind, "values": values});
            resources.as_array_mut().unwrap().push(resource);
        }
        report(&text.to_string())
    };
    let managed = |name: &str| json!({"ManagedPolicyArns": [arn(name)]});
    let inside = |action: &str| {
        let document = json!({"Statement": [{"Effect": "Allow", "Action": [action], "Resource": "*"}]});
        json!({"Policies": [{"PolicyName": "p", "PolicyDocument": document}]})
    };
    let (ec2, eks) = ("ec2.amazonaws.com", "eks.amazonaws.com");
    let (worker, registry) = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryReadOnly");
    let no_trust = "EC2 cannot assume the role";
    let no_right = "that allows ec2:DescribeInstances, only";
    for found in [of_stack(eks, managed(worker)), of_plan(eks, worker)] {
        assert!(
            found.contains(no_trust) && found.contains("EKS creates no node group with it"),
            "{found}"
        );
        assert!(!found.contains(no_right), "{found}");
    }
    for found in [
        of_stack(ec2, managed(registry)),
        of_stack(ec2, inside("eks:Describe*")),
        of_plan(ec2, registry),
    ] {
        assert!(found.contains(no_right) && !found.contains(no_trust), "{found}");
    }
    // The policy of the CNI has the right.
    for found in [
        of_stack(ec2, managed("AmazonEKS_CNI_Policy")),
        of_stack(ec2, inside("ec2:Describe*")),
        of_plan(ec2, "AmazonEKS_CNI_Policy"),
    ] {
        assert!(!found.contains(no_right), "{found}");
    }
    let of_eksctl = |iam: &str| {
        report(&format!(
            "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: {{ name: c1, region: us-west-2, version: \"1.32\" }}\n\
             managedNodeGroups:\n- name: ng\n  instanceType: m5.large\n  iam: {{ {iam} }}\n"
        ))
    };
    let own = format!("attachPolicyARNs: [\"{}\"]", arn(registry));
    assert!(of_eksctl(&own).contains(no_right));
    for iam in [
        format!("attachPolicyARNs: [\"{}\"]", arn(worker)),
        format!("{own}, withAddonPolicies: {{ ebs: true }}"),
        "withAddonPolicies: { autoScaler: true }".to_owned(),
    ] {
        assert!(!of_eksctl(&iam).contains(no_right), "{iam}");
    }
}

#[test]
fn the_instance_types_of_a_mixed_group_are_checked() {
    let image = "resolve:ssm:/aws/service/eks/optimized-ami/1.31/amazon-linux-2023/x86_64/standard/recommended/image_id";
    let of = |overrides: Value| {
        let data = json!({"ImageId": image, "UserData": base64(SCRIPT)});
        let policy = json!({"LaunchTemplate": {
            "LaunchTemplateSpecification": {"LaunchTemplateId": {"Ref": "LT"}, "Version": "1"}, "Overrides": overrides}});
        let text = json!({"Resources": {
            "LT": {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": data}},
            "G": {"Type": "AWS::AutoScaling::AutoScalingGroup", "Properties": {"MixedInstancesPolicy": policy}}}});
        machine(&text.to_string()).problems.join("\n")
    };
    assert_eq!(of(json!([{"InstanceType": "m7i.large"}])), "");
    assert!(of(json!([{"InstanceType": "m7i.large"}, {"InstanceType": "m5.lrage"}])).contains("`m5.large`?"));
    let arm64 = json!({"InstanceType": "m7g.large"});
    assert!(of(json!([arm64])).contains("is one for x86_64, and the instance type m7g.large has arm64"));
    let own = with(
        arm64,
        &json!({"LaunchTemplateSpecification": {"LaunchTemplateName": "arm64"}}),
    );
    assert_eq!(of(json!([own])), "");
}
