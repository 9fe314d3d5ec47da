//! What templates of CloudFormation leave to conditions, functions and other resources.

use super::{SCRIPT, base64, machine, read, read_with, refused, user_data};
use crate::{AmiFamily, Imported, System};

/// Parameters and conditions, one of which needs a value.
pub(super) const HEAD: &str = "Parameters:\n  V: { Type: String, Default: \"1.31\" }\n  Missing: { Type: String }\nMappings:\n  Images: { a: { b: ami-1 } }\n\
                    Conditions:\n  Holds: !Equals [a, a]\n  Open: !Equals [!Ref Missing, a]\nResources:\n";

/// A template with a launch template of these properties.
fn template(data: &str) -> String {
    format!(
        "{HEAD}  LT:\n    Type: AWS::EC2::LaunchTemplate\n    Properties:\n      LaunchTemplateName: nodes\n      LaunchTemplateData:\n{data}"
    )
}

/// A launch template with an AMI and user data.
pub(super) fn with_script(script: &str) -> String {
    template(&format!(
        "        ImageId: ami-1\n        UserData: {}\n",
        base64(script)
    ))
}

pub(super) fn names(imported: &Imported) -> Vec<&str> {
    let machines = imported.machines.iter();
    machines.map(|machine| machine.name.as_str()).collect()
}

#[test]
fn the_name_of_an_ami_tells_its_family_inside_of_functions() {
    let family = |image: &str| {
        let text = template(&format!(
            "        ImageId: {image}\n        UserData: {}\n",
            base64(SCRIPT)
        ));
        let machine = machine(&text);
        assert!(machine.traits.ami_id.is_some(), "{image}");
        machine.traits.ami_family
    };
    let parameter = |version: &str| {
        format!(
            "{{{{resolve:ssm:/aws/service/eks/optimized-ami/{version}/amazon-linux-2023/x86_64/standard/recommended/image_id}}}}"
        )
    };
    for image in [
        format!("\"{}\"", parameter("1.31")),
        format!("!Sub \"{}\"", parameter("${V}")),
        // The version is not known, and the family is.
        format!("!Sub \"{}\"", parameter("${Missing}")),
        format!("!Join [\"\", [\"{}\"]]", parameter("1.31")),
        format!("!If [Holds, !Sub \"{}\", ami-1]", parameter("${V}")),
    ] {
        assert_eq!(family(&image), Some(AmiFamily::Al2023), "{image}");
    }
    for image in [
        format!("!If [Open, \"{}\", \"{}\"]", parameter("1.31"), parameter("1.32")),
        format!(
            "!FindInMap [Images, !Ref Missing, b, {{ DefaultValue: \"{}\" }}]",
            parameter("1.31")
        ),
        "!Sub \"{{resolve:ssm:/images/${V}}}\"".to_owned(),
        "!Ref Missing".to_owned(),
    ] {
        assert_eq!(family(&image), None, "{image}");
    }
}

#[test]
fn only_the_chosen_value_of_a_condition_can_be_for_windows() {
    let of = |system: &str, other: &str| {
        format!(
            "Parameters:\n  System: {{ Type: String{system} }}\nConditions:\n  IsWindows: !Equals [!Ref System, Windows]\nResources:\n  \
             LT:\n    Type: AWS::EC2::LaunchTemplate\n    Properties:\n      LaunchTemplateData:\n        ImageId: ami-1\n        UserData:\n          \
             Fn::Base64: !If\n            - IsWindows\n            - \"<powershell>\\n& Start-EKSBootstrap.ps1\"\n            - \"{other}\"\n"
        )
    };
    let script = "#!/bin/bash\\n/etc/eks/bootstrap.sh demo";
    let linux = machine(&of(", Default: Linux", script));
    assert_eq!(linux.system, System::Linux);
    assert!(user_data(&linux).contains("bootstrap.sh demo"));
    let windows = machine(&of(", Default: Windows", script));
    assert_eq!(windows.system, System::Windows);
    let error = refused("t.yaml", &of("", script));
    assert!(error.contains("parameter `System` has no default"), "{error}");
    let both = machine(&of("", "<powershell>\\nother"));
    assert_eq!(both.system, System::Windows);
}

