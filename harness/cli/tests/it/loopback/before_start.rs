//! What a run refuses before anything starts: exit code 2, and the text says what to change.

use tempfile::TempDir;

use crate::support::closed_command;

const SCENARIO: &str = "name: x\nuser_data: '#!/bin/sh'\n";

/// Runs nodejoin in a folder with `joins.yaml`. Returns exit code and standard error.
fn refused(scenario: &str, arguments: &[&str], docker_host: &str) -> (Option<i32>, String) {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("joins.yaml"), scenario).unwrap();
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let mut command = closed_command();
    command
        .current_dir(&folder)
        .args(arguments)
        .env("DOCKER_HOST", docker_host);
    let output = command.output().unwrap();
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

#[test]
fn a_run_that_cannot_work_is_refused_before_it_connects() {
    let rows: [(&[&str], &str); 8] = [
        (
            &["run", "joins.yaml", "--jobs", "0"],
            "invalid number of jobs `0`: expected a number from 1",
        ),
        (
            &["run", "joins.yaml", "--junit", "file/junit.xml"],
            "could not write `file/junit.xml`",
        ),
        (
            &["run", "joins.yaml", "--summary", "empty"],
            "could not write `empty`",
        ),
        (
            &["run", "joins.yaml", "--artifacts-dir", "file"],
            "set `--artifacts-dir` to a writable folder",
        ),
        (
            &["run", "joins.yaml", "--kubeconfig", "nowhere"],
            "could not read `nowhere`",
        ),
        (&["run", "empty"], "empty: no scenario"),
        (&["run"], "scenarios: cannot read the path"),
        (&["images", "build", "--kubernetes", "new"], "invalid versions"),
    ];
    for (arguments, text) in rows {
        let (code, stderr) = refused(SCENARIO, arguments, "unix:///nonexistent/docker.sock");
        assert_eq!(code, Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(text), "{arguments:?}: {stderr}");
    }
}

#[test]
fn an_unknown_node_image_is_an_error_of_the_scenario() {
    let scenario = format!("{SCENARIO}image: al3\n");
    for command in ["run", "plan", "list"] {
        let (code, stderr) = refused(
            &scenario,
            &[command, "joins.yaml"],
            "unix:///nonexistent/docker.sock",
        );
        assert_eq!(code, Some(2), "{stderr}");
        assert!(
            stderr.starts_with("joins.yaml: `image`: unknown node image `al3`"),
            "{stderr}"
        );
        assert!(stderr.contains("did you mean `al2`?"), "{stderr}");
    }
}

#[test]
fn an_engine_behind_an_unsupported_scheme_is_refused() {
    let (code, stderr) = refused(SCENARIO, &["run", "joins.yaml"], "ssh://build.example");
    assert_eq!(code, Some(2), "{stderr}");
    assert!(
        stderr.contains("unsupported scheme in DOCKER_HOST `ssh://build.example`"),
        "{stderr}"
    );
}

#[test]
fn two_files_with_one_id_are_named() {
    let folder = TempDir::new().unwrap();
    for name in ["joins.yaml", "joins.yml"] {
        std::fs::write(folder.path().join(name), SCENARIO).unwrap();
    }
    let output = closed_command()
        .current_dir(&folder)
        .args(["list", "."])
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("the id `joins` is already in use"), "{stderr}");
    assert!(!stderr.contains("instance.id"), "{stderr}");
}
