//! Node groups that EKS refuses because of their launch template.

use serde_json::{Value, json};

use super::{base64, read, refused};

/// User data for a managed node group.
const MESSAGE: &str = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\nContent-Type: text/x-shellscript\n\n\
                       #!/bin/bash\necho\n--B--\n";

/// A template with a launch template and a node group of it, each property in a line.
fn stack(data: &Value, group: &Value) -> String {
    let mut data = data.clone();
    data["UserData"] = base64(MESSAGE).into();
    let mut group = group.clone();
    group["LaunchTemplate"] = json!({"Id": {"Ref": "LT"}});
    let resources = json!({"Resources": {
        "LT": {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": data}},
        "NG": {"Type": "AWS::EKS::Nodegroup", "Properties": group}}});
    serde_json::to_string_pretty(&resources).unwrap()
}

/// A plan with a launch template and a node group of it.
fn plan(values: &Value, group: &Value, action: &str) -> String {
    let mut values = values.clone();
    values["user_data"] = base64(MESSAGE).into();
    values["id"] = "lt-1".into();
    let mut group = group.clone();
    group["launch_template"] = json!([{"id": "lt-1"}]);
    let of =
        |kind: &str, values: Value| json!({"address": format!("{kind}.a"), "type": kind, "values": values});
    json!({"format_version": "1.2",
        "planned_values": {"root_module": {"resources": [of("aws_launch_template", values), of("aws_eks_node_group", group)]}},
        "resource_changes": [{"address": "aws_eks_node_group.a", "type": "aws_eks_node_group", "change": {"actions": [action]}}]})
    .to_string()
}

#[test]
fn settings_that_exclude_each_other_are_refused() {
    let image = "ami-0123456789abcdef0";
    for (data, group, problem) in [
        (
            json!({"IamInstanceProfile": {"Arn": {"Fn::GetAtt": ["Profile", "Arn"]}}}),
            json!({}),
            "its launch template has an instance profile",
        ),
        (
            json!({"NetworkInterfaces": [{"DeviceIndex": 0}, {"SubnetId": "subnet-1"}]}),
            json!({}),
            "has a subnet",
        ),
        (
            json!({"InstanceInitiatedShutdownBehavior": "terminate"}),
            json!({}),
            "at shutdown",
        ),
        (
            json!({"HibernationOptions": {"Configured": true}}),
            json!({}),
            "hibernate",
        ),
        (
            json!({"InstanceMarketOptions": {"MarketType": "spot"}}),
            json!({}),
            "instance market options",
        ),
        (
            json!({"InstanceType": "m5.large"}),
            json!({"InstanceTypes": ["m5.large"]}),
            "both the group and its launch template state instance types",
        ),
        (json!({}), json!({"DiskSize": 50}), "a disk size"),
        (
            json!({}),
            json!({"RemoteAccess": {"Ec2SshKey": "key"}}),
            "remote access",
        ),
        (
            json!({"ImageId": image}),
            json!({"AmiType": "AL2_x86_64"}),
            "it states an AMI type",
        ),
        (
            json!({"ImageId": image}),
            json!({"Version": "1.31"}),
            "a Kubernetes version",
        ),
        (
            json!({"ImageId": image}),
            json!({"ReleaseVersion": "1.31.0-20250920"}),
            "a release version",
        ),
    ] {
        let refused = refused("t.json", &stack(&data, &group));
        assert!(
            refused.starts_with("line ") && refused.contains("EKS refuses the node group `NG`: "),
            "{refused}"
        );
        assert!(refused.contains(problem), "{refused}");
    }
}

#[test]
fn what_eks_accepts_is_not_refused() {
    let no_value = json!({"Ref": "AWS::NoValue"});
    for (data, group) in [
        (
            json!({"InstanceType": "m5.large"}),
            json!({"AmiType": "AL2023_x86_64_STANDARD", "Version": "1.31"}),
        ),
        (
            json!({}),
            json!({"InstanceTypes": ["m5.large"], "DiskSize": no_value}),
        ),
        (
            json!({"ImageId": "ami-0123456789abcdef0", "IamInstanceProfile": no_value}),
            json!({"AmiType": "CUSTOM"}),
        ),
        (
            json!({"InstanceMarketOptions": {"MarketType": "capacity-block"}}),
            json!({}),
        ),
        (
            json!({"NetworkInterfaces": [{"DeviceIndex": 0, "Groups": ["sg-1"]}], "HibernationOptions": {"Configured": false}}),
            json!({}),
        ),
    ] {
        assert_eq!(read(&stack(&data, &group)).machines.len(), 1);
    }
    let twice = (
        json!({"instance_type": "m5.large"}),
        json!({"instance_types": ["m5.large"]}),
    );
    let refused = refused("plan.json", &plan(&twice.0, &twice.1, "create"));
    assert!(
        refused.contains(
            "EKS refuses the node group `aws_eks_node_group.a`: both the group and its launch template"
        ),
        "{refused}"
    );
    // EKS states values of its own in a group that exists.
    let existing = (
        json!({"image_id": "ami-1", "iam_instance_profile": []}),
        json!({"ami_type": "CUSTOM", "version": "1.31", "release_version": "ami-1", "disk_size": 20}),
    );
    assert_eq!(read(&plan(&existing.0, &existing.1, "no-op")).machines.len(), 1);
}

/// A preview of a launch template and of a node group of it; `id` is that of a group that exists.
fn preview(inputs: &Value, group: &Value, id: &str) -> String {
    let mut inputs = inputs.clone();
    inputs["userData"] = base64(MESSAGE).into();
    let mut group = group.clone();
    group["launchTemplate"] = json!({"id": "lt-1"});
    let step = |kind: &str, name: &str, id: &str, inputs: Value| {
        let urn = format!("urn:pulumi:dev::p::{kind}::{name}");
        json!({"op": "create", "urn": urn, "newState":
            {"urn": urn, "type": kind, "id": id, "inputs": inputs, "outputs": {"id": id}}})
    };
    json!({"config": {"aws:region": "eu-west-1"}, "steps": [
        step("aws:ec2/launchTemplate:LaunchTemplate", "template", "lt-1", inputs),
        step("aws:eks/nodeGroup:NodeGroup", "web", id, group)]})
    .to_string()
}

#[test]
fn a_preview_of_a_group_that_eks_refuses_is_refused() {
    for (inputs, group, problem) in [
        (
            json!({"iamInstanceProfile": {"arn": "arn:aws:iam::111122223333:instance-profile/nodes"}}),
            json!({}),
            "its launch template has an instance profile",
        ),
        (
            json!({"networkInterfaces": [{"deviceIndex": 0}, {"subnetId": "subnet-1"}]}),
            json!({}),
            "has a subnet",
        ),
        (
            json!({"instanceInitiatedShutdownBehavior": "terminate"}),
            json!({}),
            "at shutdown",
        ),
        (
            json!({"instanceType": "m5.large"}),
            json!({"instanceTypes": ["m5.large"]}),
            "both the group and its launch template state instance types",
        ),
        (
            json!({}),
            json!({"remoteAccess": {"ec2SshKey": "key"}}),
            "remote access",
        ),
    ] {
        let text = preview(&inputs, &group, "");
        let refused = refused("preview.json", &text);
        assert!(
            refused.contains("EKS refuses the node group `web`: ") && refused.contains(problem),
            "{refused}"
        );
        assert_eq!(read(&preview(&inputs, &group, "web")).machines.len(), 1);
    }
}

/// A launch template that no group of the file uses can be one of a group elsewhere.
#[test]
fn a_launch_template_that_every_group_excludes_has_notes() {
    let notes = |text: &str| -> Vec<String> {
        let machines = read(text).machines.into_iter();
        let notes = machines.flat_map(|machine| machine.notes);
        notes.filter(|note| note.starts_with("EKS refuses")).collect()
    };
    let alone = |data: Value| {
        let resource =
            json!({"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": data}});
        serde_json::to_string_pretty(&json!({"Resources": {"LT": resource}})).unwrap()
    };
    let version = |data: Value| {
        json!({"LaunchTemplateVersions": [{"LaunchTemplateName": "a", "VersionNumber": 1, "LaunchTemplateData": data}]}).to_string()
    };
    let spot = json!({"InstanceMarketOptions": {"MarketType": "spot"}});
    let profile = json!({"IamInstanceProfile": {"Name": "nodes"}, "UserData": base64(MESSAGE)});
    let of_spot = notes(&alone(spot.clone()));
    let begin = "EKS refuses every managed node group with this launch template: it has instance market options (line ";
    assert!(
        of_spot.len() == 1 && of_spot[0].starts_with(begin) && of_spot[0].ends_with("of the group to SPOT"),
        "{of_spot:?}"
    );
    for text in [alone(profile.clone()), version(profile.clone())] {
        let notes = notes(&text);
        assert!(
            notes.len() == 1 && notes[0].contains("it has an instance profile (line "),
            "{notes:?}"
        );
    }
    let manifest = "apiVersion: ec2.aws.upbound.io/v1beta1\nkind: LaunchTemplate\nmetadata: { name: lt }\nspec:\n  forProvider:\n    region: us-west-2\n    \
                    instanceMarketOptions: [{ marketType: spot }]\n    iamInstanceProfile: [{ name: p }]\n";
    assert_eq!(notes(manifest).len(), 2);
    let with_image = |mut data: Value| {
        data["ImageId"] = "ami-0123456789abcdef0".into();
        data
    };
    for text in [
        alone(with_image(spot.clone())),
        version(with_image(profile)),
        alone(json!({"InstanceType": "m5.large"})),
        alone(json!({"InstanceMarketOptions": {"MarketType": "capacity-block"}})),
        stack(&json!({"InstanceType": "m5.large"}), &json!({})),
    ] {
        assert_eq!(notes(&text), [""; 0], "{text}");
    }
}

