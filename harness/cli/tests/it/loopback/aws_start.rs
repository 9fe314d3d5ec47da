//! `nodejoin aws`: what it refuses to start with, and the files that it owns.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::support::account::{RunningAccount, file, nodejoin};
use crate::support::both;
use tempfile::tempdir;

/// An account whose instance has an id.
const ACCOUNT: &str = "instance: { id: i-0b22a22eec53b9321 }\n";

#[test]
fn a_refused_command_has_its_reason_and_leaves_nothing() {
    let served = RunningAccount::of(ACCOUNT);
    let (metadata, folder) = (
        format!("127.0.0.1:{}", served.port(0)),
        served.folder().to_str().unwrap().to_owned(),
    );
    let free = ["--metadata", "127.0.0.1:0", "--services", "127.0.0.1:0"];
    let home = tempdir().unwrap();
    let path = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("bad.yaml"), "instance: { mac: x }\nexpcet: {}\n").unwrap();
    let (a, b, bad) = (path("a"), path("b"), path("bad.yaml"));
    let table: &[(&[&str], i32, &[&str])] = &[
        (
            &["--metadata", &metadata, "--folder", &a],
            4,
            &[
                "metadata port of the fake AWS to 127.0.0.1",
                "Address already in use",
                "another program uses port",
            ],
        ),
        (
            &[&free[..], &["--folder", &folder]].concat(),
            4,
            &["another `nodejoin aws` uses the folder", "--folder"],
        ),
        (
            &[&free[..], &["--webhook", &metadata, "--folder", &b]].concat(),
            4,
            &["could not listen on 127.0.0.1", "--webhook"],
        ),
        (&[&bad], 2, &["bad.yaml:2:1", "expcet"]),
        (
            &["nowhere.yaml"],
            2,
            &["nowhere.yaml", "cannot read account file"],
        ),
        (
            &["set", "--folder", &a, "tokens", "optional"],
            4,
            &["no `nodejoin aws` uses the folder", "nodejoin aws --folder"],
        ),
        (
            &["set", "--folder", &folder, "tokens", "maybe"],
            2,
            &["maybe", "required, optional, default"],
        ),
        (
            &["set", "--folder", &folder, "cluster-status", "ACTVE"],
            2,
            &["`ACTVE`", "did you mean `ACTIVE`?"],
        ),
        (
            &["set", "--folder", &folder, "throttle", "eks.DescribeClutser"],
            2,
            &["did you mean `eks.DescribeCluster`?"],
        ),
        (
            &["set", "--folder", &folder, "throttle", "eck"],
            2,
            &["`eck`", "did you mean"],
        ),
        (
            &["set", "--folder", &folder, "user-data", "nowhere"],
            2,
            &["could not read `nowhere`"],
        ),
        (
            &["set", "--folder", &folder, "aws-auth", &bad],
            2,
            &["bad.yaml:1:1", "list"],
        ),
    ];
    for (arguments, code, words) in table {
        let output = nodejoin(&[&["aws"], *arguments].concat()).output().unwrap();
        let said = both(&output);
        assert_eq!(output.status.code(), Some(*code), "{arguments:?}: {said}");
        for word in *words {
            assert!(said.contains(word), "{arguments:?}: {said}");
        }
    }
    let left: Vec<_> = std::fs::read_dir(home.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["bad.yaml"]);
    // The one that was there all the time still answers.
    assert_eq!(served.metadata("meta-data/instance-id", &[]).0, 401);
}

#[test]
fn after_a_signal_only_files_of_others_remain() {
    for signal in ["-INT", "-TERM"] {
        let served = RunningAccount::of(ACCOUNT);
        let folder = served.folder();
        std::fs::write(folder.join("mine"), "").unwrap();
        assert_eq!(served.end(signal), Some(130));
        let left: Vec<_> = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left, ["mine"], "{signal}");
    }
    let served = RunningAccount::of(ACCOUNT);
    let folder = served.folder();
    served.end("-INT");
    assert!(!folder.exists());
}

/// The names of the account's files are common: a user's `env` and `ca.pem` are neither replaced nor removed.
#[test]
fn files_of_the_user_are_never_written_or_removed() {
    let ports = ["--metadata", "127.0.0.1:0", "--services", "127.0.0.1:0"];
    for name in ["env", "ca.pem", "webhook.kubeconfig", "control"] {
        let home = tempdir().unwrap();
        let path = home.path().join(name);
        std::fs::write(&path, "mine").unwrap();
        let folder = home.path().to_str().unwrap();
        let output = nodejoin(&[&["aws", "--folder", folder], &ports[..]].concat())
            .output()
            .unwrap();
        let said = both(&output);
        assert_eq!(output.status.code(), Some(4), "{name}: {said}");
        assert!(
            said.contains("is not a file of `nodejoin aws`") && said.contains("--folder"),
            "{said}"
        );
        assert_eq!(file(&path), "mine");
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1, "{name}");
    }
    // A file that the user changes while the account runs stays when it ends, and when it is killed.
    for signal in ["-INT", "-KILL"] {
        let home = tempdir().unwrap();
        let served = RunningAccount::at(home.path(), ACCOUNT, &[]);
        let path = served.folder().join("env");
        std::fs::write(&path, "mine").unwrap();
        served.end(signal);
        let folder = served.folder();
        let folder = folder.to_str().unwrap();
        let output = nodejoin(&[&["aws", "--folder", folder], &ports[..]].concat())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(4), "{signal}: {}", both(&output));
        assert_eq!(file(&path), "mine", "{signal}");
    }
}

#[test]
fn an_empty_account_file_means_the_defaults() {
    for text in ["", "# nothing yet\n"] {
        let served = RunningAccount::of(text);
        assert_eq!(served.metadata("meta-data/instance-id", &[]).0, 401, "{text:?}");
    }
}

#[test]
fn an_address_that_other_hosts_reach_has_a_warning() {
    for (address, is_warned) in [("127.0.0.1:0", false), ("0.0.0.0:0", true)] {
        let home = tempdir().unwrap();
        let mut child = nodejoin(&["aws", "--metadata", address, "--services", "127.0.0.1:0"])
            .current_dir(home.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let printed = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .take(3)
            .count();
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(printed, 3, "{said}");
        assert_eq!(
            said.contains("warning: other hosts can reach 0.0.0.0:"),
            is_warned,
            "{said}"
        );
    }
}

#[test]
fn a_bomb_of_aliases_exceeds_a_limit_of_values() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    let home = tempdir().unwrap();
    let path = home.path().join("bomb.yaml");
    std::fs::write(&path, bomb).unwrap();
    let output = nodejoin(&["aws", path.to_str().unwrap()]).output().unwrap();
    let said = both(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    // The reader stops at its limit of values, so that the time does not depend on what the aliases amount to.
    assert!(
        said.contains("invalid YAML in account file: budget breached"),
        "{said}"
    );
}

#[test]
fn the_folder_of_a_killed_account_is_reused() {
    let home = tempdir().unwrap();
    let killed = RunningAccount::at(home.path(), ACCOUNT, &[]);
    let folder = killed.folder();
    killed.end("-KILL");
    assert!(folder.join("control").exists());
    let mut refused = nodejoin(&[
        "aws",
        "set",
        "--folder",
        folder.to_str().unwrap(),
        "tokens",
        "optional",
    ]);
    assert!(both(&refused.output().unwrap()).contains("no `nodejoin aws` uses the folder"));
    let next = RunningAccount::at(home.path(), ACCOUNT, &[]);
    assert_eq!(next.set(&["tokens", "optional"]), "tokens: required -> optional");
}