#[test]
fn functions_of_rules_do_not_matter() {
    let rules = "Rules:\n  R:\n    Assertions:\n    - Assert: !EachMemberIn [!ValueOfAll [AWS::EC2::Subnet::Id, VpcId], !RefAll AWS::EC2::VPC::Id]\n    \
                 - Assert: !Contains [[a, b], !Ref V]\n";
    let text = format!("{rules}{}", with_script(SCRIPT));
    assert_eq!(user_data(&machine(&text)), SCRIPT);
}

#[test]
fn empty_text_and_no_value_are_no_user_data() {
    for field in [
        "\"\"",
        "!Base64 \"\"",
        "!If [Holds, \"\", x]",
        "!If [Holds, !Ref AWS::NoValue, x]",
    ] {
        let machine = machine(&template(&format!("        UserData: {field}\n")));
        assert_eq!(machine.user_data, None, "{field}");
        assert!(machine.managed.is_some(), "{field}");
    }
}

#[test]
fn an_instance_has_the_user_data_of_its_launch_template() {
    let instance = |reference: &str, more: &str| {
        format!(
            "  Node:\n    Type: AWS::EC2::Instance\n{more}    Properties:\n      LaunchTemplate: {{ {reference}, Version: \"1\" }}\n"
        )
    };
    let by_id = "LaunchTemplateId: !Ref LT";
    for reference in [by_id, "LaunchTemplateName: nodes"] {
        let text = format!("{}{}", with_script(SCRIPT), instance(reference, ""));
        let node = machine(&text);
        assert_eq!((node.name.as_str(), user_data(&node).as_str()), ("Node", SCRIPT));
        assert_eq!(node.traits.ami_id.as_deref(), Some("ami-1"));
    }
    let own = format!(
        "{}{}      UserData: {}\n      ImageId: ami-2\n",
        with_script("#!/bin/bash\necho\n"),
        instance(by_id, ""),
        base64(SCRIPT)
    );
    let own = machine(&own);
    assert_eq!(user_data(&own), SCRIPT);
    assert_eq!(own.traits.ami_id.as_deref(), Some("ami-2"));
    // Nothing of the file starts another instance of the template.
    let bastion = format!(
        "{}{}",
        with_script("#!/bin/bash\nyum install -y jq\n"),
        instance(by_id, "")
    );
    assert!(refused("t.yaml", &bastion).contains("an instance that is not a node"));
    let group = "  G:\n    Type: AWS::AutoScaling::AutoScalingGroup\n    Properties: { LaunchTemplate: { LaunchTemplateId: !Ref LT } }\n";
    let both = format!("{}{}{group}", with_script(SCRIPT), instance(by_id, ""));
    assert_eq!(names(&read(&both)), ["LT", "Node"]);
    let absent = "    Condition: Never\n";
    let absent = format!("{}{}", with_script(SCRIPT), instance(by_id, absent));
    let absent = absent.replace("  Holds:", "  Never: !Equals [a, b]\n  Holds:");
    assert_eq!(names(&read(&absent)), ["LT"]);
    let other = format!(
        "{}{}",
        with_script(SCRIPT),
        instance("LaunchTemplateId: lt-1", "")
    );
    assert_eq!(names(&read(&other)), ["LT"]);
}

