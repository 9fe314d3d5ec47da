//! What templates of CloudFormation state around the user data: place, groups, parameters.

use super::{all_refused, machine, read, read_with, user_data};
use crate::adopt::{AdoptionKind, adopt};
use crate::{ClusterTraits, Import, System, import};

const AL2023: &str = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\nContent-Type: application/node.eks.aws\n\n\
                      apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: { kubelet: { flags: [--v=2] } }\n--B--\n";

/// A template with a launch template of this data, in JSON, and further resources.
fn stack(data: &str, more: &str) -> String {
    format!(
        r#"{{"Resources":{{"LT":{{"Type":"AWS::EC2::LaunchTemplate","Properties":{{"LaunchTemplateData":{data}}}}}{more}}}}}"#
    )
}

fn with_script(rest: &str) -> String {
    format!(
        r##"{{"ImageId":"ami-0123456789abcdef0","UserData":{{"Fn::Base64":"#!/bin/bash\n/etc/eks/bootstrap.sh demo\n"}}{rest}}}"##
    )
}

fn scaling_group(name: &str, rest: &str) -> String {
    format!(
        r#","{name}":{{"Type":"AWS::AutoScaling::AutoScalingGroup","Properties":{{"LaunchTemplate":{{"LaunchTemplateId":{{"Ref":"LT"}}}}{rest}}}}}"#
    )
}

fn node_group(rest: &str) -> String {
    let data = format!(
        r#"{{"UserData":{{"Fn::Base64":{}}}}}"#,
        serde_json::to_string(AL2023).unwrap()
    );
    let group = format!(
        r#","NG":{{"Type":"AWS::EKS::Nodegroup","Properties":{{"ClusterName":"shop","LaunchTemplate":{{"Id":{{"Ref":"LT"}}}}{rest}}}}}"#
    );
    stack(&data, &group)
}

/// The report of a trial.
fn report(text: &str) -> String {
    let trial = adopt(&machine(text), &std::collections::BTreeMap::new()).unwrap();
    let lines = trial.report.iter();
    lines
        .map(|line| format!("{}: {}\n", line.kind, line.text))
        .collect()
}

#[test]
fn base64_inside_of_base64_stays_encoded() {
    let data = r##"{"ImageId":"ami-0123456789abcdef0","UserData":{"Fn::Base64":{"Fn::Join":["",[
        "Content-Type: multipart/mixed; boundary=\"B\"\nMIME-Version: 1.0\n\n--B\nContent-Type: text/x-shellscript\nContent-Transfer-Encoding: base64\n\n",
        {"Fn::Base64":"#!/bin/bash\n/etc/eks/bootstrap.sh mp --kubelet-extra-args '--node-labels=a=b'"},"\n--B--\n"]]}}}"##;
    let text = stack(data, "");
    let rendered = user_data(&machine(&text));
    assert!(
        rendered.contains(&super::base64(
            "#!/bin/bash\n/etc/eks/bootstrap.sh mp --kubelet-extra-args '--node-labels=a=b'"
        )),
        "{rendered}"
    );
    assert!(report(&text).contains("expected: label a=b"));
}

#[test]
fn the_region_of_commands_is_that_of_the_stack() {
    let script = r##"{"ImageId":"ami-0123456789abcdef0","UserData":{"Fn::Base64":{"Fn::Sub":"#!/bin/bash\naws ec2 describe-tags --region eu-west-3\n/etc/eks/bootstrap.sh demo\necho ${AWS::Region}\n"}}}"##;
    let machine = machine(&stack(script, ""));
    assert_eq!(machine.traits.region.as_deref(), Some("eu-west-3"));
    assert!(user_data(&machine).contains("echo eu-west-3"));
    assert!(
        !machine
            .traits
            .stand_ins
            .keys()
            .any(|what| what.contains("region"))
    );
}

