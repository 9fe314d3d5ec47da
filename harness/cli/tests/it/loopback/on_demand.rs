//! Scenarios that run on demand only have valid plans, and `ci/vm/run` checks its arguments before it starts anything.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

#[test]
fn every_scenario_on_demand_has_a_plan() {
    let folders = ["ci/on-demand", "ci/bench", "ci/vm"].map(|folder| repository().join(folder));
    let files = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path());
    let scenarios: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|it| it == "yaml"))
        .collect();
    assert!(scenarios.len() >= 4, "{scenarios:?}");
    for scenario in scenarios {
        let output = crate::support::closed_command()
            .arg("plan")
            .arg(&scenario)
            .output()
            .unwrap();
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}: {}",
            scenario.display(),
            said(&output)
        );
    }
}

/// Runs the script; `path` replaces PATH.
fn machine(arguments: &[&str], path: Option<&Path>) -> Output {
    let mut command = Command::new("/bin/bash");
    command.arg(repository().join("ci/vm/run")).args(arguments);
    if let Some(path) = path {
        command.env("PATH", path);
    }
    command.output().unwrap()
}

#[test]
fn an_invalid_command_line_of_the_machine_is_refused() {
    for (arguments, expected) in [
        (&["--nowhere"][..], "unknown option `--nowhere`"),
        (&["--image-store", "disk"], "expected graph or containerd"),
        (&["--suite"], "--suite requires a value"),
    ] {
        let output = machine(arguments, None);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(expected), "{arguments:?}: {text}");
    }
    let help = machine(&["--help"], None);
    assert_eq!(help.status.code(), Some(0));
    for option in [
        "--suite",
        "--image-store",
        "--test",
        "--kubernetes",
        "--factor",
        "--limit",
        "--results",
        "--keep",
    ] {
        assert!(said(&help).contains(option), "{option}");
    }
}

#[test]
fn a_missing_tool_is_named_by_its_package_and_nothing_is_installed() {
    let folder = TempDir::new().unwrap();
    for program in ["dirname", "date", "sort", "tr"] {
        let found = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(program));
        let found = found.iter().find(|path| path.exists()).unwrap();
        symlink(found, folder.path().join(program)).unwrap();
    }
    let output = machine(&[], Some(folder.path()));
    let text = said(&output);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(
        text.contains("do: sudo apt-get install --no-install-recommends "),
        "{text}"
    );
    for package in ["qemu-system-x86", "mmdebstrap", "cargo"] {
        assert!(text.contains(package), "{package}: {text}");
    }
}
