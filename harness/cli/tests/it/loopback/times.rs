//! Shards that are balanced by the times of earlier runs.

use std::path::Path;

use crate::support::{both, folder, nodejoin};

const FINE: &str = "name: a node joins\nuser_data: '#!/bin/sh'\n";
const FIRST: &str = r#"{"schema":1,"run":"aaaaaaaaaa","started":"2026-01-01T00:00:00Z","nodejoin":"0.1.0","scenarios":[
{"scenario":"a","name":"a node joins","outcome":"passed","seconds":90.0},
{"scenario":"b","name":"a node joins","outcome":"passed","seconds":31.0}]}"#;
const SECOND: &str = r#"{"schema":1,"run":"bbbbbbbbbb","started":"2026-01-01T00:00:00Z","nodejoin":"0.1.0","scenarios":[
{"scenario":"c","name":"a node joins","outcome":"passed","seconds":30.0},
{"scenario":"d","name":"a node joins","outcome":"passed","seconds":29.0},
{"scenario":"removed","name":"a node joins","outcome":"passed","seconds":500.0}]}"#;

const SCENARIOS: [(&str, &str); 5] = [
    ("a.yaml", FINE),
    ("b.yaml", FINE),
    ("c.yaml", FINE),
    ("d.yaml", FINE),
    ("e.yaml", FINE),
];

/// The scenarios of a shard.
fn listed(folder: &Path, arguments: &[&str]) -> Vec<String> {
    let output = nodejoin(folder, &[&["list", "."], arguments].concat())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", both(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let ids = text.lines().filter_map(|line| line.split_whitespace().next());
    ids.map(str::to_owned).collect()
}

#[test]
fn the_joined_report_of_a_matrix_balances_the_next_one() {
    let folder = folder(&SCENARIOS);
    let reports = folder.path().join("reports");
    for (name, record) in [("1", FIRST), ("2", SECOND)] {
        std::fs::create_dir_all(reports.join(name)).unwrap();
        std::fs::write(reports.join(name).join("run.json"), record).unwrap();
    }
    let merged = nodejoin(folder.path(), &["merge", "reports", "--junit", "times.xml"])
        .output()
        .unwrap();
    assert_eq!(merged.status.code(), Some(0), "{}", both(&merged));
    for times in ["times.xml", "reports"] {
        let shard = |shard| listed(folder.path(), &["--shard", shard, "--times", times]);
        // `e` has no time and counts as 31 s.
        assert_eq!(shard("1/2"), ["a", "d"], "{times}");
        assert_eq!(shard("2/2"), ["b", "c", "e"], "{times}");
    }
    let by_variable = nodejoin(folder.path(), &["list", "."])
        .env("NODEJOIN_SHARD", "1/2")
        .env("NODEJOIN_TIMES", "times.xml")
        .output()
        .unwrap();
    let listed = String::from_utf8_lossy(&by_variable.stdout).lines().count();
    assert_eq!(listed, 2, "{}", both(&by_variable));
}

#[test]
fn a_run_reports_what_balances_its_shard() {
    let folder = folder(&SCENARIOS);
    std::fs::write(folder.path().join("run.json"), FIRST).unwrap();
    // More shards than scenarios: the last one is empty and needs no engine.
    let arguments = ["run", ".", "--shard", "6/6", "--times", "run.json"];
    let output = nodejoin(folder.path(), &arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", both(&output));
    let note = "shard 6/6: 0 of 5 scenarios; balanced by the recorded times of 2";
    assert!(both(&output).contains(note), "{}", both(&output));
}

#[test]
fn times_that_cannot_be_read_are_refused() {
    let folder = folder(&SCENARIOS);
    let newer = FIRST.replace("\"schema\":1", "\"schema\":9");
    for (name, text) in [
        ("broken.json", "{"),
        ("newer.json", newer.as_str()),
        ("other.xml", "<project/>"),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    for command in ["run", "list"] {
        for (times, what) in [
            ("missing.xml", "missing.xml: cannot read the file"),
            ("broken.json", "broken.json: not a record of a run"),
            ("newer.json", "newer.json: the format has version 9"),
            ("other.xml", "other.xml: invalid JUnit report"),
        ] {
            let arguments = [command, ".", "--shard", "1/2", "--times", times];
            let output = nodejoin(folder.path(), &arguments).output().unwrap();
            let text = both(&output);
            assert_eq!(output.status.code(), Some(2), "{text}");
            assert!(text.contains("could not balance the shards: "), "{text}");
            assert!(text.contains(what) && text.contains("  do: "), "{text}");
            assert!(
                text.contains("the id of a scenario determines its shard"),
                "{text}"
            );
        }
    }
}

#[test]
fn times_need_a_shard_unless_they_are_empty() {
    let folder = folder(&SCENARIOS);
    let alone = nodejoin(folder.path(), &["list", ".", "--times", "times.xml"])
        .output()
        .unwrap();
    assert_eq!(alone.status.code(), Some(2), "{}", both(&alone));
    assert!(
        both(&alone).contains("add `--shard INDEX/COUNT`"),
        "{}",
        both(&alone)
    );
    let empty = nodejoin(folder.path(), &["list", "."])
        .env("NODEJOIN_TIMES", "")
        .output()
        .unwrap();
    assert_eq!(empty.status.code(), Some(0), "{}", both(&empty));
}
