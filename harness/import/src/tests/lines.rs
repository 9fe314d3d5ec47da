//! Messages name lines of the file where it contains the user data as it is, and say of what other lines count.

use std::collections::BTreeMap;

use super::{base64, read_with};
use crate::{AdoptError, adopt};

/// A message whose NodeConfig has an unknown field in line 15, behind its end in line 17.
const MESSAGE: &str = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\n\
                       Content-Type: application/node.eks.aws\n\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: demo\n    \
                       apiServerEndpoint: https://test-cluster\n    certificateAuthority: Y2VydGlmaWNhdGU=\n    cidr: 10.100.0.0/16\n  taints: [a]\n--B--\n\
                       echo behind\n";

/// The report about the first machine of a file, or its error.
fn report(name: &str, text: &str) -> String {
    let imported = match read_with(name, text.as_bytes(), &[]) {
        Ok(imported) => imported,
        Err(error) => return error.to_string(),
    };
    match adopt(&imported.machines[0], &BTreeMap::new()) {
        Ok(trial) => trial
            .report
            .iter()
            .map(|line| format!("{}\n", line.text))
            .collect(),
        Err(error) => error.to_string(),
    }
}

/// A text as a block of YAML with these blanks before its lines.
fn block(text: &str, blanks: usize) -> String {
    let indent = " ".repeat(blanks);
    text.lines().map(|line| format!("{indent}{line}\n")).collect()
}

fn stack(user_data: &str) -> String {
    format!(
        "Parameters:\n  Name: {{ Type: String, Default: demo }}\nResources:\n  Nodes:\n    Type: AWS::EC2::LaunchTemplate\n    Properties:\n      \
         LaunchTemplateData:\n        ImageId: ami-0123456789abcdef0\n        UserData:\n          Fn::Base64: {user_data}"
    )
}

fn assert_has(text: &str, pieces: &[&str]) {
    for piece in pieces {
        assert!(text.contains(piece), "missing: {piece}\n{text}");
    }
}

#[test]
fn a_file_of_user_data_has_its_own_lines() {
    let expected = [
        "has no field `spec.taints` (line 15) and",
        "line 17 and what follows it are behind the end",
    ];
    assert_has(&report("user-data.txt", MESSAGE), &expected);
}

#[test]
fn blocks_of_yaml_have_the_lines_of_their_file() {
    let sub = stack(&format!(
        "!Sub |\n{}",
        block(&MESSAGE.replace("demo", "${Name}"), 12)
    ));
    let node_class = format!(
        "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {{ name: default }}\nspec:\n  amiFamily: AL2023\n  \
         amiSelectorTerms: [{{ alias: al2023@latest }}]\n  role: nodes\n  userData: |\n{}",
        block(MESSAGE, 4)
    );
    for (name, file, first) in [("stack.yaml", sub, 10), ("class.yaml", node_class, 8)] {
        let field = format!("has no field `spec.taints` (line {}) and", first + 15);
        assert_has(&report(name, &file), &[&field]);
    }
    let group = format!(
        "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: {{ name: demo, region: eu-west-1 }}\nnodeGroups:\n- name: ng\n  \
         amiFamily: AmazonLinux2\n  ami: ami-0123456789abcdef0\n  overrideBootstrapCommand: |\n{}",
        block(
            "#!/bin/bash\nmkdir -p /etc/systemd/system/kubelet.d\n/etc/eks/bootstrap.sh demo \\ \n",
            4
        )
    );
    assert_has(
        &report("cluster.yaml", &group),
        &[
            "of a folder `kubelet.d` (line 10):",
            "`/etc/eks/bootstrap.sh demo` in line 11:",
        ],
    );
}

#[test]
fn other_lines_say_of_what_they_count() {
    let expected = [
        "has no field `spec.taints` (line 15 of the user data) and",
        "line 17 of the user data and what follows it are behind the end",
    ];
    let versions = format!(
        "{{\"LaunchTemplateVersions\": [{{\"LaunchTemplateName\": \"a\", \"LaunchTemplateData\": {{\"UserData\": \"{}\"}}}}]}}",
        base64(MESSAGE)
    );
    assert_has(&report("versions.json", &versions), &expected);
    let quoted = stack(&format!("{MESSAGE:?}\n"));
    assert_has(&report("stack.yaml", &quoted), &expected);
    assert_has(&report("user-data.b64", &base64(MESSAGE)), &expected);
}

#[test]
fn values_that_are_not_filled_in_have_the_lines_of_the_file() {
    let script = "#!/bin/bash\nset -e\n/etc/eks/bootstrap.sh <cluster-name>\n";
    let plain = stack(&format!("|\n{}", block(script, 12)));
    assert_has(
        &report("stack.yaml", &plain),
        &["not filled in: line 13 `<cluster-name>`"],
    );
    let quoted = stack(&format!("{script:?}\n"));
    assert_has(
        &report("stack.yaml", &quoted),
        &["not filled in: line 3 of the user data `<cluster-name>`"],
    );
    let hidden = format!(
        "#cloud-config\nwrite_files:\n- {{ path: /x.sh, encoding: b64, content: {} }}\nruncmd: [/x.sh]\n",
        base64(script)
    );
    let imported = read_with("user-data", hidden.as_bytes(), &[]).unwrap();
    let error = adopt(&imported.machines[0], &BTreeMap::new()).unwrap_err();
    assert!(matches!(error, AdoptError::Placeholders { .. }), "{error}");
    assert_has(&error.to_string(), &["line 3 of the file /x.sh `<cluster-name>`"]);
}

#[test]
fn errors_of_user_data_have_the_lines_of_the_file() {
    let settings = "[settings.kubernetes]\nmax-pods = 10\ncluster-domian = \"x\"\n";
    let launch_template = |user_data: &str| {
        stack(user_data).replace("ImageId: ami-0123456789abcdef0", "ImageId: ami-0123456789abcdef1")
    };
    let plain = launch_template(&format!("|\n{}", block(settings, 12)));
    assert_has(
        &report("stack.yaml", &plain),
        &["line 13: unknown setting `settings.kubernetes.cluster-domian`"],
    );
    let quoted = launch_template(&format!("{settings:?}\n"));
    assert_has(
        &report("stack.yaml", &quoted),
        &["line 3 of the user data: unknown setting `settings.kubernetes.cluster-domian`"],
    );
    let node_class = format!(
        "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {{ name: default }}\nspec:\n  amiFamily: Bottlerocket\n  \
         amiSelectorTerms: [{{ alias: bottlerocket@latest }}]\n  role: nodes\n  userData: |\n{}",
        block(settings, 4)
    );
    assert_has(&report("class.yaml", &node_class), &["line 11: unknown setting"]);
    let encoded = report("settings.b64", &base64(settings));
    assert_has(&encoded, &["line 3 of the user data: unknown setting"]);
}
