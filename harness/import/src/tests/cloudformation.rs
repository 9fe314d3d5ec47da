//! CloudFormation templates and folders of the CDK.

use std::collections::BTreeMap;

use nodejoin_core::plan::Tokens;

use super::{SCRIPT, all_refused, base64, machine, read, read_with, refused, user_data};
use crate::{AmiFamily, ClusterTraits, FileFormat, Import, import};

/// A stack of nodes as the template of EKS writes it: short forms, a long one around them, parameters and conditions.
const NODES: &str = r#"AWSTemplateFormatVersion: "2010-09-09"
Parameters:
  ClusterName:
    Type: String
  BootstrapArguments:
    Type: String
    Default: --kubelet-extra-args '--node-labels=a=b'
  Image:
    Type: "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>"
    Default: /aws/service/eks/optimized-ami/1.29/amazon-linux-2/recommended/image_id
  CustomImage:
    Type: String
    Default: ""
  DisableIMDSv1:
    Type: String
    Default: "true"
Mappings:
  Sizes:
    us-west-2: { Type: m5.large }
    eu-west-1: { Type: m6i.large }
Conditions:
  HasImage: !Not [!Equals [!Ref CustomImage, ""]]
  Strict: !And [!Equals [!Ref DisableIMDSv1, "true"], !Not [Condition: HasImage]]
Resources:
  Role:
    Type: AWS::IAM::Role
    Properties: { RoleName: nodes }
  Template:
    Type: "AWS::EC2::LaunchTemplate"
    Properties:
      LaunchTemplateData:
        IamInstanceProfile: { Arn: !GetAtt Profile.Arn }
        ImageId: !If [HasImage, !Ref CustomImage, !Ref Image]
        InstanceType: !FindInMap [Sizes, !Ref "AWS::Region", Type]
        MetadataOptions:
          HttpPutResponseHopLimit: 2
          HttpTokens: !If [Strict, required, optional]
        UserData: !Base64
          "Fn::Sub": |
            #!/bin/bash
            set -o xtrace
            /etc/eks/bootstrap.sh ${ClusterName} ${BootstrapArguments}
            echo ${!HOME} ${AWS::Region} ${Role.Arn}
            /opt/aws/bin/cfn-signal --exit-code $? --stack ${AWS::StackName} --resource Group --region ${AWS::Region}
  Profile:
    Type: AWS::IAM::InstanceProfile
  Group:
    Type: AWS::AutoScaling::AutoScalingGroup
    Properties:
      LaunchTemplate: { LaunchTemplateId: !Ref Template, Version: !GetAtt Template.LatestVersionNumber }
      Tags:
        - { Key: Name, Value: !Sub "${ClusterName}-node", PropagateAtLaunch: true }
        - { Key: other, Value: x, PropagateAtLaunch: false }
"#;

/// The lines of a report about values that the file does not state.
#[test]
fn what_the_reader_makes_up_is_a_stand_in() {
    let text = "Resources:\n  Cluster: { Type: AWS::EKS::Cluster, Properties: { Name: !Ref AWS::StackName } }\n  Role: { Type: AWS::IAM::Role }\n  \
                Profile: { Type: AWS::IAM::InstanceProfile, Properties: { Roles: [!Ref Role] } }\n  Config:\n    \
                Type: AWS::AutoScaling::LaunchConfiguration\n    Properties:\n      IamInstanceProfile: !Ref Profile\n      \
                ImageId: \"{{resolve:ssm:/aws/service/eks/optimized-ami/1.29/amazon-linux-2/recommended/image_id}}\"\n      \
                UserData: !Base64 { \"Fn::Sub\": \"#!/bin/bash\\n/etc/eks/bootstrap.sh ${Cluster}\\n\" }\n";
    let report = |set: &[(&str, &str)]| {
        let imported = read_with("t.yaml", text.as_bytes(), set).unwrap();
        let trial = crate::adopt(&imported.machines[0], &BTreeMap::new()).unwrap();
        let lines = trial
            .report
            .iter()
            .map(|line| format!("{}: {}\n", line.kind, line.text));
        lines.collect::<String>()
    };
    let made_up = report(&[]);
    for expected in [
        "chosen: region us-west-2, a stand-in: the file states none\n",
        "chosen: cluster name nodejoin, a stand-in: the file states none\n",
        "chosen: role nodejoin-Role, a stand-in: only AWS knows the one that the file means\n",
        "chosen: AMI id ami-0123456789abcdef0, a stand-in: only AWS knows the one that the file means\n",
    ] {
        assert!(made_up.contains(expected), "{expected}\n{made_up}");
    }
    assert!(!made_up.contains("instance profile"), "{made_up}");
    let stated = report(&[("AWS::Region", "us-west-2"), ("AWS::StackName", "demo")]);
    assert!(stated.contains("adopted: region us-west-2\n"), "{stated}");
    assert!(stated.contains("adopted: cluster name demo\n"), "{stated}");
}

