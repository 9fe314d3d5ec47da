//! `--help` of the command and of every subcommand, word for word.

use std::process::Command;

/// The command and all of its subcommands, each as its words behind `nodejoin`.
fn commands(command: &clap::Command, path: &str) -> Vec<String> {
    let below = command.get_subcommands().flat_map(|subcommand| {
        let path = format!("{path} {}", subcommand.get_name());
        commands(subcommand, path.trim_start())
    });
    std::iter::once(path.to_owned()).chain(below).collect()
}

#[test]
fn help_texts_match_their_snapshots() {
    let mut all = String::new();
    for command in commands(&nodejoin::command(), "") {
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
