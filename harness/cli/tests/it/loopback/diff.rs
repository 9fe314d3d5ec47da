//! Versions that `nodejoin diff` cannot compare. Nothing is started.

use std::process::Command;

use crate::support::{both, closed_command};
use tempfile::TempDir;

const SCENARIO: &str = "name: x\nuser_data: '#!/bin/sh'\n";

fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("scenarios")).unwrap();
    std::fs::write(folder.path().join("scenarios/a.yaml"), SCENARIO).unwrap();
    let status = Command::new("git")
        .arg("-C")
        .arg(folder.path())
        .args(["init", "--quiet"])
        .status()
        .unwrap();
    assert!(status.success());
    folder
}

#[test]
fn each_mistake_is_named_before_anything_starts() {
    let folder = folder();
    for name in ["old", "new"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    std::fs::write(
        folder.path().join("approved"),
        "# none yet\n0123456789 fine\nnot-an-id\n",
    )
    .unwrap();
    std::fs::write(folder.path().join("other.json"), "{ \"mine\": 1 }\n").unwrap();
    let rows: [(&[&str], &[&str]); 15] = [
        (&[], &["arguments were not provided", "<OLD>"]),
        (
            &["other.json"],
            &[
                "`other.json` has no blessed states: unknown field `mine`",
                "--bless FILE",
            ],
        ),
        (
            &["--bless", "other.json"],
            &["`other.json` has no blessed states"],
        ),
        (&["HEAD", "--bless", "states.json"], &["cannot be used with"]),
        (
            &["HEAD", "--world", "ipv6", "--budget", "1m"],
            &["'--world <NAME>' cannot be used with '--budget <TIME>'"],
        ),
        (
            &["no-such-revision"],
            &["no-such-revision", "neither a folder, nor an overlay manifest"],
        ),
        (&["my-ami:1"], &["to compare two node images, add --images"]),
        (
            &["old", "new"],
            &["neither holds `scenarios`", "--tree FOLDER", "--variable NAME"],
        ),
        (&["old", "--variable", "NOT_SET"], &["`NOT_SET` is not set"]),
        // Two folders need no value: each is that of its version.
        (
            &["old", "new", "--variable", "NOT_SET", "-E", "id(nothing)"],
            &["no scenario below `scenarios` is selected", "--scenarios PATH"],
        ),
        (
            &["old", "--images"],
            &["with --images, OLD and NEW are both needed"],
        ),
        (
            &["old", "new", "--tree", "old", "--approve", "approved"],
            &["approved:3: `not-an-id` is not an id"],
        ),
        (
            &["old", "new", "--tree", "old", "--approve", "none"],
            &["could not read `none`", "ids that are intended"],
        ),
        (
            &["old", "new", "--tree", "old", "--html", "old"],
            &["could not write `old`", "name a file in a writable folder"],
        ),
        (
            &["old", "new", "--tree", "old", "-E", "id(nothing)"],
            &["no scenario below `scenarios` is selected", "--scenarios PATH"],
        ),
    ];
    for (arguments, texts) in rows {
        let output = closed_command()
            .current_dir(folder.path())
            .arg("diff")
            .args(arguments)
            .env("DOCKER_HOST", "unix:///nonexistent/docker.sock")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", both(&output));
        for text in texts {
            assert!(both(&output).contains(text), "{arguments:?}: {}", both(&output));
        }
    }
    // A file of something else is not overwritten.
    let text = std::fs::read_to_string(folder.path().join("other.json")).unwrap();
    assert_eq!(text, "{ \"mine\": 1 }\n");
}