#[test]
fn functions_are_evaluated() {
    let imported = read_with(
        "t.yaml",
        NODES.as_bytes(),
        &[("ClusterName", "demo"), ("AWS::Region", "eu-west-1")],
    )
    .unwrap();
    assert_eq!(imported.format, FileFormat::CloudFormation);
    let [machine] = &imported.machines[..] else {
        panic!("{imported:?}");
    };
    insta::assert_snapshot!(user_data(machine));
    let traits = &machine.traits;
    assert_eq!(machine.name, "Template");
    assert_eq!(traits.ami_family, Some(AmiFamily::Al2));
    assert_eq!(traits.instance_type.as_deref(), Some("m6i.large"));
    assert_eq!(
        (traits.http_tokens, traits.hop_limit),
        (Some(Tokens::Required), Some(2))
    );
    assert_eq!(traits.region.as_deref(), Some("eu-west-1"));
    assert_eq!(
        traits.tags,
        BTreeMap::from([("Name".to_owned(), "demo-node".to_owned())])
    );
    assert_eq!(machine.managed, None);
}

#[test]
fn what_only_cloudformation_knows_is_asked_for() {
    let with = |value: &str| {
        format!(
            "Resources:\n  A:\n    Type: AWS::EC2::LaunchTemplate\n    Properties:\n      LaunchTemplateData:\n        UserData:\n          Fn::Base64: {value}\n"
        )
    };
    let files = [
        ("parameter", NODES.to_owned()),
        ("attribute", with("!GetAtt Queue.Arn")),
        ("export", with("{ \"Fn::ImportValue\": shared-cluster }")),
        ("dynamic", with("\"{{resolve:ssm:/name:1}}\"")),
        ("unknown", with("!Sub \"${HOME}\"")),
        ("transform", with("{ \"Fn::Transform\": { Name: x } }")),
        ("list", with("!Split [\",\", \"a,b\"]")),
        ("index", with("!Select [2, [a, b]]")),
        (
            "plain",
            with("x")
                .replace("Fn::Base64: x", "")
                .replace("UserData:\n", "UserData: \"#!/bin/bash\"\n"),
        ),
    ];
    let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    insta::assert_snapshot!(all_refused(&files));
    let text = with(
        "!Join [\"\", [\"#!\", !GetAtt Queue.Arn, \"{{resolve:ssm:/name:1}}\", !Select [1, !Split [\",\", \"a,b\"]]]]",
    );
    let set = [("Queue.Arn", "q"), ("resolve:ssm:/name:1", "s")];
    let imported = read_with("t.yaml", text.as_bytes(), &set).unwrap();
    assert_eq!(user_data(&imported.machines[0]), "#!qsb");
}

