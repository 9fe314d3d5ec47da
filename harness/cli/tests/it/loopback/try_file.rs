//! `nodejoin try` and `nodejoin init` as far as they need no container engine: what they read, refuse and write.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{both, folder};

const SCRIPT: &str = "#!/bin/bash
set -o errexit
/etc/eks/bootstrap.sh demo --apiserver-endpoint https://test-cluster --service-ipv4-cidr 172.20.0.0/16 \\
  --kubelet-extra-args '--node-labels=team=web --max-pods=20'
";

/// `#!/bin/bash` and a bootstrap call in base64, twice.
const VERSIONS: &str = r#"{"LaunchTemplateVersions":[
 {"LaunchTemplateName":"blue","VersionNumber":1,"LaunchTemplateData":{"ImageId":"ami-0123456789abcdef0","UserData":"IyEvYmluL2Jhc2gKL2V0Yy9la3MvYm9vdHN0cmFwLnNoIGRlbW8K"}},
 {"LaunchTemplateName":"green","VersionNumber":7,"LaunchTemplateData":{"ImageId":"ami-0123456789abcdef0","UserData":"IyEvYmluL2Jhc2gKL2V0Yy9la3MvYm9vdHN0cmFwLnNoIGRlbW8K"}}]}"#;

/// Exit code and output of a command without a container engine.
fn output(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_nodejoin"))
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("HOME", folder)
        .env("DOCKER_HOST", "unix:///nonexistent/docker.sock")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = both(&output).replace(&folder.display().to_string(), "FOLDER");
    (output.status.code().unwrap(), text)
}

#[test]
fn a_script_is_adopted_and_reported_before_anything_starts() {
    let folder = folder(&[("user-data.sh", SCRIPT)]);
    let (code, text) = output(folder.path(), &["try", "user-data.sh"]);
    assert_eq!(code, 3, "there is no container engine: {text}");
    insta::assert_snapshot!("try_script", text);
}

/// A bastion host is in the file of many clusters.
#[test]
fn a_machine_that_is_not_a_node_is_left_out_unless_it_is_selected() {
    let machine = |name: &str, command: &str| {
        format!(
            "  {name}:\n    Type: AWS::AutoScaling::LaunchConfiguration\n    Properties:\n      ImageId: ami-0123456789abcdef0\n      UserData: !Base64 \"#!/bin/bash\\n{command}\\n\"\n  \
             {name}Group:\n    Type: AWS::AutoScaling::AutoScalingGroup\n    Properties: {{ LaunchConfigurationName: !Ref {name} }}\n"
        )
    };
    let template = format!(
        "Resources:\n{}{}",
        machine("Bastion", "yum update -y"),
        machine("Workers", "/etc/eks/bootstrap.sh demo")
    );
    let folder = folder(&[("stack.yaml", &template)]);
    let (code, text) = output(folder.path(), &["try", "stack.yaml", "--write", "all"]);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("not tried    Bastion: line 6: it is not a node"),
        "{text}"
    );
    assert!(text.contains("workers.yaml"), "{text}");
    assert!(!text.contains("bastion.yaml"), "{text}");
    let arguments = ["try", "stack.yaml", "--select", "Bastion", "--write", "selected"];
    let (code, text) = output(folder.path(), &arguments);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("bastion.yaml") && !text.contains("not tried"),
        "{text}"
    );
}

#[test]
fn errors_of_the_input_name_the_file_and_the_next_step() {
    let folder = folder(&[
        (
            "placeholders.sh",
            "#!/bin/bash\n/etc/eks/bootstrap.sh <cluster-name>\n",
        ),
        (
            "bottlerocket.toml",
            "[settings.kubernetes]\ncluster-name = \"demo\"\n",
        ),
        ("notes.txt", "remember the milk\n"),
        ("versions.json", VERSIONS),
        ("calls.sh", SCRIPT),
    ]);
    let calls: [&[&str]; 8] = [
        &["try", "placeholders.sh"],
        &["try", "bottlerocket.toml"],
        &["try", "notes.txt"],
        &["try", "missing.sh"],
        &["try", "versions.json", "--select", "red"],
        &["try", "placeholders.sh", "--set", "cluster-name"],
        &[
            "try",
            "placeholders.sh",
            "--set",
            "cluster-name=demo",
            "--bootstrap",
            "missing.sh",
        ],
        &["try", "calls.sh", "--bootstrap", "calls.sh"],
    ];
    let mut all = String::new();
    for arguments in calls {
        let (code, text) = output(folder.path(), arguments);
        assert_eq!(code, 2, "{text}");
        all.push_str(&format!("$ nodejoin {}\n{text}\n", arguments.join(" ")));
    }
    insta::assert_snapshot!("try_errors", all);
}

