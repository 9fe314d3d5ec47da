//! Groups whose launch template is not in the file, or depends on a condition of CloudFormation.

use serde_json::json;

use super::templates::{HEAD, names, with_script};
use super::{SCRIPT, base64, read, read_with, refused};

/// A node group and an Auto Scaling group with this reference to a launch template.
fn groups(reference: &str) -> String {
    format!(
        "  NG:\n    Type: AWS::EKS::Nodegroup\n    Properties: {{ LaunchTemplate: {{ Id: {reference} }} }}\n  \
         ASG:\n    Type: AWS::AutoScaling::AutoScalingGroup\n    \
         Properties: {{ LaunchTemplate: {{ LaunchTemplateId: {reference}, Version: \"1\" }} }}\n"
    )
}

#[test]
fn a_group_of_a_launch_template_that_only_cloudformation_knows_is_not_tried() {
    let nested = "  Nested:\n    Type: AWS::CloudFormation::Stack\n    Properties: { TemplateURL: nested/lt.yaml }\n  \
                  Custom: { Type: Custom::LaunchTemplate }\n";
    let unnamed = "a launch template that the file does not name: ";
    for (reference, place, hint) in [
        (
            "!GetAtt Nested.Outputs.Id",
            "a launch template of the nested stack `Nested`".to_owned(),
            "try the template of that stack, `nested/lt.yaml`, or give the output of `aws ec2 describe-launch-template-versions`",
        ),
        (
            "!ImportValue shared-lt",
            format!("{unnamed}another stack exports `shared-lt`"),
            "try the template that defines it, or give its value: `--set shared-lt=VALUE`; `aws cloudformation list-exports` shows it",
        ),
        (
            "!Ref Missing",
            format!("{unnamed}parameter `Missing` has no default"),
            "try the template that defines it, or give its value: `--set Missing=VALUE`",
        ),
        (
            "!If [Open, lt-0abc, !Ref LT]",
            format!("{unnamed}parameter `Missing` has no default"),
            "try the template that defines it, or give its value: `--set Missing=VALUE`",
        ),
        (
            "!Ref Custom",
            format!("{unnamed}CloudFormation knows `Custom` when it has created the resource"),
            "try the template that defines it, or give its value: `--set Custom=VALUE`",
        ),
        (
            "!GetAtt Custom.Id",
            format!("{unnamed}CloudFormation knows `Custom.Id` when it has created the resource"),
            "try the template that defines it, or give its value: `--set Custom.Id=VALUE`",
        ),
    ] {
        let more = format!("{nested}{}", groups(reference));
        let both = read(&format!("{}{more}", with_script(SCRIPT)));
        assert_eq!(names(&both), ["LT"], "{reference}");
        let found: Vec<_> = both.unread.iter().map(|unread| unread.name.as_str()).collect();
        assert_eq!(found, ["NG", "ASG"], "{reference}");
        for (unread, owner) in both
            .unread
            .iter()
            .zip(["node group `NG`", "Auto Scaling group `ASG`"])
        {
            let expected = format!("the user data of {owner} is in {place}");
            assert!(unread.error.to_string().ends_with(&expected), "{}", unread.error);
            assert_eq!(unread.error.hint(), hint);
            assert!(!unread.error.is_mistake() && unread.error.line().is_some());
        }
        let alone = refused("t.yaml", &format!("{HEAD}{more}"));
        assert!(alone.contains(&place), "{alone}");
    }
    // With the value, the launch template has an id.
    for (reference, name) in [
        ("!GetAtt Nested.Outputs.Id", "Nested.Outputs.Id"),
        ("!ImportValue shared-lt", "shared-lt"),
        ("!Ref Missing", "Missing"),
    ] {
        let text = format!("{}{nested}{}", with_script(SCRIPT), groups(reference));
        let both = read_with("t.yaml", text.as_bytes(), &[(name, "lt-0abc")]).unwrap();
        let errors = both.unread.iter().map(|unread| unread.error.to_string());
        let errors: Vec<_> = errors
            .filter(|error| error.ends_with("in launch template `lt-0abc`"))
            .collect();
        assert_eq!(errors.len(), 2, "{:?}", both.unread);
    }
}

