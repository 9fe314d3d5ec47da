//! Machines that are not nodes, beside machines that are.

use super::{base64, read};
use crate::{Imported, Machine};

/// What a bastion host runs.
const BASTION: &str = "#!/bin/bash\n# no bootstrap here\nexec > >(tee /var/log/user-data.log | logger -t user-data) 2>&1\nyum update -y && yum install -y jq\n\
                       curl -LO https://dl.k8s.io/release/v1.33.0/bin/linux/amd64/kubectl\nchmod +x kubectl && mv kubectl /usr/local/bin/\n\
                       aws eks update-kubeconfig --name demo\nsystemctl enable --now sshd\n";
const NODE: &str = "#!/bin/bash\n/etc/eks/bootstrap.sh demo\n";

/// A launch template and an Auto Scaling group of it. `data` and `group` are further properties.
fn machine_of_stack(name: &str, user_data: &str, data: &str, group: &str) -> String {
    let field = match user_data {
        "" => String::new(),
        _ => format!(r#","UserData":"{}""#, base64(user_data)),
    };
    format!(
        r#""{name}":{{"Type":"AWS::EC2::LaunchTemplate","Properties":{{"LaunchTemplateData":{{"ImageId":"ami-{name}"{field}{data}}}}}}},
        "{name}Group":{{"Type":"AWS::AutoScaling::AutoScalingGroup","Properties":{{"LaunchTemplate":{{"LaunchTemplateId":{{"Ref":"{name}"}}}}{group}}}}}"#
    )
}

fn stack(resources: &[String]) -> Imported {
    read(&format!("{{\"Resources\":{{{}}}}}", resources.join(",")))
}

/// The names of the machines that are left out.
fn left_out(imported: &Imported) -> Vec<&str> {
    let machines = imported.machines.iter();
    let machines = machines.filter(|machine| machine.left_out.is_some());
    machines.map(|machine| machine.name.as_str()).collect()
}

fn workers() -> String {
    machine_of_stack("Workers", NODE, r#","IamInstanceProfile":{"Name":"nodes"}"#, "")
}

#[test]
fn a_bastion_host_beside_nodes_is_left_out() {
    let bastion = machine_of_stack("Bastion", BASTION, "", "");
    let imported = stack(&[bastion.clone(), workers()]);
    assert_eq!(left_out(&imported), ["Bastion"]);
    let reason = imported.machines[0].left_out.clone().unwrap();
    assert!(
        reason.starts_with("line 1: it is not a node, as far as the file tells: no node group uses it"),
        "{reason}"
    );
    assert!(
        reason.ends_with("`--select Bastion` tries it nevertheless"),
        "{reason}"
    );
    let alone = stack(&[bastion]);
    assert_eq!((alone.machines.len(), left_out(&alone)), (1, vec![]));
}

#[test]
fn a_machine_with_the_ami_of_a_node_is_tried() {
    let bastion = machine_of_stack("Bastion", BASTION, "", "");
    let shared = bastion.replace("ami-Bastion", "ami-Workers");
    assert_eq!(left_out(&stack(&[workers(), shared])), [""; 0]);
    // A stand-in names no AMI.
    let stand_in = |text: String, name: &str| text.replace(&format!("ami-{name}"), "ami-0123456789abcdef0");
    let imported = stack(&[stand_in(workers(), "Workers"), stand_in(bastion, "Bastion")]);
    assert_eq!(left_out(&imported), ["Bastion"]);
}

#[test]
fn a_host_of_another_service_is_left_out() {
    for user_data in [
        "#!/bin/bash\nyum install -y java\nwget -O /etc/yum.repos.d/jenkins.repo https://pkg.jenkins.io/redhat-stable/jenkins.repo\n\
         yum install -y jenkins\nsystemctl enable --now jenkins\n",
        "#!/bin/bash\nsudo amazon-linux-extras install docker -y\nsudo systemctl enable --now docker\ndocker pull grafana/grafana\n\
         docker run -p 3000:3000 --env A=b -d --name=grafana --restart always grafana/grafana\n",
    ] {
        let host = machine_of_stack("Host", user_data, "", "");
        assert_eq!(left_out(&stack(&[workers(), host])), ["Host"], "{user_data}");
    }
}

#[test]
fn a_host_of_bottlerocket_without_kubernetes_is_left_out() {
    let host = |settings: &str| stack(&[workers(), machine_of_stack("Host", settings, "", "")]);
    let admin = "[settings.host-containers.admin]\nenabled = true\n";
    assert_eq!(left_out(&host(admin)), ["Host"]);
    for settings in [
        "[settings.kubernetes]\ncluster-name = \"demo\"\n",
        "[settings.host-containers.join]\nenabled = true\n",
        "[settings.bootstrap-containers.join]\nmode = \"always\"\n",
    ] {
        assert_eq!(left_out(&host(settings)), [""; 0], "{settings}");
    }
}

#[test]
fn a_nat_instance_without_user_data_is_left_out() {
    let nat = machine_of_stack("Nat", "", "", "");
    let imported = stack(&[workers(), nat]);
    assert_eq!(left_out(&imported), ["Nat"]);
    let reason = imported.machines[1].left_out.clone().unwrap();
    assert!(reason.contains("and it has no user data"), "{reason}");
}

#[test]
fn a_launch_configuration_of_a_jump_host_is_left_out() {
    let jump = format!(
        r#""Jump":{{"Type":"AWS::AutoScaling::LaunchConfiguration","Properties":{{"ImageId":"ami-1","UserData":"{}"}}}},
        "JumpGroup":{{"Type":"AWS::AutoScaling::AutoScalingGroup","Properties":{{"LaunchConfigurationName":{{"Ref":"Jump"}}}}}}"#,
        base64(BASTION)
    );
    assert_eq!(left_out(&stack(&[workers(), jump])), ["Jump"]);
}

#[test]
fn a_machine_that_could_be_a_node_is_tried() {
    let of = |user_data: &str, data: &str, group: &str| {
        stack(&[workers(), machine_of_stack("Other", user_data, data, group)])
    };
    let tag = |key: &str| format!(r#","Tags":[{{"Key":"{key}","Value":"x","PropagateAtLaunch":false}}]"#);
    let image = |name: &str| format!(r#","ImageId":"resolve:ssm:{name}""#);
    let eks =
        image("/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/standard/recommended/image_id");
    for (why, imported) in [
        (
            "tag of a cluster",
            of(BASTION, "", &tag("kubernetes.io/cluster/demo")),
        ),
        (
            "tag of the autoscaler",
            of(BASTION, "", &tag("k8s.io/cluster-autoscaler/enabled")),
        ),
        (
            "named a worker",
            of(
                BASTION,
                r#","TagSpecifications":[{"ResourceType":"instance","Tags":[{"Key":"Name","Value":"gpu-worker"}]}]"#,
                "",
            ),
        ),
        (
            "role of the nodes",
            of(BASTION, r#","IamInstanceProfile":{"Name":"nodes"}"#, ""),
        ),
        (
            "download of a program",
            of("#!/bin/bash\ncurl -O https://example.com/start\n", "", ""),
        ),
        (
            "program of an AMI",
            of("#!/bin/bash\n/opt/company/start demo\n", "", ""),
        ),
        ("program in a variable", of("#!/bin/bash\n$START demo\n", "", "")),
        (
            "playbook",
            of("#!/bin/bash\nansible-pull -U repository\n", "", ""),
        ),
        (
            "another language",
            of("#!/usr/bin/env python3\nprint()\n", "", ""),
        ),
        (
            "kubelet of the AMI",
            of("#!/bin/bash\nsystemctl restart kubelet\n", "", ""),
        ),
        (
            "misspelt bootstrap",
            of("#!/bin/bash\n/etc/eks/bootstrp.sh demo\n", "", ""),
        ),
        (
            "unit of the AMI",
            of("#!/bin/bash\nsystemctl restart company-agent\n", "", ""),
        ),
        (
            "unit with a program of the AMI",
            of(
                "#!/bin/bash\ncat > /etc/systemd/system/a.service <<'E'\n[Service]\nExecStart=/opt/company/start\nE\nsystemctl start a\n",
                "",
                "",
            ),
        ),
        (
            "settings for an AMI",
            of(
                "#cloud-config\nwrite_files:\n- path: /etc/kubernetes/cluster.env\n  content: CLUSTER=demo\n",
                "",
                "",
            ),
        ),
        (
            "settings for a script of EKS",
            of(
                "#!/bin/bash\necho CLUSTER=demo >> /etc/eks/node.env\nreboot\n",
                "",
                "",
            ),
        ),
        (
            "flags of a kubelet",
            of("#!/bin/bash\necho A=b > /etc/default/kubelet\n", "", ""),
        ),
        (
            "container with its host",
            of("#!/bin/bash\ndocker run --privileged example.com/agent\n", "", ""),
        ),
        ("not read by cloud-init", of("echo hello\n", "", "")),
        ("include", of("#include\nhttps://example.com/user-data\n", "", "")),
        ("encoded twice", of(&base64(BASTION), "", "")),
    ] {
        assert_eq!(left_out(&imported), [""; 0], "{why}");
    }
    let with_image =
        machine_of_stack("Other", BASTION, "", "").replace(r#""ImageId":"ami-Other""#, &eks[1..]);
    assert_eq!(left_out(&stack(&[workers(), with_image])), [""; 0]);
    let unused = machine_of_stack("Other", BASTION, "", "").replace(r#"{"Ref":"Other"}"#, r#""lt-1""#);
    assert_eq!(left_out(&stack(&[workers(), unused])), [""; 0]);
    let group = |data: &str| {
        let group =
            r#","G":{"Type":"AWS::EKS::Nodegroup","Properties":{"LaunchTemplate":{"Id":{"Ref":"Other"}}}}"#;
        stack(&[
            workers(),
            format!("{}{group}", machine_of_stack("Other", data, "", "")),
        ])
    };
    for data in ["", BASTION] {
        assert!(!left_out(&group(data)).contains(&"Other/G"));
    }
}

/// A state of Terraform with a launch template and an Auto Scaling group for each name.
fn state(machines: &[(&str, &str)], more: serde_json::Value) -> Vec<Machine> {
    let mut resources: Vec<serde_json::Value> = machines
        .iter()
        .flat_map(|(name, user_data)| {
            let template = serde_json::json!({"address": format!("aws_launch_template.{name}"), "type": "aws_launch_template",
                "values": {"id": format!("lt-{name}"), "image_id": format!("ami-{name}"), "user_data": base64(user_data)}});
            let group = serde_json::json!({"address": format!("aws_autoscaling_group.{name}"), "type": "aws_autoscaling_group",
                "values": {"launch_template": [{"id": format!("lt-{name}")}]}});
            [template, group]
        })
        .collect();
    resources.push(more);
    let state =
        serde_json::json!({"format_version": "1.0", "values": {"root_module": {"resources": resources}}});
    read(&state.to_string()).machines
}

#[test]
fn an_ami_that_terraform_has_read_tells_whether_a_machine_is_a_node() {
    let indexed = state(
        &[("workers", NODE), ("bastion[\"a\"]", BASTION)],
        serde_json::json!({}),
    );
    let reason = indexed[1].left_out.clone().unwrap();
    assert!(
        reason.contains("`--select 'aws_launch_template.bastion[\"a\"]'` tries it"),
        "{reason}"
    );
    let machines = [("workers", NODE), ("bastion", BASTION)];
    let image = |name: &str| serde_json::json!({"address": "data.aws_ami.other", "type": "aws_ami", "values": {"id": "ami-bastion", "name": name}});
    let of = |name: &str| state(&machines, image(name))[1].left_out.clone();
    let reason = of("al2023-ami-2023.7.20250331.0-kernel-6.1-x86_64").unwrap();
    assert!(
        reason.contains("`--select aws_launch_template.bastion` tries it"),
        "{reason}"
    );
    assert_eq!(of("amazon-eks-node-al2023-x86_64-standard-1.33-v20250920"), None);
}