#[test]
fn all_missing_values_are_asked_for_at_once() {
    let text = r##"Parameters:
  Cluster: { Type: String }
  ClusterCA: { Type: String }
  Arguments: { Type: String, Default: --x }
  Kind: { Type: String }
  Pool: { Type: String }
  Unused: { Type: String }
Conditions:
  IsBig: !Equals [!Ref Kind, big]
Resources:
  A:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        UserData: !Base64
          "Fn::Join":
            - " "
            - - "#!/bin/bash\n/etc/eks/bootstrap.sh"
              - !Ref Cluster
              - !Sub "--b64-cluster-ca ${ClusterCA} ${Queue.Arn} ${HOME} {{resolve:ssm:/name:1}}"
              - !If [IsBig, !Ref Pool, !ImportValue shared]
              - !Ref Arguments
  B:
    Type: AWS::EC2::LaunchTemplate
    Properties: { LaunchTemplateData: { UserData: !Base64 { Ref: Unused } } }
  Queue: { Type: AWS::SQS::Queue }
"##;
    let refused = refused("t.yaml", &text.replace("${HOME} ", ""));
    assert_eq!(
        refused,
        "line 19, column 22: the template needs values that it does not state: parameter `Cluster` (line 19), parameter `ClusterCA` (line 20), \
         parameter `Kind` (line 9), parameter `Pool` (line 21), `Queue.Arn` (line 20), parameter `Unused` (line 25), \
         reference `resolve:ssm:/name:1` (line 20), export `shared` (line 21)\n  \
         hint: give them: `--set Cluster=VALUE --set 'ClusterCA={{ cluster.certificate_authority }}' --set Kind=VALUE --set Pool=VALUE \
         --set 'Queue.Arn=VALUE' --set Unused=VALUE --set 'resolve:ssm:/name:1=VALUE' --set shared=VALUE`"
    );
}

#[test]
fn machines_of_windows_need_no_values() {
    let template = |data: &str, group: &str| {
        format!(
            "Parameters: {{ Cluster: {{ Type: String }}, Image: {{ Type: String }} }}\nResources:\n  A:\n    Type: AWS::EC2::LaunchTemplate\n    \
             Properties: {{ LaunchTemplateData: {{ {data} }} }}\n  G:\n    Type: AWS::EKS::Nodegroup\n    Properties: {{ LaunchTemplate: {{ Id: !Ref A }}{group} }}\n"
        )
    };
    let script = |begin: &str| format!("UserData: !Base64 {{ \"Fn::Sub\": \"{begin} ${{Cluster}}\" }}");
    let image = "ImageId: \"{{resolve:ssm:/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.31/image_id}}\"";
    for text in [
        template(&script("<powershell>"), ""),
        template(&script("x"), ", AmiType: WINDOWS_CORE_2022_x86_64"),
        template(&format!("{image}, {}", script("x")), ""),
    ] {
        let imported = read(&text);
        assert!(imported.unread.is_empty(), "{text}: {:?}", imported.unread);
        for machine in &imported.machines {
            let error = crate::adopt(machine, &BTreeMap::new()).unwrap_err();
            assert!(
                error
                    .to_string()
                    .contains("runs Windows, which nodejoin does not start"),
                "{error}"
            );
        }
    }
    let linux = template(&script("#!/bin/bash"), ", AmiType: AL2_x86_64");
    assert!(refused("t.yaml", &linux).contains("parameter `Cluster` has no default"));
    let instance = "Parameters: { Cluster: { Type: String } }\nResources:\n  A:\n    Type: AWS::EC2::Instance\n    Properties:\n      \
                    UserData: !Base64 { \"Fn::Sub\": \"<powershell>\\n& Start-EKSBootstrap.ps1 -EKSClusterName ${Cluster}\" }\n";
    assert_eq!(machine(instance).system, crate::System::Windows);
    let terraform = read_with(
        "user-data.tpl",
        b"<powershell>\n& $x -EKSClusterName ${cluster}\n",
        &[],
    );
    assert_eq!(terraform.unwrap().machines[0].system, crate::System::Windows);
}