#[test]
fn the_template_of_a_nested_stack_of_the_cdk_is_named() {
    let nested = "  Nested:\n    Type: AWS::CloudFormation::Stack\n    Metadata: { \"aws:asset:path\": S.nested.template.json }\n    \
                  Properties: { TemplateURL: !Sub \"https://assets.s3.amazonaws.com/0123.json\" }\n";
    let error = refused(
        "t.yaml",
        &format!("{HEAD}{nested}{}", groups("!GetAtt [Nested, Outputs.Id]")),
    );
    assert!(
        error.contains("try the template of that stack, `S.nested.template.json`, or"),
        "{error}"
    );
}

#[test]
fn a_condition_decides_whether_a_group_has_a_launch_template() {
    let group = |template: &str| {
        let group = "  NG:\n    Type: AWS::EKS::Nodegroup\n    Properties: { LaunchTemplate: TEMPLATE }\n";
        read(&format!(
            "{}{}",
            with_script(SCRIPT),
            group.replace("TEMPLATE", template)
        ))
    };
    let outside = group("!If [Holds, { Id: lt-0abc }, !Ref AWS::NoValue]");
    assert_eq!((names(&outside), outside.unread.len()), (vec!["LT"], 1));
    let none = group("!If [Holds, !Ref AWS::NoValue, { Id: lt-0abc }]");
    assert_eq!((names(&none), none.unread.len()), (vec!["LT", "NG"], 0));
    assert_eq!(none.machines[1].managed.clone().unwrap().launch_template, None);
    let own = group("!If [Holds, { Id: !Ref LT }, !Ref AWS::NoValue]");
    assert_eq!((names(&own), own.unread.len()), (vec!["LT"], 0));
    assert_eq!(own.machines[0].started_by, crate::StartedBy::NodeGroup);
}

#[test]
fn a_launch_template_has_the_group_that_states_its_name_by_the_same_function() {
    let group = "  NG:\n    Type: AWS::EKS::Nodegroup\n    Properties: { LaunchTemplate: { Name: !Sub \"${Missing}-nodes\" } }\n";
    let text = format!("{}{group}", with_script(SCRIPT));
    let text = text.replace(
        "LaunchTemplateName: nodes",
        "LaunchTemplateName: !Sub \"${Missing}-nodes\"",
    );
    let own = read(&text);
    assert_eq!((names(&own), own.unread.len()), (vec!["LT"], 0));
    assert_eq!(own.machines[0].started_by, crate::StartedBy::NodeGroup);
}

#[test]
fn an_auto_scaling_group_of_a_launch_configuration_outside_of_the_file_is_named() {
    let group = "  ASG:\n    Type: AWS::AutoScaling::AutoScalingGroup\n    Properties: { LaunchConfigurationName: old-nodes }\n";
    let error = refused("t.yaml", &format!("{HEAD}{group}"));
    assert!(
        error.ends_with(
            "the user data of Auto Scaling group `ASG` is in launch configuration `old-nodes`\n  hint: give the output of \
             `aws autoscaling describe-launch-configurations --launch-configuration-names old-nodes`"
        ),
        "{error}"
    );
    let configuration = format!(
        "  LC:\n    Type: AWS::AutoScaling::LaunchConfiguration\n    Properties:\n      LaunchConfigurationName: old-nodes\n      \
         ImageId: ami-1\n      UserData: {}\n",
        base64(SCRIPT)
    );
    let own = read(&format!("{HEAD}{configuration}{group}"));
    assert_eq!((names(&own), own.unread.len()), (vec!["LC"], 0));
    assert_eq!(own.machines[0].started_by, crate::StartedBy::ScalingGroups);
    let absent = group.replace("    Properties", "    Condition: Never\n    Properties");
    let absent = format!("{}{absent}", with_script(SCRIPT));
    let absent = read(&absent.replace("  Holds:", "  Never: !Equals [a, b]\n  Holds:"));
    assert_eq!((names(&absent), absent.unread.len()), (vec!["LT"], 0));
}

