//! `nodejoin merge` as a command: its exit codes, and the files that it writes.

use std::fs;
use std::path::Path;

use crate::support::{both, closed_command, folder};

const FAILED: &str = r#"{"schema":1,"run":"aaaaaaaaaa","started":"2026-01-01T00:00:00Z","nodejoin":"0.1.0","scenarios":[
{"scenario":"al2/x","name":"a node joins","outcome":"failed","because":"the role is not mapped","seconds":3.5,"folder":"al2.x"}]}"#;
const PASSED: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nodejoin" tests="1" failures="0" errors="0">
  <testsuite name="nodejoin" tests="1" disabled="0" errors="0" failures="0">
    <testcase name="al2/x" classname="scenarios/al2/x.yaml" time="4.000"/>
  </testsuite>
</testsuites>"#;

fn merge(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = closed_command();
    command.arg("merge").args(arguments).current_dir(folder);
    let output = command.output().unwrap();
    (output.status.code(), both(&output))
}

#[test]
fn the_exit_code_is_that_of_all_runs_and_the_files_are_written() {
    let folder = folder(&[("run.json", FAILED), ("passed.xml", PASSED)]);
    let arguments = [".", "--junit", "out/all.xml", "--page", "out/all.html"];
    let (code, text) = merge(folder.path(), &arguments);
    assert_eq!(code, Some(1), "{text}");
    for part in [
        "because   the role is not mapped",
        "flaky:\n  al2/x: 1 passed, 1 failed",
        "slowest:\n  ok       4.0 s  al2/x",
        "2 scenarios of 2 runs",
    ] {
        assert!(text.contains(part), "`{part}` is missing in:\n{text}");
    }
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(
        read("out/all.xml").contains("tests=\"2\" failures=\"1\""),
        "{}",
        read("out/all.xml")
    );
    assert!(read("out/all.html").contains("the role is not mapped"));
    let (code, text) = merge(folder.path(), &["passed.xml"]);
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn a_cancelled_shard_is_undecided() {
    let cancelled = FAILED.replace(
        "\"failed\",\"because\":\"the role is not mapped\"",
        "\"cancelled\"",
    );
    let folder = folder(&[("run.json", &cancelled), ("passed.xml", PASSED)]);
    let (code, text) = merge(folder.path(), &["."]);
    assert_eq!(code, Some(4), "{text}");
    assert!(
        text.contains("1 passed") && text.contains("1 cancelled"),
        "{text}"
    );
}

#[test]
fn broken_and_newer_files_are_named() {
    let newer = FAILED.replace("\"schema\":1", "\"schema\":9");
    let folder = folder(&[("broken.json", "{"), ("newer.json", &newer)]);
    for (arguments, what) in [
        (["broken.json"], "broken.json: not a record of a run"),
        (["newer.json"], "newer.json: the format has version 9"),
        (["missing.json"], "missing.json: cannot read the file"),
    ] {
        let (code, text) = merge(folder.path(), &arguments);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains(what) && text.contains("  do: "), "{text}");
    }
}
