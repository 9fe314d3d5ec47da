//! Values of a file that contradict each other, or that EC2 refuses.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{SCRIPT, base64, machine, read};
use crate::{Machine, adopt};

fn resource(kind: &str, name: &str, values: Value) -> Value {
    json!({"address": format!("{kind}.{name}"), "type": kind, "name": name, "values": values})
}

fn template(user_data: &str, more: &Value) -> Value {
    let mut values = json!({"name": "w", "image_id": "ami-0123456789abcdef0", "iam_instance_profile": [{"name": "p"}],
        "user_data": base64(user_data)});
    for (key, value) in more.as_object().unwrap() {
        values[key] = value.clone();
    }
    resource("aws_launch_template", "w", values)
}

/// An Auto Scaling group of the template, with the tag of a cluster.
fn group(name: &str, cluster: &str) -> Value {
    let tag = json!({"key": format!("kubernetes.io/cluster/{cluster}"), "value": "owned", "propagate_at_launch": true});
    let values = json!({"launch_template": [{"name": "w"}], "tag": [tag]});
    resource("aws_autoscaling_group", name, values)
}

fn state(resources: &[Value]) -> Machine {
    let text = json!({"format_version": "1.0", "terraform_version": "1.9.0",
        "values": {"root_module": {"resources": resources}}});
    machine(&text.to_string())
}

fn report(machine: &Machine) -> String {
    let trial = adopt(machine, &BTreeMap::new()).unwrap();
    let lines = trial
        .report
        .iter()
        .map(|line| format!("{}: {}\n", line.kind, line.text));
    lines.collect()
}

#[test]
fn instances_of_a_group_without_an_instance_profile_have_no_credentials() {
    let without = json!({"iam_instance_profile": []});
    let problem = "note: the instances have no instance profile, and so no credentials";
    let found = report(&state(&[template(SCRIPT, &without), group("a", "demo")]));
    assert!(found.contains(problem), "{found}");
    let kubeadm = "#!/bin/bash\nkubeadm join api.example.com:443 --token abcdef.0123456789abcdef\n";
    for resources in [
        vec![template(SCRIPT, &json!({})), group("a", "demo")],
        // A managed node group can use the template.
        vec![template(SCRIPT, &without)],
        vec![template(kubeadm, &without), group("a", "demo")],
    ] {
        let found = report(&state(&resources));
        assert!(!found.contains(problem), "{found}");
    }
    let stack = |profile: &str| {
        let text = json!({"Resources": {"LC": {"Type": "AWS::AutoScaling::LaunchConfiguration", "Properties":
            {"ImageId": "ami-0123456789abcdef0", "UserData": base64(SCRIPT)}}}});
        machine(
            &text
                .to_string()
                .replace("\"ImageId\"", &format!("{profile}\"ImageId\"")),
        )
    };
    assert!(report(&stack("")).contains(problem));
    assert!(!report(&stack("\"IamInstanceProfile\":\"p\",")).contains(problem));
    let pulumi = |more: Value| {
        let mut inputs = json!({"imageId": "ami-0123456789abcdef0", "userData": SCRIPT});
        for (key, value) in more.as_object().unwrap() {
            inputs[key] = value.clone();
        }
        let kind = "aws:ec2/launchConfiguration:LaunchConfiguration";
        let text = json!({"version": 3, "deployment": {"resources": [
            {"urn": format!("urn:pulumi:dev::p::{kind}::lc"), "type": kind, "inputs": inputs}]}});
        machine(&text.to_string())
    };
    assert!(report(&pulumi(json!({}))).contains(problem));
    assert!(!report(&pulumi(json!({"iamInstanceProfile": "p"}))).contains(problem));
}

#[test]
fn the_arn_of_a_role_is_not_that_of_an_instance_profile() {
    let of = |arn: &str| {
        let data = json!({"LaunchTemplateData": {"ImageId": "ami-0123456789abcdef0", "UserData": base64(SCRIPT),
            "IamInstanceProfile": {"Arn": arn}}});
        report(&machine(&data.to_string()))
    };
    let role = of("arn:aws:iam::111122223333:role/p");
    assert!(
        role.contains("note: EC2 starts no instance: the instance profile has the ARN of a role"),
        "{role}"
    );
    let profile = of("arn:aws:iam::111122223333:instance-profile/p");
    assert!(!profile.contains("EC2 starts no instance"), "{profile}");
}