#[test]
fn the_cluster_of_a_template_has_a_name_and_stand_ins() {
    let text = r##"{"Resources": {
        "Cluster": {"Type": "AWS::EKS::Cluster", "Properties": {"Version": "1.31", "KubernetesNetworkConfig": {"ServiceIpv4Cidr": "172.20.0.0/16"},
            "AccessConfig": {"AuthenticationMode": "API"}}},
        "Launch": {"Type": "AWS::AutoScaling::LaunchConfiguration", "Properties": {"ImageId": "ami-1", "IamInstanceProfile": {"Ref": "P"},
            "UserData": {"Fn::Base64": {"Fn::Join": ["", ["#!/bin/bash\n/etc/eks/bootstrap.sh ", {"Ref": "Cluster"}, " --apiserver-endpoint ",
                {"Fn::GetAtt": ["Cluster", "Endpoint"]}, "\n"]]}}}},
        "P": {"Type": "AWS::IAM::InstanceProfile"}}}"##;
    let machine = machine(text);
    assert_eq!(
        user_data(&machine),
        "#!/bin/bash\n/etc/eks/bootstrap.sh nodejoin --apiserver-endpoint \
         https://0123456789ABCDEF0123456789ABCDEF.gr7.us-west-2.eks.amazonaws.com\n"
    );
    assert_eq!(machine.traits.region.as_deref(), Some("us-west-2"));
    let cluster = machine.traits.cluster;
    assert_eq!(cluster.name.as_deref(), Some("nodejoin"));
    assert_eq!(cluster.version.as_deref(), Some("1.31"));
    assert_eq!(cluster.dns_ip.as_deref(), Some("172.20.0.10"));
    assert_eq!(machine.traits.instance_profile.as_deref(), Some("nodejoin-P"));
}

#[test]
fn only_stand_ins_in_user_data_are_noted() {
    let text = "Resources:\n  A:\n    Type: AWS::EC2::LaunchTemplate\n    Properties:\n      LaunchTemplateData:\n        SecurityGroupIds: [!Ref G]\n        \
                UserData: !Base64 { \"Fn::Sub\": \"#!/bin/sh ${H}\" }\n  G:\n    Type: AWS::EC2::SecurityGroup\n  H:\n    Type: AWS::SQS::Queue\n";
    let notes = read(text).notes;
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(
        notes[0].starts_with("`nodejoin-H` stands for the id"),
        "{notes:?}"
    );
}

#[test]
fn node_groups_state_labels_and_what_eks_adds() {
    let text = format!(
        "Resources:\n  LT:\n    Type: AWS::EC2::LaunchTemplate\n    Properties:\n      LaunchTemplateName: n\n      LaunchTemplateData:\n        \
         UserData: {}\n  A:\n    Type: AWS::EKS::Nodegroup\n    Properties: {{ LaunchTemplate: {{ Id: !Ref LT }}, NodegroupName: ng, AmiType: AL2_x86_64,\n      \
         Labels: {{ team: web }}, Taints: [{{ Key: a, Value: b, Effect: NO_EXECUTE }}], InstanceTypes: [m5.large] }}\n  B:\n    Type: AWS::EKS::Nodegroup\n    \
         Properties: {{ LaunchTemplate: {{ Name: n }}, ClusterName: demo }}\n  C:\n    Type: AWS::EKS::Nodegroup\n    Properties: {{ AmiType: AL2023_x86_64_STANDARD }}\n",
        base64(SCRIPT)
    );
    let imported = read(&text);
    let names: Vec<_> = imported
        .machines
        .iter()
        .map(|machine| machine.name.as_str())
        .collect();
    assert_eq!(names, ["LT/A", "LT/B", "C"]);
    let [first, second, third] = &imported.machines[..] else {
        unreachable!()
    };
    assert_eq!(user_data(first), SCRIPT);
    assert_eq!(first.traits.taints[0].to_string(), "a=b:NoExecute");
    let managed = first.managed.clone().unwrap();
    assert_eq!(
        (managed.name.as_deref(), managed.labels["team"].as_str()),
        (Some("ng"), "web")
    );
    assert_eq!(second.traits.cluster.name.as_deref(), Some("demo"));
    assert_eq!(
        (third.traits.ami_family, third.user_data.clone()),
        (Some(AmiFamily::Al2023), None)
    );
}

#[test]
fn an_ami_of_a_dynamic_reference_is_an_ami() {
    let text = format!(
        "Resources:\n  A:\n    Type: AWS::EC2::LaunchTemplate\n    Properties:\n      LaunchTemplateData:\n        UserData: {}\n        \
         ImageId: \"{{{{resolve:ssm:/aws/service/bottlerocket/aws-k8s-1.33/x86_64/latest/image_id}}}}\"\n",
        base64(SCRIPT)
    );
    let machine = machine(&text);
    assert_eq!(
        (machine.traits.ami_family, machine.managed),
        (Some(AmiFamily::Bottlerocket), None)
    );
}