#[test]
fn all_settings_that_are_refused_are_named_at_once() {
    let data = json!({"IamInstanceProfile": {"Name": "a"}, "InstanceType": "m5.large"});
    let group = json!({"InstanceTypes": ["m5.large"], "DiskSize": 50});
    let refused = refused("t.json", &stack(&data, &group));
    for problem in [
        "EKS refuses the node group `NG`: its launch template has an instance profile; ",
        "; both the group and its launch template state instance types (line ",
        "; it states a disk size and has a launch template (line ",
        "; the other settings must go as well",
    ] {
        assert!(refused.contains(problem), "{refused}");
    }
}

#[test]
fn a_new_group_for_arm64_without_an_instance_type_is_noted() {
    let problem = "EKS refuses the node group: neither it nor a launch template states an instance type";
    let is_noted = |text: &str| {
        let machines = read(text).machines;
        machines[0].problems.iter().any(|one| one.starts_with(problem))
    };
    let arm64 = || json!({"AmiType": "AL2023_ARM_64_STANDARD"});
    assert!(is_noted(&stack(&json!({}), &arm64())));
    let alone = json!({"Resources": {"NG": {"Type": "AWS::EKS::Nodegroup", "Properties": arm64()}}});
    assert!(is_noted(&alone.to_string()));
    let with = |key: &str, value: Value| {
        let mut group = arm64();
        group[key] = value;
        group
    };
    for (data, group) in [
        (json!({}), with("AmiType", json!("AL2023_x86_64_STANDARD"))),
        (json!({}), with("InstanceTypes", json!(["m6g.large"]))),
        // Only CloudFormation knows them.
        (
            json!({}),
            with("InstanceTypes", json!({"Fn::ImportValue": "types"})),
        ),
        (json!({"InstanceType": "m6g.large"}), arm64()),
        (
            json!({"InstanceRequirements": {"VCpuCount": {"Min": 2}}}),
            arm64(),
        ),
    ] {
        assert!(!is_noted(&stack(&data, &group)), "{data} {group}");
    }
    let arm64 = json!({"ami_type": "BOTTLEROCKET_ARM_64"});
    assert!(is_noted(&plan(&json!({}), &arm64, "create")));
    // EKS has accepted a group that exists.
    assert!(!is_noted(&plan(&json!({}), &arm64, "no-op")));
    assert!(!is_noted(&plan(
        &json!({"instance_type": "m6g.large"}),
        &arm64,
        "create"
    )));
    let unknown = |expressions: Value| {
        let mut plan: Value = serde_json::from_str(&plan(&json!({}), &arm64, "create")).unwrap();
        plan["resource_changes"][0]["change"]["after_unknown"] = json!({"instance_types": true});
        plan["configuration"] = json!({"root_module": {"resources": [
            {"address": "aws_eks_node_group.a", "expressions": expressions}]}});
        plan.to_string()
    };
    assert!(is_noted(&unknown(json!({}))));
    assert!(!is_noted(&unknown(
        json!({"instance_types": {"references": ["var.types"]}})
    )));
    let pulumi = |more: Value| {
        let mut group = json!({"urn": "urn:pulumi:dev::p::aws:eks/nodeGroup:NodeGroup::ng",
            "type": "aws:eks/nodeGroup:NodeGroup", "inputs": {"amiType": "AL2_ARM_64"}});
        for (key, value) in more.as_object().unwrap() {
            group[key] = value.clone();
        }
        json!({"version": 3, "deployment": {"resources": [group]}}).to_string()
    };
    assert!(is_noted(&pulumi(json!({}))));
    assert!(!is_noted(&pulumi(json!({"id": "demo:ng"}))));
    let typed = json!({"inputs": {"amiType": "AL2_ARM_64", "instanceTypes": ["m6g.large"]}});
    assert!(!is_noted(&pulumi(typed)));
}