#[test]
fn values_that_ec2_refuses_are_problems_of_each_format() {
    let data = json!({"LaunchTemplateData": {"ImageId": "/aws/service/eks/optimized-ami/1.30/amazon-linux-2/recommended/image_id",
        "InstanceType": "m5.larg", "UserData": base64(SCRIPT), "MetadataOptions": {"HttpTokens": "Required"}}});
    assert_eq!(machine(&data.to_string()).problems.len(), 3);
    let values = json!({"instance_type": "m5.larg", "metadata_options": [{"http_tokens": "Required"}]});
    assert_eq!(state(&[template(SCRIPT, &values)]).problems.len(), 2);
    let mut resource = json!({"Type": "AWS::EC2::LaunchTemplate", "Properties": data});
    let stack = |resource: &Value| json!({"Resources": {"LT": resource}}).to_string();
    assert_eq!(machine(&stack(&resource)).problems.len(), 3);
    // CloudFormation replaces a parameter of this type by the id of the AMI.
    resource["Properties"]["LaunchTemplateData"]["ImageId"] = json!({"Ref": "Image"});
    let parameter = json!({"Type": "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>",
        "Default": "/aws/service/eks/optimized-ami/1.30/amazon-linux-2/recommended/image_id"});
    let text = json!({"Parameters": {"Image": parameter}, "Resources": {"LT": resource}}).to_string();
    assert_eq!(machine(&text).problems.len(), 2);
}

#[test]
fn the_name_of_a_profile_and_the_architecture_of_an_ami_are_checked_in_each_format() {
    let arn = "arn:aws:iam::111122223333:instance-profile/p";
    let image = "resolve:ssm:/aws/service/eks/optimized-ami/1.31/amazon-linux-2023/x86_64/nvidia/recommended/image_id";
    let data = json!({"LaunchTemplateData": {"ImageId": image, "InstanceType": "m6g.large", "UserData": base64(SCRIPT),
        "IamInstanceProfile": {"Name": arn}}});
    let stack = json!({"Resources": {"LT": {"Type": "AWS::EC2::LaunchTemplate", "Properties": data}}});
    let values =
        json!({"image_id": image, "instance_type": "m6g.large", "iam_instance_profile": [{"name": arn}]});
    let kind = "aws:ec2/launchTemplate:LaunchTemplate";
    let inputs = json!({"imageId": image, "instanceType": "m6g.large", "iamInstanceProfile": {"name": arn},
        "userData": base64(SCRIPT)});
    let pulumi = json!({"version": 3, "deployment": {"resources": [
        {"urn": format!("urn:pulumi:dev::p::{kind}::lt"), "type": kind, "inputs": inputs}]}});
    for machine in [
        machine(&data.to_string()),
        machine(&stack.to_string()),
        state(&[template(SCRIPT, &values)]),
        machine(&pulumi.to_string()),
    ] {
        let problems = machine.problems.join("\n");
        assert!(
            problems.contains("the name of the instance profile is an ARN")
                && problems.contains("is one for x86_64, and the instance type m6g.large has arm64"),
            "{problems}"
        );
    }
}

#[test]
fn an_ami_that_is_newer_than_the_cluster_is_noted() {
    let of = |version: &str| {
        let image = "resolve:ssm:/aws/service/eks/optimized-ami/1.31/amazon-linux-2023/x86_64/standard/recommended/image_id";
        let cluster = resource(
            "aws_eks_cluster",
            "c",
            json!({"name": "demo", "version": version}),
        );
        report(&state(&[template(SCRIPT, &json!({"image_id": image})), cluster]))
    };
    let older = of("1.28");
    assert!(
        older.contains("note: the AMI has Kubernetes 1.31, and the cluster 1.28"),
        "{older}"
    );
    for version in ["1.31", "1.32"] {
        assert!(!of(version).contains("the AMI has Kubernetes"), "{version}");
    }
}

#[test]
fn a_flag_for_another_address_family_than_that_of_the_cluster_is_noted() {
    let of = |flag: &str, family: &str| {
        let script = format!("#!/bin/bash\n/etc/eks/bootstrap.sh demo --ip-family {flag}\n");
        let network = json!([{"ip_family": family, "service_ipv6_cidr": "fd12::/108"}]);
        let values = json!({"name": "demo", "version": "1.30", "kubernetes_network_config": network});
        let cluster = resource("aws_eks_cluster", "c", values);
        report(&state(&[template(&script, &json!({})), cluster]))
    };
    for (flag, family) in [("ipv4", "ipv6"), ("ipv6", "ipv4")] {
        let found = of(flag, family);
        let problem = format!(
            "the user data has `--ip-family {flag}`, and the address family of the cluster in the rest of the file is {family}"
        );
        assert!(found.contains(&problem), "{found}");
        assert!(
            !of(family, family).contains("the address family of the cluster"),
            "{family}"
        );
    }
}

#[test]
fn tags_of_several_clusters_are_noted() {
    let mut both = group("a", "demo");
    let other = group("a", "other")["values"]["tag"][0].clone();
    both["values"]["tag"].as_array_mut().unwrap().push(other);
    let found = report(&state(&[template(SCRIPT, &json!({})), both]));
    assert!(
        found.contains("note: tags name several clusters (demo, other)"),
        "{found}"
    );
    let groups = [
        template(SCRIPT, &json!({})),
        group("a", "demo"),
        group("b", "demo"),
    ];
    assert!(!report(&state(&groups)).contains("several clusters"));
}

