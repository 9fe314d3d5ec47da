//! `--help` of the command and of every subcommand, word for word.

use std::process::Command;

/// Every command that has a help text of its own.
const COMMANDS: &[&str] = &[
    "",
    "run",
    "plan",
    "list",
    "schema",
    "images",
    "images build",
    "images list",
    "images prune",
    "doctor",
    "sweep",
    "aws",
    "aws set",
    "aws set tokens",
    "aws set endpoint",
    "aws set instance-tags",
    "aws set user-data",
    "aws set spot-notice",
    "aws set credentials",
    "aws set cluster-status",
    "aws set throttle",
    "aws set aws-auth",
    "aws set authentication-mode",
    "aws set default",
    "wiring",
];

#[test]
fn help_texts_match_their_snapshots() {
    let mut all = String::new();
    for command in COMMANDS {
        for flag in ["-h", "--help"] {
            let output = Command::new(env!("CARGO_BIN_EXE_nodejoin"))
                .args(command.split_whitespace())
                .arg(flag)
                .env_clear()
                .output()
                .unwrap();
            assert_eq!(output.status.code(), Some(0), "{command}");
            let text = String::from_utf8(output.stdout).unwrap();
            all.push_str(&format!("$ nodejoin {command} {flag}\n{text}\n"));
        }
    }
    insta::assert_snapshot!("help", all);
}
