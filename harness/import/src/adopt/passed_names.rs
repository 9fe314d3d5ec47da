//! Names of the cluster that a script passes to the bootstrap script where its call does not show them.

use std::collections::BTreeSet;

use super::bootstrap_call::BOOTSTRAP;
use super::cluster_names::is_cluster_name;
use super::run_arguments::may_run_arguments;
use super::shell::ShellScript;
use super::shell_functions::{ShellFunction, functions};
use super::wrappers::{behind_shells, behind_wrappers};

/// Programs that read, change or copy a file, or print a text.
const OF_FILES: &[&str] = &[
    "[",
    "[[",
    "awk",
    "aws",
    "basename",
    "cat",
    "chattr",
    "chgrp",
    "chmod",
    "chown",
    "cmp",
    "cp",
    "curl",
    "diff",
    "dirname",
    "dos2unix",
    "echo",
    "ed",
    "egrep",
    "export",
    "file",
    "find",
    "gawk",
    "grep",
    "gzip",
    "head",
    "install",
    "less",
    "ln",
    "logger",
    "ls",
    "md5sum",
    "mv",
    "patch",
    "perl",
    "printf",
    "python",
    "python3",
    "readlink",
    "realpath",
    "rm",
    "rsync",
    "sed",
    "set",
    "sha256sum",
    "stat",
    "tail",
    "tar",
    "tee",
    "test",
    "touch",
    "trap",
    "truncate",
    "unset",
];

/// What a script passes.
#[derive(Debug, Default)]
pub(super) struct PassedNames {
    /// By a function, or by the arguments that the script sets itself.
    pub(super) known: Option<String>,
    /// By a program that is not known, or in a line of a file that the script writes.
    pub(super) likely: Option<String>,
}

impl PassedNames {
    /// Adds those of a text. The first one counts.
    pub(super) fn add(&mut self, text: &str, script: &ShellScript) {
        if !text.contains(BOOTSTRAP) {
            return;
        }
        let functions = functions(text);
        let of_functions = functions.iter().flat_map(|function| {
            let number = function.argument_behind(BOOTSTRAP);
            number
                .map(|number| function.passed(script, number))
                .unwrap_or_default()
        });
        self.known = self
            .known
            .take()
            .or_else(|| only(of_functions.chain(set_argument(text, script))));
        let likely = behind_path(script, &functions).chain(written(text));
        self.likely = self
            .likely
            .take()
            .or_else(|| only(likely.filter(|_| text.starts_with("#!"))));
    }
}

/// The name, if the words have one alone.
fn only<'w>(words: impl Iterator<Item = &'w str>) -> Option<String> {
    let names: BTreeSet<&str> = words.filter(|word| is_cluster_name(word)).collect();
    match names.len() {
        1 => names.first().map(|name| (*name).to_owned()),
        _ => None,
    }
}

/// The first argument that the script sets with `set -- NAME` and passes on.
fn set_argument<'s>(text: &str, script: &'s ShellScript) -> Option<&'s str> {
    let passes = |line: &str| {
        let after = line
            .split_once(BOOTSTRAP)
            .map(|(_, after)| after.trim_start_matches(['"', ' ']));
        after.is_some_and(|after| ["$@", "$1", "${1}"].iter().any(|first| after.starts_with(first)))
    };
    let set = script
        .commands
        .iter()
        .find_map(|command| match &command.words[..] {
            [program, sign, first, ..] if program == "set" && sign == "--" => Some(first.as_str()),
            _ => None,
        });
    set.filter(|_| text.lines().any(passes))
}

/// The word behind the path in the arguments of a program that is not known. What follows it are flags.
fn behind_path<'s>(script: &'s ShellScript, functions: &[ShellFunction]) -> impl Iterator<Item = &'s str> {
    script.commands.iter().filter_map(move |command| {
        let words = &command.words;
        let program = words.get(behind_wrappers(words))?.rsplit('/').next()?;
        let at = words.iter().position(|word| word.ends_with(BOOTSTRAP))?;
        let is_program = program.starts_with(|c: char| c.is_ascii_lowercase());
        let is_flag = |word: &String| word.starts_with('-');
        let is_passed = at > behind_shells(words) && words.get(at + 2).is_none_or(is_flag);
        let name = words.get(at + 1)?.as_str();
        let is_known = OF_FILES.contains(&program) || !may_run_arguments(program, functions);
        (is_program && is_passed && !is_known).then_some(name)
    })
}

/// The words behind the path in texts that a command writes into a file or hands to another one, such as `crontab`.
fn written(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let line = line.trim();
        let is_printer = ["echo ", "printf "]
            .iter()
            .any(|program| line.starts_with(program));
        let (_, after) = line.split_once(BOOTSTRAP).filter(|_| is_printer)?;
        let after = after.strip_prefix(' ')?.trim_start();
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c));
        let (name, rest) = after.split_at(end?);
        let (_, target) = rest.split_once(['>', '|'])?;
        let target = target.trim_start_matches(['>', ' ', '"']);
        let is_file =
            target.starts_with('/') && !["/dev/", "/var/log/"].iter().any(|log| target.starts_with(log));
        let is_program = ["at ", "crontab", "tee "]
            .iter()
            .any(|program| target.starts_with(program));
        (is_file || is_program).then_some(name)
    })
}
