//! Files of no known tool that contain user data, and texts that only mention how nodes join.

use super::{all_refused, base64, read_with, refused};
use crate::{FileFormat, ImportError};

const CALL: &str = "/etc/eks/bootstrap.sh demo";

#[test]
fn user_data_in_a_file_of_another_tool_is_named_with_its_path() {
    let playbook = "- hosts: localhost\n  tasks:\n    - name: a worker\n      amazon.aws.ec2_instance:\n        name: worker\n        \
                    user_data: |\n          #!/bin/bash\n          /etc/eks/bootstrap.sh demo\n";
    let config = "apiVersion: v1\nkind: ConfigMap\ndata:\n  userdata.sh: |\n    #!/bin/bash\n    echo\n";
    let ocean =
        "{\"resource\": {\"spotinst_ocean_aws\": {\"demo\": {\"user_data\": \"#!/bin/bash\\necho\\n\"}}}}";
    let workflow = "on: push\njobs:\n  nodes:\n    steps:\n      - run: |\n          cat > user-data <<EOF\n          \
                    /etc/eks/bootstrap.sh demo\n          EOF\n";
    let encoded = format!(
        "workers:\n  a: {}\n  b: {}\n  c-d: |\n    #cloud-config\n    runcmd: []\n  e: |\n    #!/bin/sh\n",
        base64("#!/bin/bash\necho\n"),
        base64("/etc/eks/bootstrap.sh demo\n"),
    );
    let second = format!("a: b\n---\nuser: \"{CALL}\"\n");
    insta::assert_snapshot!(all_refused(&[
        ("play.yml", playbook),
        ("config map.yaml", config),
        ("ocean.json", ocean),
        ("workflow.yml", workflow),
        (
            "group.json",
            "{\"nodegroup\": {\"userData\": \"#!/bin/bash\\necho\\n\"}}"
        ),
        ("values.yaml", &encoded),
        ("two.yaml", &second),
    ]));
}