#[test]
fn run_points_to_try_for_files_of_other_tools() {
    let folder = folder(&[("user-data.sh", SCRIPT), ("versions.json", VERSIONS)]);
    for (file, format) in [
        ("user-data.sh", "a script"),
        (
            "versions.json",
            "the output of `aws ec2 describe-launch-template-versions`",
        ),
    ] {
        let (code, text) = output(folder.path(), &["run", file]);
        assert_eq!(code, 2, "{text}");
        assert!(
            text.contains(&format!("{file}: expected a scenario, found {format}\n")),
            "{text}"
        );
        assert!(text.contains(&format!("run `nodejoin try {file}`")), "{text}");
    }
}

#[test]
fn the_remedy_for_another_ami_is_in_the_file_that_names_it() {
    let template = "Resources:\n  Template:\n    Type: AWS::EC2::LaunchTemplate\n    Properties:\n      LaunchTemplateData:\n        \
                    ImageId: resolve:ssm:/aws/service/eks/optimized-ami/1.30/amazon-linux-2023/x86_64/standard/recommended/image_id\n        \
                    UserData: !Base64 \"#!/bin/bash\\n/etc/eks/bootstrap.sh demo\\n\"\n";
    let folder = folder(&[("stack.yaml", template)]);
    let (_, text) = output(folder.path(), &["try", "stack.yaml"]);
    assert!(
        text.contains("or name an AMI of Amazon Linux 2 in stack.yaml"),
        "{text}"
    );
    let (_, text) = output(folder.path(), &["try", "stack.yaml", "--with", "image: al2023"]);
    assert!(text.contains("add `--with 'image: al2'`"), "{text}");
}

#[test]
fn a_machine_that_is_not_filled_in_keeps_no_other_one_from_its_trial() {
    let unfilled = "IyEvYmluL2Jhc2gKL2V0Yy9la3MvYm9vdHN0cmFwLnNoIDxjbHVzdGVyLW5hbWU+Cg==";
    let filled = "IyEvYmluL2Jhc2gKL2V0Yy9la3MvYm9vdHN0cmFwLnNoIGRlbW8K";
    let folder = folder(&[("versions.json", &VERSIONS.replacen(filled, unfilled, 1))]);
    let (code, text) = output(folder.path(), &["try", "versions.json"]);
    assert_eq!(code, 3, "there is no container engine: {text}");
    assert!(
        text.contains("not tried") && text.contains("<cluster-name>"),
        "{text}"
    );
    assert!(text.contains("adopted      cluster name demo"), "{text}");
    let (code, _) = output(folder.path(), &["try", "versions.json", "--write", "all"]);
    assert_eq!(code, 1, "one machine is not written");
    let (_, text) = output(folder.path(), &["try", "versions.json", "--select", "green"]);
    assert!(!text.contains("not tried"), "{text}");
    let (code, text) = output(folder.path(), &["try", "versions.json", "--select", "blue"]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("--set 'cluster-name=VALUE'"), "{text}");
}

/// The plan of a scenario without the paths of its files.
fn plan(folder: &Path, file: &str) -> serde_json::Value {
    let output = Command::new(env!("CARGO_BIN_EXE_nodejoin"))
        .args(["plan", file])
        .current_dir(folder)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", both(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn written_scenarios_are_complete_and_nothing_is_overwritten() {
    let folder = folder(&[("user-data.sh", SCRIPT)]);
    let write = ["try", "user-data.sh", "--write", "saved"];
    let (code, text) = output(folder.path(), &write);
    assert_eq!(code, 0, "{text}");
    let plan = plan(folder.path(), "saved/user-data-sh.yaml");
    assert_eq!(plan["id"], "user-data-sh");
    assert_eq!(plan["cluster"]["name"], "demo");
    assert_eq!(plan["cluster"]["endpoint"], "https://test-cluster");
    assert_eq!(plan["cluster"]["service_ipv4_cidr"], "172.20.0.0/16");
    assert_eq!(plan["user_data"]["replace"], "cluster");
    assert_eq!(plan["expect"]["node"]["labels"]["team"], "web");
    assert_eq!(plan["expect"]["node"]["capacity"]["pods"], 20);
    let overlay = plan["image"]["overlay"].as_array().unwrap();
    assert!(
        overlay
            .iter()
            .any(|file| file["to"] == "/etc/eks/bootstrap-functions.sh"),
        "{overlay:?}"
    );

    assert_eq!(output(folder.path(), &write).0, 0, "equal files do not conflict");
    std::fs::write(folder.path().join("saved/user-data-sh.yaml"), "name: mine\n").unwrap();
    let (code, text) = output(folder.path(), &write);
    assert_eq!(code, 2);
    assert!(
        text.contains("exists and has other content; nothing is written"),
        "{text}"
    );
}

