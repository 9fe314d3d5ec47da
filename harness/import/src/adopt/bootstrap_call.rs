//! Calls of `/etc/eks/bootstrap.sh` and of `kubeadm join` in a script.

use std::collections::{BTreeMap, BTreeSet};

use super::kubelet_flags::READ;
use super::shell::{self, ShellCommand, ShellScript, UNKNOWN};
use crate::text::is_bootstrap_script;
use cut_flags::CutFlag;

mod cut_flags;
mod notes;

pub(super) const BOOTSTRAP: &str = "/etc/eks/bootstrap.sh";
/// The flag with arguments of the kubelet.
const ARGUMENTS: &str = "--kubelet-extra-args";
/// Programs and flags before the path of a script that run it.
const RUNNERS: &[&str] = &[
    "sudo",
    "-E",
    "bash",
    "sh",
    "/bin/bash",
    "/bin/sh",
    "/usr/bin/bash",
    "-x",
    "-e",
    "-ex",
    "-xe",
    "-eux",
    "-euxo",
    "pipefail",
    "-o",
    "xtrace",
    "errexit",
    "exec",
    "env",
    "nohup",
    "source",
    ".",
];
/// Variables from which the script takes defaults, with the flag that replaces each.
const DEFAULTS: &[(&str, &str)] = &[
    ("KUBELET_EXTRA_ARGS", "--kubelet-extra-args"),
    ("USE_MAX_PODS", "--use-max-pods"),
    ("B64_CLUSTER_CA", "--b64-cluster-ca"),
    ("APISERVER_ENDPOINT", "--apiserver-endpoint"),
    ("DNS_CLUSTER_IP", "--dns-cluster-ip"),
    ("SERVICE_IPV4_CIDR", "--service-ipv4-cidr"),
];

/// Flags of the scripts of all eras.
const FLAGS: &[&str] = &[
    "--apiserver-endpoint",
    "--aws-api-retry-attempts",
    "--b64-cluster-ca",
    "--cluster-id",
    "--container-runtime",
    "--containerd-config-file",
    "--dns-cluster-ip",
    "--docker-config-json",
    "--enable-docker-bridge",
    "--enable-local-outpost",
    "--help",
    "--ip-family",
    "--kubelet-extra-args",
    "--local-disks",
    "--mount-bpf-fs",
    "--pause-container-account",
    "--pause-container-version",
    "--service-ipv4-cidr",
    "--service-ipv6-cidr",
    "--use-max-pods",
];

/// Flags by which a call means the name of the cluster, which has none.
const OF_THE_NAME: &[&str] = &["--cluster-name", "--clustername", "--eks-cluster-name", "--name"];

/// A call of `/etc/eks/bootstrap.sh`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BootstrapCall {
    /// The first word that is not a flag.
    pub(crate) cluster: Option<String>,
    /// Values of flags, or of the variables that are their defaults.
    pub(crate) values: BTreeMap<String, String>,
    /// Flags of the command line.
    pub(crate) flags: BTreeSet<String>,
    /// Words such as `--flag=value`.
    joined: BTreeSet<String>,
    /// Flags that the command line has more than once.
    repeated: BTreeSet<String>,
    /// A flag behind the name of the cluster, without a blank between them.
    glued: Option<String>,
    /// Arguments of the kubelet that a later flag of the call replaces.
    replaced: Vec<String>,
    /// The first word that is neither a flag nor its value, if it is before the name of the cluster, such as
    /// `--max-pods=20`: the script takes it for the name.
    as_name: Option<String>,
    /// Flags that the shell does not pass to the script.
    cut: Vec<CutFlag>,
    /// The lines of the script, from 1, with its first word and with its end.
    lines: (usize, usize),
}

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
    script.commands.iter().any(is_call)
        || script.documents.iter().any(|text| is_bootstrap_script(text))
        || script.variables.values().any(|value| value == BOOTSTRAP)
}

/// The calls of a script, in order.
pub(crate) fn calls(script: &ShellScript) -> Vec<BootstrapCall> {
    let commands = script.commands.iter().enumerate();
    let calls = commands.filter_map(|(index, command)| {
        let mut call = call(command)?;
        call.cut = cut_flags::behind(script, index);
        Some(call)
    });
    calls.collect()
}