#[test]
fn a_launch_template_outside_of_the_file_is_not_a_mistake_in_any_format() {
    let eksctl = "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: { name: demo, region: us-west-2, version: \"1.33\" }\n\
                  managedNodeGroups:\n- { name: b, launchTemplate: { id: lt-0abc } }\n";
    let rancher = "apiVersion: eks.cattle.io/v1\nkind: EKSClusterConfig\nspec:\n  displayName: demo\n  nodeGroups:\n  \
                   - { nodegroupName: b, launchTemplate: { id: lt-0abc } }\n";
    let karpenter = "apiVersion: karpenter.k8s.aws/v1alpha1\nkind: AWSNodeTemplate\nmetadata: { name: b }\nspec: { launchTemplate: lt-0abc }\n";
    let inline = "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: { name: b }\nspec: { provider: { launchTemplate: lt-0abc } }\n";
    let class = "---\napiVersion: karpenter.k8s.aws/v1alpha1\nkind: AWSNodeTemplate\nmetadata: { name: a }\nspec: { amiFamily: AL2 }\n";
    for (alone, more) in [
        (eksctl, "- { name: a, instanceType: m5.large }\n"),
        (rancher, "  - { nodegroupName: a, instanceType: m5.large }\n"),
        (karpenter, class),
        (inline, class),
    ] {
        let error = refused("f", alone);
        assert!(
            error.contains("is in launch template `lt-0abc`\n")
                && error.ends_with("describe-launch-template-versions --launch-template-id lt-0abc`"),
            "{error}"
        );
        let both = read(&format!("{alone}{more}"));
        assert_eq!((both.machines.len(), both.unread.len()), (1, 1), "{both:?}");
        let unread = &both.unread[0];
        assert!(unread.name.ends_with('b'), "{unread:?}");
        assert!(!unread.error.is_mistake(), "{unread:?}");
    }
}

#[test]
fn groups_of_a_launch_template_outside_of_a_state_or_a_stack_are_named() {
    let own = base64(SCRIPT);
    let of_terraform = |kind: &str, name: &str, values: serde_json::Value| json!({"address": format!("{kind}.{name}"), "type": kind, "values": values});
    let resources = [
        of_terraform(
            "aws_launch_template",
            "lt",
            json!({"id": "lt-1", "image_id": "ami-1", "user_data": own}),
        ),
        of_terraform(
            "aws_eks_node_group",
            "own",
            json!({"launch_template": [{"id": "lt-1"}]}),
        ),
        of_terraform(
            "aws_eks_node_group",
            "ng",
            json!({"launch_template": [{"id": "lt-0abc"}]}),
        ),
        of_terraform(
            "aws_autoscaling_group",
            "asg",
            json!({"launch_template": [{"name": "shared"}]}),
        ),
    ];
    let state = json!({"format_version": "1.0", "values": {"root_module": {"resources": resources}}});
    let of_pulumi = |kind: &str, name: &str, inputs: serde_json::Value| json!({"urn": format!("urn:pulumi:dev::p::{kind}::{name}"), "type": kind, "inputs": inputs, "outputs": {"id": name}});
    let node_group = "aws:eks/nodeGroup:NodeGroup";
    let scaling = "aws:autoscaling/group:Group";
    let resources = [
        of_pulumi(
            "aws:ec2/launchTemplate:LaunchTemplate",
            "lt",
            json!({"imageId": "ami-1", "userData": own}),
        ),
        of_pulumi(node_group, "own", json!({"launchTemplate": {"id": "lt"}})),
        of_pulumi(node_group, "ng", json!({"launchTemplate": {"id": "lt-0abc"}})),
        of_pulumi(scaling, "asg", json!({"launchTemplate": {"name": "shared"}})),
    ];
    let stack = json!({"version": 3, "deployment": {"resources": resources}});
    for text in [state.to_string(), stack.to_string()] {
        let found = read(&text);
        assert_eq!(found.machines.len(), 1, "{found:?}");
        let [group, scaling] = &found.unread[..] else {
            panic!("{found:?}");
        };
        assert!(
            group.name.ends_with("ng") && scaling.name.ends_with("asg"),
            "{found:?}"
        );
        let error = group.error.to_string();
        assert!(
            error.contains("node group `") && error.ends_with("in launch template `lt-0abc`"),
            "{error}"
        );
        let error = scaling.error.to_string();
        assert!(
            error.contains("Auto Scaling group `") && error.ends_with("in launch template `shared`"),
            "{error}"
        );
    }
}