#[test]
fn conditions_that_do_not_hold_remove_machines() {
    let text = "Conditions:\n  No: !Or [!Equals [a, b], !Equals [a, c]]\nResources:\n  A:\n    Type: AWS::EKS::Nodegroup\n    Condition: No\n    Properties: {}\n";
    assert!(refused("t.yaml", text).contains("no resource of it starts machines"));
    let unknown = text.replace("Condition: No", "Condition: Yes");
    assert!(refused("t.yaml", &unknown).contains("the template has no condition `Yes`"));
}

#[test]
fn circles_and_bombs_of_conditions_end() {
    let mut text = "Conditions:\n  C40: !Equals [a, a]\n".to_owned();
    for level in 0..40 {
        let next = level + 1;
        text.push_str(&format!(
            "  C{level}: !And [Condition: C{next}, Condition: C{next}]\n"
        ));
    }
    text.push_str("  Loop: !Not [Condition: Loop]\nResources:\n  A:\n    Type: AWS::EKS::Nodegroup\n    Condition: C0\n    Properties: {}\n");
    for text in [text.clone(), text.replace("Condition: C0\n", "Condition: Loop\n")] {
        let error = refused("t.yaml", &text);
        assert!(error.contains("nested too deep"), "{error}");
    }
}

#[test]
fn instances_that_are_not_nodes_are_left_out() {
    let text = "Resources:\n  Bastion:\n    Type: AWS::EC2::Instance\n    Properties:\n      UserData: !Base64 \"#!/bin/bash\\n\"\n";
    assert!(refused("t.yaml", text).contains("an instance that is not a node"));
}

#[test]
fn a_folder_of_the_cdk_is_read() {
    let folder = std::env::temp_dir().join(format!("nodejoin-import-cdk-{}", std::process::id()));
    let stage = folder.join("assembly-Prod");
    std::fs::create_dir_all(&stage).unwrap();
    let template = format!(
        "{{\"Resources\": {{\"LT\": {{\"Type\": \"AWS::EC2::LaunchTemplate\", \"Properties\": {{\"LaunchTemplateData\": {{\"UserData\": \"{}\"}}}}}}}}}}",
        base64(SCRIPT)
    );
    std::fs::write(folder.join("App.template.json"), &template).unwrap();
    std::fs::write(folder.join("tree.json"), "{}").unwrap();
    std::fs::write(folder.join("manifest.json"), "{}").unwrap();
    std::fs::write(stage.join("manifest.json"), "{}").unwrap();
    std::fs::write(stage.join("ProdApp.template.json"), &template).unwrap();
    let of = |folder: &std::path::Path| {
        import(&Import {
            name: "cdk.out",
            bytes: b"",
            folder: Some(folder),
            set: &BTreeMap::new(),
            cluster: &ClusterTraits::default(),
        })
    };
    let imported = of(&folder).unwrap();
    let missing = of(&folder.join("none")).unwrap_err();
    std::fs::create_dir(folder.join("empty")).unwrap();
    let empty = of(&folder.join("empty")).unwrap_err();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(imported.format, FileFormat::CdkOutput);
    let names: Vec<_> = imported
        .machines
        .iter()
        .map(|machine| machine.name.as_str())
        .collect();
    assert_eq!(names, ["App/LT", "assembly-Prod/ProdApp/LT"]);
    assert!(missing.hint().contains("cdk synth"));
    assert!(
        empty
            .to_string()
            .contains("no file of it ends with `.template.json`")
    );
    assert!(empty.hint().contains("cdk synth"));
}

/// A machine whose user data lets cfn-init do the work.
const INIT: &str = r##"Parameters: { Cluster: { Type: String, Default: demo } }
Conditions: { Never: !Equals [a, b] }
Resources:
  Config:
    Type: AWS::AutoScaling::LaunchConfiguration
    Metadata:
      AWS::CloudFormation::Init:
        config:
          files: { /etc/cluster: { content: !Sub "${Cluster}\n", mode: "000644" } }
          commands: { join: { command: !Join [" ", [/etc/eks/bootstrap.sh, !Ref Cluster]] } }
    Properties:
      UserData: !Base64
        "Fn::Sub": |
          #!/bin/bash
          cfn-init --stack ${AWS::StackName} --resource Config --region ${AWS::Region}
  Other:
    Type: AWS::EC2::SecurityGroup
    Metadata: { Team: !ImportValue team }
  Absent:
    Type: AWS::SNS::Topic
    Condition: Never
  Group:
    Type: AWS::AutoScaling::AutoScalingGroup
    Properties: { LaunchConfigurationName: !Ref Config }
