//! Calls of `/etc/eks/bootstrap.sh` and of `kubeadm join` in a script.

use super::shell::{self, ShellCommand, ShellScript, UNKNOWN};
use super::wrappers::behind_shells;
use crate::text::is_bootstrap_script;
pub(super) use again::called_again;
pub(super) use call::{BootstrapCall, FLAGS};

mod again;
mod arguments;
mod call;
mod cut_flags;
mod notes;
mod refused_values;

pub(super) const BOOTSTRAP: &str = "/etc/eks/bootstrap.sh";
/// Its folder, and how a command in that folder names it.
const FOLDER: &str = "/etc/eks";
const IN_FOLDER: [&str; 2] = ["bootstrap.sh", "./bootstrap.sh"];
/// Variables from which the script takes defaults, with the flag that replaces each.
const DEFAULTS: &[(&str, &str)] = &[
    ("KUBELET_EXTRA_ARGS", "--kubelet-extra-args"),
    ("USE_MAX_PODS", "--use-max-pods"),
    ("B64_CLUSTER_CA", "--b64-cluster-ca"),
    ("APISERVER_ENDPOINT", "--apiserver-endpoint"),
    ("DNS_CLUSTER_IP", "--dns-cluster-ip"),
    ("SERVICE_IPV4_CIDR", "--service-ipv4-cidr"),
];

/// Whether a text calls a bootstrap program as a script does: in a command, in a here-document, or by a variable. Other
/// texts name it in words of their own.
pub(crate) fn calls_bootstrap_program(text: &str) -> bool {
    let script = shell::read(text);
    let begins = |word: &str| {
        word.starts_with(|c: char| {
            c.is_ascii_lowercase() || c.is_ascii_digit() || c == UNKNOWN || "/.![({_".contains(c)
        }) && !word.ends_with(':')
    };
    // `$script = "..."` assigns in PowerShell.
    let is_call = |command: &ShellCommand| {
        command.words.first().is_some_and(|word| begins(word))
            && command.words.get(1).is_none_or(|word| word != "=")
            && is_bootstrap_script(&command.words.join(" "))
    };
    script.commands.iter().chain(&script.arrays).any(is_call)
        || script.documents.iter().any(|text| is_bootstrap_script(text))
        || script
            .variables
            .values()
            .any(|value| value.split(' ').next() == Some(BOOTSTRAP))
}

/// The calls of a script, in order.
pub(crate) fn calls(script: &ShellScript) -> Vec<BootstrapCall> {
    let commands = script.commands.iter().enumerate();
    let mut is_in_folder = false;
    let calls = commands.filter_map(|(index, command)| {
        is_in_folder = goes_to_folder(command).unwrap_or(is_in_folder);
        let mut call = call(command, is_in_folder)?;
        call.cut = cut_flags::behind(script, index);
        Some(call)
    });
    let found: Vec<BootstrapCall> = calls.collect();
    match found.is_empty() {
        // A function may run it.
        true => {
            let calls = script.arrays.iter().filter_map(|command| call(command, false));
            // It may have more arguments.
            calls
                .map(|call| BootstrapCall {
                    is_open: true,
                    ..call
                })
                .collect()
        }
        false => found,
    }
}

/// Whether a command leads to the folder of the script; `None`: it stays in its folder.
fn goes_to_folder(command: &ShellCommand) -> Option<bool> {
    let (program, arguments) = command.words.split_first()?;
    let folder = arguments.iter().find(|word| *word != "--");
    match program.as_str() {
        "cd" | "pushd" => Some(folder.is_some_and(|folder| folder.trim_end_matches('/') == FOLDER)),
        "popd" => Some(false),
        _ => None,
    }
}

fn call(command: &ShellCommand, is_in_folder: bool) -> Option<BootstrapCall> {
    let at = behind_shells(&command.words);
    let is_script =
        |word: &&String| word.ends_with(BOOTSTRAP) || (is_in_folder && IN_FOLDER.contains(&word.as_str()));
    command.words.get(at).filter(is_script)?;
    Some(call_at(command, at))
}

/// The call whose script is the word with this index.
pub(super) fn call_at(command: &ShellCommand, at: usize) -> BootstrapCall {
    let mut call = BootstrapCall {
        lines: (command.first_line, command.last_line),
        ..BootstrapCall::default()
    };
    for (variable, flag) in DEFAULTS {
        if let Some(value) = command.environment.get(*variable) {
            call.values.insert((*flag).to_owned(), value.clone());
        }
    }
    call.arguments(command.words.get(at + 1..).unwrap_or_default());
    call
}

/// The endpoint in a call of `kubeadm join`, such as `10.0.0.1:6443`; empty if it is in a configuration file.
pub(crate) fn kubeadm_join(script: &ShellScript) -> Option<String> {
    let mut commands = script.commands.iter().chain(&script.arrays);
    commands.find_map(|command| {
        let at = command
            .words
            .iter()
            .position(|word| word == "kubeadm" || word.ends_with("/kubeadm"))?;
        let rest = &command.words[at + 1..];
        (rest.first().map(String::as_str) == Some("join")).then(|| {
            let endpoint = rest.get(1).filter(|word| !word.starts_with('-'));
            endpoint.cloned().unwrap_or_default()
        })
    })
}

#[cfg(test)]
mod tests;
