//! The output of commands that need no container engine: `list`, `plan`, and `doctor` without an engine.

use std::path::Path;
use std::process::Command;

use crate::support::{REGISTERS, folder};

const OLD_RELEASES: &str = r##"name: a node of an old release joins
tags: [old]
kubernetes: "<1.24"
user_data: "#!/bin/sh"
"##;

/// The output of a command without any environment variable; the path of its folder is `FOLDER`.
fn output(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_nodejoin"))
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("HOME", folder)
        .env("DOCKER_HOST", "unix:///nonexistent/docker.sock")
        .output()
        .unwrap();
    let shown = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        text.replace(&folder.display().to_string(), "FOLDER")
    };
    format!(
        "$ nodejoin {}\n{}{}exit code {}\n",
        arguments.join(" "),
        shown(&output.stdout),
        shown(&output.stderr),
        output.status.code().unwrap()
    )
}

#[test]
fn list_prints_ids_names_and_skips() {
    let folder = folder(&[("registers.yaml", REGISTERS), ("old.yaml", OLD_RELEASES)]);
    let calls: [&[&str]; 8] = [
        &["list", "."],
        &["list", ".", "--kubernetes", "1.23,1.32"],
        &["list", ".", "--shard", "1/2"],
        &["list", ".", "--matrix"],
        &["list", ".", "--filter", "tag(old) and not version(1.36)"],
        &[
            "list",
            ".",
            "--filter",
            "tag(old)",
            "--kubernetes",
            "1.32",
            "--format",
            "json",
        ],
        &["list", ".", "--filter", "tga(old)"],
        &["list", "missing.yaml"],
    ];
    let all = calls.map(|arguments| output(folder.path(), arguments));
    insta::assert_snapshot!("list", all.join("\n"));
}

#[test]
fn plan_prints_every_value_of_a_scenario() {
    let folder = folder(&[("registers.yaml", REGISTERS)]);
    insta::assert_snapshot!("plan", output(folder.path(), &["plan", "registers.yaml"]));
}

#[test]
fn plan_warns_of_a_name_that_is_almost_one_of_ours() {
    let scenario =
        "name: a node\nuser_data: |\n  #!/bin/bash\n  docker inspect -f '{{ .Id }}' x\n  echo {{ region }}\n";
    let folder = folder(&[("node.yaml", scenario)]);
    let printed = output(folder.path(), &["plan", "node.yaml"]);
    let warnings: Vec<&str> = printed
        .lines()
        .filter(|line| line.starts_with("warning"))
        .collect();
    assert_eq!(
        warnings,
        [
            "warning: node.yaml:5: `{{ region }}` reaches the node as text: did you mean `{{ instance.region }}`?"
        ]
    );
}

#[test]
fn doctor_without_an_engine_prints_the_remedy() {
    let folder = folder(&[]);
    insta::assert_snapshot!("doctor", output(folder.path(), &["doctor"]));
}