#[test]
fn the_cdk_states_region_and_account_in_its_manifest() {
    let folder = std::env::temp_dir().join(format!("nodejoin-import-place-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let manifest = r#"{"artifacts":{"S":{"type":"aws:cloudformation:stack","environment":"aws://210987654321/eu-west-3","properties":{"templateFile":"S.template.json"}}}}"#;
    std::fs::write(folder.join("manifest.json"), manifest).unwrap();
    let script = r##"{"ImageId":"ami-0123456789abcdef0","UserData":{"Fn::Base64":{"Fn::Sub":"#!/bin/bash\n/etc/eks/bootstrap.sh demo --apiserver-endpoint ${C.Endpoint}\n"}}}"##;
    let template = stack(
        script,
        r#","C":{"Type":"AWS::EKS::Cluster","Properties":{"Name":"demo"}}"#,
    );
    std::fs::write(folder.join("S.template.json"), template).unwrap();
    let imported = import(&Import {
        name: "cdk.out",
        bytes: &[],
        folder: Some(&folder),
        set: &std::collections::BTreeMap::new(),
        cluster: &ClusterTraits::default(),
    });
    std::fs::remove_dir_all(&folder).unwrap();
    let machine = imported.unwrap().machines.remove(0);
    assert!(user_data(&machine).contains(".eu-west-3.eks.amazonaws.com"));
    let traits = machine.traits;
    assert_eq!(
        (traits.region.as_deref(), traits.account.as_deref()),
        (Some("eu-west-3"), Some("210987654321"))
    );
}

#[test]
fn groups_state_market_types_and_the_ami_that_is_missing() {
    let spot = machine(&stack(
        &with_script(r#","InstanceMarketOptions":{"MarketType":"spot"}"#),
        &scaling_group("A", ""),
    ));
    assert!(spot.traits.is_spot);
    let trial = adopt(&spot, &std::collections::BTreeMap::new()).unwrap();
    let spot_line = "the life cycle of a spot instance";
    assert!(trial.report.iter().any(|line| line.text == spot_line));
    let overrides = |name: &str, kind: &str| {
        let policy = format!(
            r#","MixedInstancesPolicy":{{"LaunchTemplate":{{"Overrides":[{{"InstanceType":"{kind}"}}]}}}}"#
        );
        scaling_group(name, &policy)
    };
    let both = read(&stack(
        &with_script(r#","InstanceType":"t3.small""#),
        &format!("{}{}", overrides("A", "r5.xlarge"), overrides("B", "c5.large")),
    ));
    let types: Vec<_> = both
        .machines
        .iter()
        .map(|machine| (machine.name.as_str(), machine.traits.instance_type.as_deref()))
        .collect();
    assert_eq!(types, [("LT/A", Some("r5.xlarge")), ("LT/B", Some("c5.large"))]);
    for (above, is_spot) in [("0", true), ("\"0\"", true), ("50", false)] {
        let policy = format!(
            r#","MixedInstancesPolicy":{{"InstancesDistribution":{{"OnDemandPercentageAboveBaseCapacity":{above}}}}}"#
        );
        let mixed = machine(&stack(&with_script(""), &scaling_group("A", &policy)));
        assert_eq!(mixed.traits.is_spot, is_spot, "{above}");
    }
    let without = stack(
        r##"{"UserData":{"Fn::Base64":"#!/bin/bash\n/etc/eks/bootstrap.sh demo\n"}}"##,
        &scaling_group("A", ""),
    );
    assert!(machine(&without).problems[0].contains("names no AMI"));
}

/// EKS sets them in node groups alone. EC2 asks the launch template, then the account, then the AMI.
#[test]
fn metadata_tokens_of_a_machine_without_a_node_group_are_those_of_its_ami() {
    let read = "curl http://169.254.169.254/latest/meta-data/local-ipv4\\n";
    let data = |script: &str| {
        format!(
            r##"{{"ImageId":"ami-0123456789abcdef0","UserData":{{"Fn::Base64":"#!/bin/bash\n{read}{script}\n"}}}}"##
        )
    };
    let al2 = data("/etc/eks/bootstrap.sh demo");
    let al2023 = data("nodeadm init -c file:///x");
    // In the trial, AL2 is the AMI of such a machine.
    let unknown = data("systemctl start kubelet");
    let other = data("kubeadm join a.example.com:6443");
    let lines = |data: &str, groups: &str| {
        let report = report(&stack(data, groups));
        let lines: Vec<String> = report
            .lines()
            .filter(|line| line.contains("metadata tokens"))
            .map(str::to_owned)
            .collect();
        assert_eq!(lines.len(), 1, "{report}");
        lines.concat()
    };
    for groups in ["", &scaling_group("A", "")] {
        for (data, expected) in [
            (&al2, "chosen: metadata tokens optional, the default of EC2"),
            (
                &unknown,
                "chosen: metadata tokens optional, the default of EC2: neither the file nor AMIs for Amazon Linux 2",
            ),
            (
                &al2023,
                "chosen: metadata tokens required, which AMIs for AL2023 require",
            ),
            (
                &other,
                "chosen: metadata tokens required, because the file does not state whether its AMI requires them: the user data \
                 requests metadata without a token, and gets an error; add `--with 'instance: { metadata: { tokens: optional } }'` if \
                 neither the AMI nor the account requires them",
            ),
        ] {
            let line = lines(data, groups);
            assert!(line.starts_with(expected), "{line}");
        }
    }
    let group = r#","NG":{"Type":"AWS::EKS::Nodegroup","Properties":{"LaunchTemplate":{"Id":{"Ref":"LT"}}}}"#;
    assert!(lines(&al2, group).contains("required, which the launch templates of EKS require"));
}

#[test]
fn a_tag_of_the_cluster_that_the_instance_does_not_get_is_named() {
    let tag = |propagates: &str| {
        format!(
            r#","Tags":[{{"Key":"kubernetes.io/cluster/demo","Value":"owned","PropagateAtLaunch":{propagates}}}]"#
        )
    };
    let of = |propagates: &str, version: &str| {
        let cluster = match version {
            "" => String::new(),
            _ => format!(
                r#","C":{{"Type":"AWS::EKS::Cluster","Properties":{{"Name":"demo","Version":"{version}"}}}}"#
            ),
        };
        let group = scaling_group("A", &tag(propagates));
        machine(&stack(&with_script(""), &format!("{group}{cluster}")))
    };
    let line = |machine: &crate::Machine| {
        let trial = adopt(machine, &std::collections::BTreeMap::new()).unwrap();
        let mut lines = trial.report.into_iter();
        lines.find(|line| {
            line.text
                .contains("does not give its instances the tag `kubernetes.io/cluster/demo`")
        })
    };
    let without = of("false", "1.24");
    assert!(without.traits.tags.is_empty(), "{:?}", without.traits.tags);
    let found = line(&without).unwrap();
    assert_eq!(found.kind, AdoptionKind::Problem);
    assert!(
        found
            .text
            .contains("a kubelet before 1.27 with the AWS provider ends without it")
            && found
                .text
                .ends_with("the instance of the run has the tag nevertheless"),
        "{}",
        found.text
    );
    assert_eq!(line(&of("\"false\"", "")).unwrap().kind, AdoptionKind::Note);
    assert_eq!(line(&of("false", "1.33")), None);
    let with = of("true", "1.24");
    assert_eq!((with.traits.tags.len(), line(&with)), (1, None));
    let none = machine(&stack(&with_script(""), &scaling_group("A", "")));
    let trial = adopt(&none, &std::collections::BTreeMap::new()).unwrap();
    let text = "neither the Auto Scaling group nor its launch template gives instances a tag `kubernetes.io/cluster/NAME`: a kubelet \
                before 1.27 with the AWS provider ends without it; add it to the group";
    assert!(
        trial.report.iter().any(|line| line.text.starts_with(text)),
        "{:?}",
        trial.report
    );
    let unknown = r#","Tags":[{"Key":{"Fn::ImportValue":"key"},"Value":"owned","PropagateAtLaunch":true}]"#;
    let unknown = machine(&stack(&with_script(""), &scaling_group("A", unknown)));
    let trial = adopt(&unknown, &std::collections::BTreeMap::new()).unwrap();
    assert!(
        !trial
            .report
            .iter()
            .any(|line| line.text.contains("gives instances a tag")),
        "{:?}",
        trial.report
    );
}

#[test]
fn a_machine_has_the_one_of_several_clusters_that_it_names() {
    let cluster = |id: &str, name: &str, version: &str, cidr: &str| {
        format!(
            r#","{id}":{{"Type":"AWS::EKS::Cluster","Properties":{{"Name":"{name}","Version":"{version}",
            "KubernetesNetworkConfig":{{"ServiceIpv4Cidr":"{cidr}"}}}}}}"#
        )
    };
    let of = |first: &str, second: &str| {
        let clusters = [
            cluster("C1", first, "1.31", "10.100.0.0/16"),
            cluster("C2", second, "1.33", "172.20.0.0/16"),
        ];
        let cluster = machine(&stack(&with_script(""), &clusters.concat()))
            .traits
            .cluster;
        (cluster.version, cluster.dns_ip)
    };
    let second = (Some("1.33".to_owned()), Some("172.20.0.10".to_owned()));
    assert_eq!(of("shop", "demo"), second);
    assert_eq!(of("shop", "other"), (None, None));
    assert_eq!(of("demo", "demo"), (None, None));
}

