//! What `nodejoin mutate` and `nodejoin coverage` reject, and the list of changes. Nothing is started.

use crate::support::{both, closed_command};
use tempfile::TempDir;

#[test]
fn each_mistake_is_named_before_anything_starts() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("join.sh", "#!/bin/bash\na 1\n");
    write("join.py", "#!/usr/bin/python3\n");
    write("a.yaml", "name: x\nuser_data: '#!/bin/sh'\n");
    let rows: [(&[&str], &str); 7] = [
        (&["mutate", "missing.sh", "a.yaml"], "could not read `missing.sh`"),
        (&["mutate", "join.py", "a.yaml"], "join.py:1: not a bash script"),
        (
            &["mutate", "join.sh", "a.yaml"],
            "no scenario has `join.sh` on its nodes",
        ),
        (
            &["mutate", "join.sh", "a.yaml", "--in-diff", "HEAD"],
            "could not compare `join.sh` with `HEAD`",
        ),
        (
            &["mutate", "join.sh", "a.yaml", "--operator", "retry"],
            "expected one of negate, ",
        ),
        (&["coverage", "missing.yaml"], "missing.yaml"),
        (
            &["coverage", "a.yaml", "--lcov", "/dev/null/lcov"],
            "could not write `/dev/null/lcov`",
        ),
    ];
    for (arguments, expected) in rows {
        let output = closed_command()
            .current_dir(folder.path())
            .args(arguments)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", both(&output));
        assert!(both(&output).contains(expected), "{expected}: {}", both(&output));
    }
}

#[test]
fn changes_are_listed_with_their_lines() {
    let folder = TempDir::new().unwrap();
    std::fs::write(
        folder.path().join("join.sh"),
        "#!/bin/bash\na --region x || true\n",
    )
    .unwrap();
    let list = |more: &[&str]| {
        let output = closed_command()
            .current_dir(folder.path())
            .args(["mutate", "join.sh", "--list"])
            .args(more)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", both(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let all = list(&[]);
    assert_eq!(all.lines().count(), 4, "{all}");
    let dropped = list(&["--operator", "drop-argument,drop-alternative"]);
    let words: Vec<&str> = dropped
        .lines()
        .filter_map(|line| line.split_once("  "))
        .map(|(_, rest)| rest)
        .collect();
    assert_eq!(
        words,
        [
            "line 2  drop-alternative  `a --region x || true` becomes `a --region x`",
            "line 2  drop-argument  without `--region x`"
        ]
    );
    let shards: usize = ["1/2", "2/2"]
        .iter()
        .map(|shard| list(&["--shard", shard]).lines().count())
        .sum();
    assert_eq!(shards, 4);
}