/// User data of an instance replaces that of its launch template.
#[test]
fn a_launch_template_is_tried_unless_an_instance_has_its_user_data() {
    let instance = |name: &str, user_data: &str| {
        format!(
            "  {name}:\n    Type: AWS::EC2::Instance\n    Properties:\n      ImageId: ami-2\n      LaunchTemplate: {{ LaunchTemplateId: !Ref LT, Version: \"1\" }}\n{user_data}"
        )
    };
    let own = format!("      UserData: {}\n", base64("#!/bin/bash\npacker build .\n"));
    let builder = instance("Builder", &own);
    let node = instance("Node", "");
    let configs = "LaunchTemplateConfigs: [{ LaunchTemplateSpecification: { LaunchTemplateId: !Ref LT, Version: \"1\" } }]";
    let fleet = format!("  Fleet:\n    Type: AWS::EC2::EC2Fleet\n    Properties: {{ {configs} }}\n");
    let spot_fleet = format!(
        "  Fleet:\n    Type: AWS::EC2::SpotFleet\n    Properties: {{ SpotFleetRequestConfigData: {{ {configs} }} }}\n"
    );
    for (more, expected) in [
        (builder.clone(), vec!["LT"]),
        (format!("{builder}{fleet}"), vec!["LT"]),
        (format!("{builder}{node}"), vec!["Node"]),
        (format!("{node}{fleet}"), vec!["LT", "Node"]),
        (format!("{node}{spot_fleet}"), vec!["LT", "Node"]),
    ] {
        let imported = read(&format!("{}{more}", with_script(SCRIPT)));
        assert_eq!(names(&imported), expected, "{more}");
    }
    let other = format!(
        "{}{builder}{fleet}",
        with_script("#!/bin/bash\nyum install -y jq\n")
    );
    assert!(refused("t.yaml", &other).contains("an instance that is not a node"));
    // The instance can have the AMI.
    let without = template(&format!("        UserData: {}\n", base64(SCRIPT)));
    assert!(machine(&format!("{without}{builder}")).managed.is_none());
    assert!(machine(&without).managed.is_some());
}

#[test]
fn an_instance_of_a_launch_template_outside_of_the_file_is_named() {
    let instance = |properties: &str| {
        let tags = "Tags: [{ Key: kubernetes.io/cluster/demo, Value: owned }]";
        format!(
            "{HEAD}  Node:\n    Type: AWS::EC2::Instance\n    Properties:\n      {tags}\n      {properties}\n"
        )
    };
    let outside = instance("LaunchTemplate: { LaunchTemplateId: lt-0aaa, Version: \"1\" }");
    let tagged = refused("t.yaml", &outside);
    assert!(
        tagged.ends_with(
            "the user data of the instance is in launch template `lt-0aaa`\n  hint: give the output of \
             `aws ec2 describe-launch-template-versions --launch-template-id lt-0aaa`"
        ),
        "{tagged}"
    );
    let untagged = refused("t.yaml", &outside.replace("kubernetes.io/cluster/demo", "team"));
    assert!(
        untagged.contains(
            "is out of scope: no tag names a cluster, and its user data is in a launch template outside of the file\n"
        ),
        "{untagged}"
    );
    let own = instance("UserData: !Base64 \"#!/bin/bash\\necho hi\\n\"");
    let calls_none = refused("t.yaml", &own);
    assert!(
        calls_none.contains("is out of scope: its user data calls no bootstrap program\n"),
        "{calls_none}"
    );
    let neither = refused("t.yaml", &own.replace("kubernetes.io/cluster/demo", "team"));
    assert!(
        neither.contains("its user data calls no bootstrap program, and no tag names a cluster\n"),
        "{neither}"
    );
}

#[test]
fn a_group_of_a_launch_template_outside_of_the_file_is_named() {
    let group = |reference: &str| {
        format!(
            "  NG:\n    Type: AWS::EKS::Nodegroup\n    Properties: {{ LaunchTemplate: {{ {reference} }} }}\n"
        )
    };
    for (reference, used, option) in [
        ("Id: lt-0abc, Version: \"4\"", "lt-0abc", "id lt-0abc"),
        ("Name: shared", "shared", "name shared"),
        ("Id: !If [Holds, lt-0abc, !Ref LT]", "lt-0abc", "id lt-0abc"),
    ] {
        let error = refused("t.yaml", &format!("{HEAD}{}", group(reference)));
        let expected = format!(
            "the user data of node group `NG` is in launch template `{used}`\n  hint: give the output of \
             `aws ec2 describe-launch-template-versions --launch-template-{option}`"
        );
        assert!(error.ends_with(&expected), "{error}");
        let both = read(&format!("{}{}", with_script(SCRIPT), group(reference)));
        assert_eq!((names(&both), both.unread.len()), (vec!["LT"], 1));
        assert!(
            both.unread[0].name == "NG" && !both.unread[0].error.is_mistake(),
            "{both:?}"
        );
    }
    for reference in [
        "Id: !Ref LT",
        "Id: !GetAtt LT.LaunchTemplateId",
        "Id: !If [Holds, !Ref LT, lt-0abc]",
        "Name: nodes",
        "Name: !Sub nodes",
    ] {
        let own = read(&format!("{}{}", with_script(SCRIPT), group(reference)));
        assert_eq!(
            (names(&own), own.unread.len()),
            (vec!["LT"], 0),
            "{reference}: {own:?}"
        );
        assert_eq!(
            own.machines[0].started_by,
            crate::StartedBy::NodeGroup,
            "{reference}"
        );
    }
    // The name of the launch template can be the one that the group states.
    let unknown = format!("{}{}", with_script(SCRIPT), group("Name: shared"));
    let unknown = read(&unknown.replace("LaunchTemplateName: nodes", "LaunchTemplateName: !Ref Missing"));
    assert_eq!((names(&unknown), unknown.unread.len()), (vec!["LT"], 0));
}