#[test]
fn a_node_group_has_the_defaults_and_the_limits_of_eks() {
    let of_type = |rest: &str| machine(&node_group(rest)).traits.instance_type;
    assert_eq!(of_type("").as_deref(), Some("t3.medium"));
    let large = r#","InstanceTypes":["c6i.4xlarge"]"#;
    assert!(report(&node_group(large)).contains("expected: capacity for 110 pods"));
    let spot = machine(&node_group(r#","CapacityType":"SPOT""#));
    assert!(spot.traits.is_spot);
}

#[test]
fn pods_that_a_node_config_of_a_group_states_count() {
    let own = AL2023.replace("flags: [--v=2]", "config: { maxPods: 50 }");
    let text = node_group(r#","InstanceTypes":["m5.large"]"#).replace(
        &serde_json::to_string(AL2023).unwrap(),
        &serde_json::to_string(&own).unwrap(),
    );
    let report = report(&text);
    assert!(report.contains("expected: capacity for 50 pods"), "{report}");
    assert!(!report.contains("has no effect"), "{report}");
}

#[test]
fn words_that_eks_refuses_are_mistakes() {
    let group = node_group(
        r#","AmiType":"AL2023_x86_64_STANDRAD","Taints":[{"Key":"a","Value":"b","Effect":"NoSchedule"}]"#,
    );
    assert_eq!(
        machine(&group).problems,
        [
            "EKS refuses the effect `NoSchedule` of a taint: write NO_SCHEDULE, NO_EXECUTE, PREFER_NO_SCHEDULE",
            "EKS refuses the AMI type `AL2023_x86_64_STANDRAD`: did you mean `AL2023_x86_64_STANDARD`?"
        ]
    );
}

#[test]
fn an_ami_type_that_can_be_newer_is_not_a_mistake() {
    for (newer, instance_type) in [
        ("WINDOWS_CORE_2028_x86_64", "m7i.large"),
        ("AL2023_ARM_64_NEURON", "m7g.large"),
    ] {
        let group = node_group(&format!(
            r#","AmiType":"{newer}","InstanceTypes":["{instance_type}"]"#
        ));
        assert_eq!(machine(&group).problems, [""; 0], "{newer}");
    }
}

#[test]
fn labels_of_a_part_with_another_boundary_are_expected_and_lost() {
    let labelled = AL2023
        .replace("--v=2", "--node-labels=pool=shop")
        .replace("--B", "--BB");
    let text = node_group("").replace(
        &serde_json::to_string(AL2023).unwrap(),
        &serde_json::to_string(&labelled).unwrap(),
    );
    let report = report(&text);
    assert!(report.contains("expected: label pool=shop"), "{report}");
}

#[test]
fn values_that_only_aws_knows_are_requested() {
    let parameters = |kind: &str| {
        format!(
            "Parameters:\n  Cluster: {{ Type: \"{kind}\", Default: /platform/name }}\n  Env: {{ Type: String }}\n"
        )
    };
    let script = "Resources:\n  LT:\n    Type: AWS::EC2::LaunchTemplate\n    Properties:\n      LaunchTemplateData:\n        ImageId: ami-0123456789abcdef0\n        UserData:\n          Fn::Base64: !Sub |\n            #!/bin/bash\n            /etc/eks/bootstrap.sh ${Cluster}\n";
    let plain = script.replace("!Sub |", "|");
    let group = "Resources:\n  NG:\n    Type: AWS::EKS::Nodegroup\n    Properties:\n      ClusterName: shop\n      Labels: { env: !Ref Env }\n";
    let of_ssm = format!("{}{script}", parameters("AWS::SSM::Parameter::Value<String>"));
    let files = [
        ("parameter of SSM", of_ssm.as_str()),
        ("label", &format!("{}{group}", parameters("String"))),
        (
            "text without Fn::Sub",
            &format!("{}{plain}", parameters("String")),
        ),
        (
            "loop",
            "AWSTemplateFormatVersion: '2010-09-09'\nResources:\n  Fn::ForEach::Groups: [Name, [a, b], { \"${Name}\": { Type: AWS::EKS::Nodegroup } }]\n",
        ),
    ];
    insta::assert_snapshot!(all_refused(&files));
    let set = read_with("f", of_ssm.as_bytes(), &[("Cluster", "demo")]).unwrap();
    assert!(user_data(&set.machines[0]).contains("bootstrap.sh demo"));
}

#[test]
fn a_variable_that_the_script_sets_itself_is_not_one_of_the_template() {
    let text = "Parameters:\n  Cluster: { Type: String, Default: demo }\nResources:\n  LT:\n    Type: AWS::EC2::LaunchTemplate\n    Properties:\n      LaunchTemplateData:\n        ImageId: ami-0123456789abcdef0\n        UserData:\n          Fn::Base64: |\n            #!/bin/bash\n            Cluster=shop\n            /etc/eks/bootstrap.sh ${Cluster}\n";
    assert!(user_data(&machine(text)).contains("${Cluster}"));
}

#[test]
fn settings_of_bottlerocket_in_a_template_are_those_of_its_machine() {
    let text = "Resources:\n  LT:\n    Type: AWS::EC2::LaunchTemplate\n    Properties:\n      LaunchTemplateData:\n        ImageId: ami-0123456789abcdef0\n        UserData:\n          Fn::Base64: |\n            [settings.kubernetes]\n            cluster-name = \"demo\"\n            api-server = \"https://x\"\n            cluster-certificate = \"Q0E=\"\n";
    let machine = machine(text);
    assert_eq!(
        (machine.name.as_str(), machine.system),
        ("LT", System::Bottlerocket)
    );
}