#[test]
fn texts_that_are_no_scripts_are_named() {
    let files = [
        ("README.md", format!("# Nodes\n\n```bash\n{CALL}\n```\n")),
        (
            "guide.txt",
            format!("Use this as user data:\n\n    #!/bin/bash\n    {CALL}\n"),
        ),
        (
            "user-data.patch",
            format!("--- a/u\n+++ b/u\n@@ -1 +1 @@\n-{CALL}\n+{CALL}-2\n"),
        ),
        ("Dockerfile", format!("FROM amazonlinux:2\nRUN {CALL}\n")),
        (
            "Jenkinsfile",
            format!("pipeline {{\n  agent any\n  sh '{CALL}'\n}}\n"),
        ),
        (
            "terragrunt.hcl",
            format!("inputs = {{\n  script = \"{CALL}\"\n}}\n"),
        ),
        (
            "packer.hcl",
            format!("source \"amazon-ebs\" \"node\" {{\n  user_data = \"{CALL}\"\n}}\n"),
        ),
        (
            "recipe.rb",
            format!("aws_instance 'a' do\n  user_data <<~EOF\n    {CALL}\n  EOF\nend\n"),
        ),
        (
            "Makefile",
            format!("launch:\n\taws ec2 run-instances --user-data '{CALL}'\n"),
        ),
        ("page.html", format!("<pre>{CALL}</pre>\n")),
        (
            "console.txt",
            format!("[   12.345678] cloud-init[812]: + {CALL}\n"),
        ),
        ("start.ps1", format!("$script = \"{CALL}\"\n")),
        ("mail.txt", format!("Hello, {CALL} fails for us\n")),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    insta::assert_snapshot!(all_refused(&files));
}

#[test]
fn scripts_without_a_first_line_for_the_shell_are_tried() {
    for text in [
        format!("{CALL}\n"),
        format!("set -ex\nsudo {CALL} --kubelet-extra-args '--node-labels=a=b'\n"),
        format!("# The user data of our nodes.\n#!/bin/bash\n{CALL}\n"),
        format!("$SUDO {CALL}\n"),
        format!("if ! {CALL}; then\n  shutdown -h now\nfi\n"),
        format!("cat > /root/join <<EOF\n#!/bin/bash\n{CALL}\nEOF\nbash /root/join\n"),
        "SCRIPT=/etc/eks/bootstrap.sh\n$SCRIPT demo\n".to_owned(),
        format!("su - root -c \"{CALL}\"\n"),
        "export A=b; nodeadm init --config-source file:///etc/node.yaml\n".to_owned(),
        "kubeadm join 10.0.0.1:6443 --token a.b\n".to_owned(),
        "function join() {\n  /etc/eks/bootstrap.sh demo\n}\njoin\n".to_owned(),
    ] {
        let imported = read_with("user-data", text.as_bytes(), &[]);
        let format = imported.map(|imported| imported.format);
        assert_eq!(
            format.as_ref().ok(),
            Some(&FileFormat::ShellScript),
            "{text}: {format:?}"
        );
    }
}

#[test]
fn descriptions_without_user_data_name_the_command_that_has_it() {
    insta::assert_snapshot!(all_refused(&[
        ("instances.json", "{\"Reservations\": [{\"Instances\": []}]}"),
        ("templates.json", "{\"LaunchTemplates\": []}"),
        ("groups.json", "{\"AutoScalingGroups\": []}"),
        ("group.json", "{\"nodegroup\": {\"nodegroupName\": \"a\"}}"),
        ("main.tf.json", "{\"resource\": {}}"),
    ]));
}

#[test]
fn a_file_without_user_data_stays_unknown() {
    for text in ["a: b\n", "- a\n- b: c\n", "{\"a\": \"b\"}", "just words\n"] {
        let error = read_with("x", text.as_bytes(), &[]).unwrap_err();
        assert!(
            matches!(error, ImportError::NotRecognized { .. }),
            "{text}: {error}"
        );
    }
}

#[test]
fn the_output_of_get_template_is_its_template() {
    let template = format!(
        "Resources:\n  Nodes:\n    Type: AWS::EC2::LaunchTemplate\n    Properties:\n      LaunchTemplateData:\n        \
         UserData:\n          Fn::Base64: |\n            #!/bin/bash\n            {CALL}\n"
    );
    let output = |body: serde_json::Value| serde_json::json!({ "TemplateBody": body }).to_string();
    let properties = serde_json::json!({ "LaunchTemplateData": { "UserData": { "Fn::Base64": format!("#!/bin/bash\n{CALL}\n") } } });
    let resource = serde_json::json!({ "Type": "AWS::EC2::LaunchTemplate", "Properties": properties });
    let map = serde_json::json!({ "Resources": { "Nodes": resource } });
    for output in [
        output(template.into()),
        output(map.clone()),
        output(map.to_string().into()),
    ] {
        let imported = read_with("template.json", output.as_bytes(), &[]).unwrap();
        assert_eq!(imported.format, FileFormat::CloudFormation, "{output}");
        let machine = &imported.machines[0];
        assert_eq!(machine.name, "Nodes", "{output}");
        assert_eq!(
            super::user_data(machine),
            format!("#!/bin/bash\n{CALL}\n"),
            "{output}"
        );
    }
}

#[test]
fn commands_around_manifests_are_not_taken_for_yaml() {
    let manifest = "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: { name: demo }\n";
    for (text, line, end) in [
        (
            format!("cat <<EOF | envsubst | kubectl apply -f -\n{manifest}EOF\n"),
            1,
            "EOF",
        ),
        (
            format!("export A=b\n\neksctl create cluster -f - <<'YAML'\n---\n{manifest}YAML\n"),
            3,
            "YAML",
        ),
        (
            format!("cat > a <<A\nb\nA\ncat > c.yaml <<B\n{manifest}B\n"),
            4,
            "B",
        ),
    ] {
        let error = refused("apply", &text);
        assert!(
            error.starts_with(&format!("line {line}: a script that hands manifests to a tool"))
                && error.contains(&format!("between `<<{end}` and `{end}`")),
            "{error}"
        );
    }
    for text in [
        format!("cat > a <<A\nb\nA\n{manifest}"),
        format!("{manifest}a: |\n  b\n c <<EOF\n{manifest}EOF\n"),
        "cat <<EOF > a\napiVersion: node.eks.aws/v1alpha1\nEOF\n".to_owned(),
    ] {
        let error = refused("apply", &text);
        assert!(!error.contains("hands manifests"), "{error}");
    }
}

#[test]
fn a_value_that_a_template_engine_fills_in_is_not_rendered_yet() {
    let value = format!("{{{{ '#!/bin/bash\n{CALL}' | b64encode }}}}\n");
    let error = refused("-", &value);
    assert!(
        error.starts_with("line 1: a template that is not rendered yet")
            && error.contains("its tool, such as Ansible or Helm"),
        "{error}"
    );
}