/// A template with a launch template of this data, and further resources.
fn stack(data: &str, more: &str) -> String {
    format!(
        "Parameters:\n  Image:\n    Type: AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>\n    \
         Default: /aws/service/eks/optimized-ami/1.31/amazon-linux-2023/arm64/standard/recommended/image_id\n\
         Resources:\n  LT:\n    Type: AWS::EC2::LaunchTemplate\n    Properties:\n      LaunchTemplateData:\n        {data}\n{more}"
    )
}

#[test]
fn an_ami_for_arm64_without_an_instance_type_has_a_stand_in_of_its_architecture() {
    let stand_in = (Some("m6g.large"), true);
    let of = |text: &str| {
        let traits = read(text).machines.remove(0).traits;
        let is_stand_in = traits.stand_ins.contains_key("instance type m6g.large");
        (traits.instance_type, is_stand_in)
    };
    let check = |text: &str, (instance_type, is_stand_in): (Option<&str>, bool)| {
        assert_eq!(
            of(text),
            (instance_type.map(str::to_owned), is_stand_in),
            "{text}"
        );
    };
    let reference = "{{resolve:ssm:/aws/service/bottlerocket/aws-k8s-1.31/arm64/latest/image_id}}";
    let image = format!("ImageId: \"{reference}\"");
    let scaling = "  G:\n    Type: AWS::AutoScaling::AutoScalingGroup\n    Properties: { LaunchTemplate: { LaunchTemplateId: !Ref LT } }\n";
    let mixed = "  G:\n    Type: AWS::AutoScaling::AutoScalingGroup\n    Properties:\n      MixedInstancesPolicy:\n        LaunchTemplate:\n          \
                 LaunchTemplateSpecification: { LaunchTemplateId: !Ref LT }\n          Overrides: [{ InstanceType: m6g.large }]\n";
    let group = |rest: &str| {
        format!(
            "  G:\n    Type: AWS::EKS::Nodegroup\n    Properties: {{ LaunchTemplate: {{ Id: !Ref LT }}{rest} }}\n"
        )
    };
    for data in [image.as_str(), "ImageId: !Ref Image"] {
        for more in ["", scaling, &group("")] {
            check(&stack(data, more), stand_in);
        }
        check(&stack(data, mixed), (Some("m6g.large"), false));
        check(
            &stack(data, &group(", InstanceTypes: [c7g.large]")),
            (Some("c7g.large"), false),
        );
    }
    let stated = "ImageId: !Ref Image\n        InstanceType: m7g.large";
    check(&stack(stated, scaling), (Some("m7g.large"), false));
    let other = "EbsOptimized: true";
    check(
        &stack(other, &group(", AmiType: AL2023_ARM_64_STANDARD")),
        stand_in,
    );
    check(
        &stack(other, &group(", AmiType: AL2023_x86_64_STANDARD")),
        (Some("t3.medium"), false),
    );
    let alone =
        "Resources:\n  G: { Type: AWS::EKS::Nodegroup, Properties: { AmiType: BOTTLEROCKET_ARM_64 } }\n";
    check(alone, stand_in);
    let configuration = "Resources:\n  C: { Type: AWS::AutoScaling::LaunchConfiguration, Properties: { ImageId: \"REFERENCE\" } }\n";
    check(&configuration.replace("REFERENCE", reference), stand_in);
}