#[test]
fn keys_of_the_command_line_are_those_of_the_scenario() {
    let folder = folder(&[
        ("user-data.sh", SCRIPT),
        ("keys.yaml", "aws: { parameters: { /demo: x } }\n"),
    ]);
    let try_with = |keys: &[&str]| {
        let with = keys.iter().flat_map(|keys| ["--with", keys]);
        let arguments: Vec<&str> = ["try", "user-data.sh", "--write", "saved"]
            .into_iter()
            .chain(with)
            .collect();
        output(folder.path(), &arguments)
    };
    let (code, text) = try_with(&[
        "keys.yaml",
        "{ network: open, cluster: { authentication_mode: API } }",
    ]);
    assert_eq!(code, 0, "{text}");
    let plan = plan(folder.path(), "saved/user-data-sh.yaml");
    assert_eq!(plan["network"], "open");
    assert_eq!(plan["aws"]["parameters"]["/demo"], "x", "{}", plan["aws"]);
    assert_eq!(plan["cluster"]["name"], "demo", "the keys of the file stay");

    for (keys, expected) in [
        (
            "missing.yaml",
            "error: `--with missing.yaml` is neither a file nor a mapping",
        ),
        ("netwrok: open", "--with: `netwrok`: unknown key"),
        ("instance: { typ: a }", "--with: `instance.typ`: unknown key"),
    ] {
        let arguments = ["try", "user-data.sh", "--with", keys];
        let (code, text) = output(folder.path(), &arguments);
        assert_eq!(code, 2, "{text}");
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn a_problem_of_a_trial_names_the_file_of_the_user() {
    let large = format!("{SCRIPT}# {}\n", "x".repeat(20_000));
    let folder = folder(&[("large.sh", &large)]);
    let (code, text) = output(folder.path(), &["try", "large.sh"]);
    assert_eq!(code, 2, "{text}");
    assert!(
        text.contains("large.sh: `user_data`: the user data is too large"),
        "{text}"
    );
    assert!(
        text.contains("hint: compress it with gzip, or download"),
        "{text}"
    );
}

#[test]
fn a_scenario_takes_user_data_from_files_of_other_tools_and_in_base64() {
    let scenario = |source: &str| format!("name: x\nuser_data: {source}\n");
    let folder = folder(&[
        ("versions.json", VERSIONS),
        ("from.yaml", &scenario("{ from: versions.json, select: green/7 }")),
        (
            "base64.yaml",
            &scenario("{ base64: IyEvYmluL2Jhc2gKL2V0Yy9la3MvYm9vdHN0cmFwLnNoIGRlbW8K, replace: cluster }"),
        ),
        ("several.yaml", &scenario("{ from: versions.json }")),
        ("invalid.yaml", &scenario("{ base64: \"%%\" }")),
        ("alone.yaml", &scenario("{ select: green }")),
        ("both.yaml", &scenario("{ from: versions.json, inline: x }")),
    ]);
    let of_template = plan(folder.path(), "from.yaml");
    let of_base64 = plan(folder.path(), "base64.yaml");
    assert_eq!(
        of_template["user_data"]["base64"],
        of_base64["user_data"]["base64"]
    );
    let mut all = String::new();
    for file in ["several.yaml", "invalid.yaml", "alone.yaml", "both.yaml"] {
        let (code, text) = output(folder.path(), &["plan", file]);
        assert_eq!(code, 2, "{text}");
        all.push_str(&text);
    }
    insta::assert_snapshot!("user_data_errors", all);
}

#[test]
fn init_writes_the_first_files_of_a_repository() {
    let folder = folder(&[]);
    let (code, text) = output(folder.path(), &["init"]);
    assert_eq!(code, 2);
    assert!(text.contains("there is no `bootstrap.sh` in `.`"), "{text}");
    std::fs::create_dir_all(folder.path().join("ami/files")).unwrap();
    let script = "#!/bin/bash\nsystemctl start kubelet\n";
    std::fs::write(folder.path().join("ami/files/bootstrap.sh"), script).unwrap();
    let (code, text) = output(folder.path(), &["init"]);
    assert_eq!(code, 0, "{text}");
    let (code, text) = output(folder.path(), &["list", "test/scenarios"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("joins"), "{text}");
    let overlay = std::fs::read_to_string(folder.path().join("test/overlay.yaml")).unwrap();
    assert!(overlay.contains("from: \"ami/files/bootstrap.sh\""), "{overlay}");
    std::fs::write(folder.path().join("nodejoin.yaml"), "jobs: 2\n").unwrap();
    assert_eq!(output(folder.path(), &["init"]).0, 2);
}

#[test]
fn init_puts_a_script_that_calls_the_one_of_the_ami_beside_it() {
    let folder = folder(&[("bootstrap.sh", SCRIPT)]);
    let (code, text) = output(folder.path(), &["init"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("calls /etc/eks/bootstrap.sh"), "{text}");
    let overlay = std::fs::read_to_string(folder.path().join("test/overlay.yaml")).unwrap();
    assert!(overlay.contains("to: /opt/bootstrap.sh"), "{overlay}");
    let scenario = std::fs::read_to_string(folder.path().join("test/scenarios/joins.yaml")).unwrap();
    assert!(
        scenario.contains("  /opt/bootstrap.sh {{ cluster.name }}"),
        "{scenario}"
    );
    assert_eq!(output(folder.path(), &["list", "test/scenarios"]).0, 0);
}