#[test]
fn a_machine_whose_condition_does_not_hold_is_named() {
    let text = |user_data: &str| {
        format!(
            "Parameters: {{ UseGpu: {{ Type: String, Default: \"false\" }} }}\n\
             Conditions: {{ Wanted: !Equals [!Ref UseGpu, \"true\"], Gpu: !And [Condition: Wanted, !Equals [a, a]] }}\nResources:\n  \
             A:\n    Type: AWS::EC2::LaunchTemplate\n    Condition: Gpu\n    \
             Properties: {{ LaunchTemplateData: {{ ImageId: ami-1, UserData: {{ \"Fn::Base64\": \"{user_data}\" }} }} }}\n  \
             B:\n    Type: AWS::EC2::LaunchTemplate\n    \
             Properties: {{ LaunchTemplateData: {{ ImageId: ami-1, UserData: {{ \"Fn::Base64\": \"#!/bin/bash\\n/etc/eks/bootstrap.sh cpu\\n\" }} }} }}\n"
        )
    };
    let imported = read(&text("#!/bin/bash\\n/etc/eks/bootstrap.sh gpu\\n"));
    assert_eq!(imported.machines.len(), 1);
    assert_eq!(
        imported.notes,
        ["`A` is not tried: its condition `Gpu` does not hold; `--set UseGpu=VALUE` changes it"]
    );
    assert_eq!(read(&text("#!/bin/bash\\nyum install jq\\n")).notes, [""; 0]);
}

#[test]
fn a_role_that_lacks_a_right_is_noted() {
    let trust = |service: &str| json!({"Statement": [{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}]});
    let stack = |service: &str, policy: &str, more: Value| {
        let arn = json!({"Fn::Sub": format!("arn:${{AWS::Partition}}:iam::aws:policy/{policy}")});
        let role = json!({"AssumeRolePolicyDocument": trust(service), "ManagedPolicyArns": [arn]});
        let data = json!({"ImageId": "ami-0123456789abcdef0", "UserData": base64(SCRIPT),
            "IamInstanceProfile": {"Arn": {"Fn::GetAtt": ["Profile", "Arn"]}}});
        let mut text = json!({"Resources": {
            "Role": {"Type": "AWS::IAM::Role", "Properties": role},
            "Profile": {"Type": "AWS::IAM::InstanceProfile", "Properties": {"Roles": [{"Ref": "Role"}]}},
            "LT": {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": data}}}});
        if more != Value::Null {
            text["Resources"]["Policy"] =
                json!({"Type": "AWS::IAM::Policy", "Properties": {"Roles": [more]}});
        }
        report(&machine(&text.to_string()))
    };
    let state_of = |service: &str, policy: &str| {
        let values = json!({"name": "nodes", "assume_role_policy": trust(service).to_string()});
        let arn = format!("arn:aws:iam::aws:policy/{policy}");
        report(&state(&[
            template(SCRIPT, &json!({})),
            resource(
                "aws_iam_instance_profile",
                "p",
                json!({"name": "p", "role": "nodes"}),
            ),
            resource("aws_iam_role", "r", values),
            resource(
                "aws_iam_role_policy_attachment",
                "a",
                json!({"role": "nodes", "policy_arn": arn}),
            ),
        ]))
    };
    let (ec2, cni, worker) = (
        "ec2.amazonaws.com",
        "AmazonEKS_CNI_Policy",
        "AmazonEKSWorkerNodePolicy",
    );
    let no_trust = "note: EC2 cannot assume the role";
    // Another file may attach the policy: this is not a mistake.
    let no_right =
        "that allows eks:DescribeCluster, only AmazonEKS_CNI_Policy, and bootstrap.sh needs that right";
    for found in [stack(ec2, worker, Value::Null), state_of(ec2, worker)] {
        assert!(!found.contains(no_trust) && !found.contains(no_right), "{found}");
    }
    for found in [
        stack("eks.amazonaws.com", cni, Value::Null),
        state_of("eks.amazonaws.com", cni),
    ] {
        assert!(found.contains(no_trust) && found.contains(no_right), "{found}");
    }
    let mistakes = stack(ec2, cni, Value::Null);
    assert!(
        mistakes.contains("note: this file attaches no policy to the role"),
        "{mistakes}"
    );
    assert!(
        mistakes.contains("unless something outside of the file does\n"),
        "{mistakes}"
    );
    assert!(!stack(ec2, cni, json!({"Ref": "Role"})).contains(no_right));
    assert!(stack(ec2, cni, json!("another")).contains(no_right));
}