"##;

#[test]
fn the_stack_of_cfn_init_has_the_metadata_of_the_template() {
    let imported = read_with("t.yaml", INIT.as_bytes(), &[("AWS::StackName", "nodes")]).unwrap();
    let [machine] = &imported.machines[..] else {
        panic!("{imported:?}");
    };
    let stack = machine.stack.as_ref().unwrap();
    assert_eq!(
        (stack.name.as_str(), &stack.signalled[..]),
        ("nodes", &["Group".to_owned()][..])
    );
    // All resources are known, so that one that user data misspells is an error of the script.
    let [config, other, group] = &stack.resources[..] else {
        panic!("{stack:?}");
    };
    assert_eq!(
        [&config.id, &other.id, &group.id, &group.kind],
        ["Config", "Other", "Group", "AWS::AutoScaling::AutoScalingGroup"]
    );
    assert_eq!((&other.metadata, &group.metadata), (&None, &None));
    let metadata = config.metadata.clone().unwrap();
    assert_eq!(
        metadata,
        serde_json::json!({ "AWS::CloudFormation::Init": { "config": {
            "files": { "/etc/cluster": { "content": "demo\n", "mode": "000644" } },
            "commands": { "join": { "command": "/etc/eks/bootstrap.sh demo" } },
        } } })
    );
    // What another stack exports is not known.
    let [note] = &machine.notes[..] else {
        panic!("{:?}", machine.notes);
    };
    assert!(note.contains("`Other`") && note.contains("team"), "{note}");

    let without = INIT.replace("cfn-init --stack", "echo");
    let imported = read_with("t.yaml", without.as_bytes(), &[]).unwrap();
    assert_eq!(
        (&imported.machines[0].stack, imported.machines[0].notes.len()),
        (&None, 0)
    );
}

#[test]
fn what_sub_leaves_to_a_shell_needs_no_value() {
    let text = "Resources:\n  Nodes:\n    Type: AWS::EC2::LaunchTemplate\n    Properties:\n      LaunchTemplateData:\n        ImageId: ami-0123456789abcdef0\n        \
                UserData:\n          Fn::Base64: !Sub |\n            #!/bin/bash\n            \
                echo 'path: ${!path.config}/modules.d' > /etc/x.yml\n            /etc/eks/bootstrap.sh demo\n";
    let machine = machine(text);
    assert!(user_data(&machine).contains("path: ${path.config}/modules.d"));
    let trial = crate::adopt(&machine, &Default::default()).unwrap();
    assert!(
        String::from_utf8(trial.user_data.unwrap())
            .unwrap()
            .contains("${path.config}")
    );
}

/// EC2 rejects it when the template is deployed.
#[test]
fn user_data_without_base64_is_refused() {
    let template = |user_data: &str| {
        format!(
            "Resources:\n  LT:\n    Type: AWS::EC2::LaunchTemplate\n    Properties:\n      LaunchTemplateData:\n        UserData: {user_data}\n"
        )
    };
    for plain in [
        "!Sub \"#!/bin/bash\\n/etc/eks/bootstrap.sh prod\"",
        "!Sub \"MIME-Version: 1.0\\nContent-Type: multipart/mixed; boundary=X\\n\"",
        "!Join [\"\", [\"#!/bin/bash\\n\", \"/etc/eks/bootstrap.sh prod\"]]",
    ] {
        let error = refused("t.yaml", &template(plain));
        assert!(error.contains("the user data is not base64"), "{plain}: {error}");
    }
    let encoded = template("!Base64 { \"Fn::Sub\": \"#!/bin/bash\" }");
    assert_eq!(read(&encoded).machines.len(), 1);
}