fn call(command: &ShellCommand) -> Option<BootstrapCall> {
    let at = command.words.iter().position(|word| word.ends_with(BOOTSTRAP))?;
    let before = &command.words[..at];
    let is_runner = |word: &String| RUNNERS.contains(&word.as_str()) || word.contains('=');
    if !before.iter().all(is_runner) {
        return None;
    }
    let mut call = BootstrapCall {
        lines: (command.first_line, command.last_line),
        ..BootstrapCall::default()
    };
    for (variable, flag) in DEFAULTS {
        if let Some(value) = command.environment.get(*variable) {
            call.values.insert((*flag).to_owned(), value.clone());
        }
    }
    call.arguments(&command.words[at + 1..]);
    Some(call)
}

impl BootstrapCall {
    /// The script takes each word that it does not know for a positional one, such as `--flag=value`, and the first
    /// of them for the name of the cluster.
    fn arguments(&mut self, words: &[String]) {
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            if word.starts_with("--") {
                let is_known = FLAGS.contains(&word.as_str());
                if !is_known && self.cluster.is_none() {
                    self.as_name.get_or_insert_with(|| word.clone());
                }
                if word.contains('=') {
                    self.joined.insert(word.clone());
                    continue;
                }
                let is_repeated = !self.flags.insert(word.clone());
                if is_repeated {
                    self.repeated.insert(word.clone());
                }
                let value = words.next_if(|value| is_known || !FLAGS.contains(&value.as_str()));
                self.value(word, value, is_repeated);
            } else if !word.starts_with('-') && self.cluster.is_none() {
                let glued = FLAGS
                    .iter()
                    .find_map(|flag| Some((flag, word.strip_suffix(flag)?)));
                self.cluster = Some(glued.map_or(word.as_str(), |(_, name)| name).to_owned());
                if let Some((flag, _)) = glued {
                    self.glued = Some((*flag).to_owned());
                    // The value of the flag.
                    words.next();
                }
            }
        }
    }

    fn value(&mut self, flag: &str, value: Option<&String>, is_repeated: bool) {
        let Some(value) = value else { return };
        if OF_THE_NAME.contains(&flag) && self.cluster.is_none() {
            self.cluster = Some(value.clone());
            return;
        }
        let old = self.values.insert(flag.to_owned(), value.clone());
        self.replaced
            .extend(old.filter(|_| is_repeated && flag == ARGUMENTS));
    }
}

impl BootstrapCall {
    /// Forgets the flags in lines behind the call, which may be text of another kind.
    pub(super) fn forget_cut_flags(&mut self) {
        self.cut.clear();
    }

    /// Arguments for the kubelet that the script does not pass to it.
    pub(super) fn lost_flags(&self) -> Vec<String> {
        let unknown = self
            .values
            .iter()
            .filter(|(flag, _)| !FLAGS.contains(&flag.as_str()));
        let unknown = unknown.map(|(flag, value)| match value.starts_with("--") {
            true => value.clone(),
            false => format!("{flag}={value}"),
        });
        let joined = self.joined.iter().map(|word| match word.split_once('=') {
            Some((flag, value)) if value.starts_with("--") && !READ.contains(&flag) => value.to_owned(),
            _ => word.clone(),
        });
        unknown
            .chain(joined)
            .chain(self.replaced.iter().cloned())
            .chain(self.cut.iter().flat_map(|cut| cut.arguments.iter().cloned()))
            .collect()
    }
}

/// The endpoint in a call of `kubeadm join`, such as `10.0.0.1:6443`; empty if it is in a configuration file.
pub(crate) fn kubeadm_join(script: &ShellScript) -> Option<String> {
    script.commands.iter().find_map(|command| {
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

/// The value after a flag of any command whose words contain `subcommand`.
pub(crate) fn flag_of(script: &ShellScript, subcommand: &str, flag: &str) -> Option<String> {
    script.commands.iter().find_map(|command| {
        command.words.iter().position(|word| word == subcommand)?;
        let mut words = command.words.iter();
        while let Some(word) = words.next() {
            if word == flag {
                return words.next().cloned();
            }
            if let Some(value) = word.strip_prefix(flag).and_then(|rest| rest.strip_prefix('=')) {
                return Some(value.to_owned());
            }
        }
        None
    })
}

#[cfg(test)]
mod tests;