#[test]
fn a_name_that_needs_a_value_itself_is_not_asked_for() {
    for (value, name) in [
        ("{ \"Fn::ImportValue\": !Sub \"${Missing}-Label\" }", "p-Label"),
        (
            "!Sub \"{{resolve:ssm:/${Missing}/label}}\"",
            "resolve:ssm:/p/label",
        ),
    ] {
        let text = template(&format!(
            "        ImageId: ami-1\n        UserData:\n          Fn::Base64: !Sub\n            - |\n              #!/bin/bash\n              \
             /etc/eks/bootstrap.sh demo --kubelet-extra-args --node-labels=a=${{L}}\n            - L: {value}\n"
        ));
        let first = refused("t.yaml", &text);
        assert!(
            first.contains("parameter `Missing` has no default")
                && first.ends_with("give its value: `--set Missing=VALUE`"),
            "{first}"
        );
        let second = read_with("t.yaml", text.as_bytes(), &[("Missing", "p")]).unwrap_err();
        assert!(second.to_string().contains(&format!("`{name}`")), "{second}");
        let both = read_with("t.yaml", text.as_bytes(), &[("Missing", "p"), (name, "x")]).unwrap();
        assert!(user_data(&both.machines[0]).contains("--node-labels=a=x"));
    }
}

#[test]
fn a_group_of_a_launch_template_has_its_labels_without_user_data() {
    let group = "  NG:\n    Type: AWS::EKS::Nodegroup\n    Properties: { LaunchTemplate: { Id: !Ref LT } }\n";
    let of_template = format!("{}{group}", template("        InstanceType: m5.large\n"));
    let alone = group.replace("{ LaunchTemplate: { Id: !Ref LT } }", "{ NodegroupName: ng }");
    // It works in such a group alone.
    let unused = template("        InstanceType: m5.large\n");
    for (text, has_template) in [
        (of_template, true),
        (unused, true),
        (format!("{HEAD}{alone}"), false),
    ] {
        let managed = machine(&text).managed.unwrap();
        assert_eq!(managed.launch_template.is_some(), has_template, "{text}");
    }
    let manifests = "apiVersion: ec2.aws.upbound.io/v1beta2\nkind: LaunchTemplate\nmetadata: { name: lt }\nspec: { forProvider: { region: us-west-2 } }\n---\n\
                     apiVersion: eks.aws.upbound.io/v1beta2\nkind: NodeGroup\nmetadata: { name: ng }\nspec:\n  forProvider: { launchTemplate: { name: lt } }\n";
    assert!(machine(manifests).managed.unwrap().launch_template.is_some());
}

#[test]
fn the_last_of_equal_keys_of_a_template_counts() {
    let again = "Metadata: { a: b }\nMetadata: { c: d }\n";
    let imported = read(&format!("{again}{}", with_script(SCRIPT)));
    assert_eq!(names(&imported), ["LT"]);
    assert_eq!(
        imported.notes,
        [
            "the key `Metadata` appears again in line 2: CloudFormation takes the last one alone; remove the others"
        ]
    );
    let manifest = "apiVersion: karpenter.sh/v1\nkind: NodePool\nspec: { a: 1 }\nspec: { b: 1 }\n";
    let error = refused("m.yaml", manifest);
    assert!(error.contains("key `spec` appears twice"), "{error}");
}
