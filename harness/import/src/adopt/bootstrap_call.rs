//! Calls of `/etc/eks/bootstrap.sh` and of `kubeadm join` in a script.

use std::collections::{BTreeMap, BTreeSet};

use nodejoin_core::kubernetes::{Minor, nearest_kubelet_flag};
use nodejoin_core::vocabulary::nearest::nearest;

use super::kubelet_flags::READ;
use super::shell::{ShellCommand, ShellScript};

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

/// A version of the kubelet that bootstrap scripts start.
const ANY_KUBELET: Minor = Minor::new(23);

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
    /// A word such as `--max-pods=20` before the name of the cluster: the script takes it for the name.
    as_name: Option<String>,
    /// Flags that the shell does not pass to the script, as the line before them does not end with a backslash.
    cut: CutFlags,
}

/// Flags in lines that are commands of their own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct CutFlags {
    /// The first word of each such line.
    commands: Vec<String>,
    /// Arguments of the kubelet in them.
    arguments: Vec<String>,
}

/// The calls of a script, in order.
pub(crate) fn calls(script: &ShellScript) -> Vec<BootstrapCall> {
    let commands = script.commands.iter().enumerate();
    let calls = commands.filter_map(|(index, command)| {
        let mut call = call(command)?;
        call.cut = CutFlags::behind(&script.commands[index + 1..]);
        Some(call)
    });
    calls.collect()
}

impl CutFlags {
    /// Those in the commands behind a call. No program has a name that begins with two hyphens.
    fn behind(commands: &[ShellCommand]) -> Self {
        let mut cut = Self::default();
        let is_flag = |word: &&String| word.starts_with("--");
        for command in commands {
            let Some(first) = command.words.first().filter(is_flag) else {
                break;
            };
            cut.commands.push(first.clone());
            let mut meant = BootstrapCall::default();
            meant.arguments(&command.words);
            cut.arguments.append(&mut meant.lost_flags());
            cut.arguments.extend(meant.values.remove(ARGUMENTS));
        }
        cut
    }
}

fn call(command: &ShellCommand) -> Option<BootstrapCall> {
    let at = command.words.iter().position(|word| word.ends_with(BOOTSTRAP))?;
    let before = &command.words[..at];
    let is_runner = |word: &String| RUNNERS.contains(&word.as_str()) || word.contains('=');
    if !before.iter().all(is_runner) {
        return None;
    }
    let mut call = BootstrapCall::default();
    for (variable, flag) in DEFAULTS {
        if let Some(value) = command.environment.get(*variable) {
            call.values.insert((*flag).to_owned(), value.clone());
        }
    }
    call.arguments(&command.words[at + 1..]);
    Some(call)
}

impl BootstrapCall {
    /// The script knows no `--flag=value`: it takes such a word for a positional one.
    fn arguments(&mut self, words: &[String]) {
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if word.starts_with("--") && !word.contains('=') {
                if !self.flags.insert(word.clone()) {
                    self.repeated.insert(word.clone());
                }
                let is_repeated = self.repeated.contains(word);
                if let Some(value) = words.next() {
                    let old = self.values.insert(word.clone(), value.clone());
                    self.replaced
                        .extend(old.filter(|_| is_repeated && word == ARGUMENTS));
                }
            } else if word.starts_with("--") {
                if self.cluster.is_none() {
                    self.as_name.get_or_insert_with(|| word.clone());
                }
                self.joined.insert(word.clone());
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
}

impl BootstrapCall {
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
            .chain(self.cut.arguments.iter().cloned())
            .collect()
    }

    /// Arguments of the call that no script of an EKS AMI reads, each with what to do.
    pub(crate) fn ignored(&self) -> Vec<String> {
        let unknown = self.flags.iter().filter(|flag| !FLAGS.contains(&flag.as_str()));
        let unknown = unknown.map(|flag| unknown_flag(flag));
        let as_name = self.as_name.iter().map(|word| self.taken_for_the_name(word));
        let joined = self
            .joined
            .iter()
            .filter(|word| self.as_name.as_ref() != Some(word));
        let joined = joined.map(|word| {
            let flag = word.split('=').next().unwrap_or_default();
            match FLAGS.contains(&flag) {
                true => {
                    format!("bootstrap.sh reads no `{flag}=VALUE`: it has no effect; write `{flag} VALUE`")
                }
                false => unknown_flag(flag),
            }
        });
        let repeated = self.repeated.iter().map(|flag| {
            format!("bootstrap.sh gets `{flag}` several times, and the last value replaces the others: write all into one")
        });
        let glued = self.glued.iter().map(|flag| {
            format!(
                "a blank is missing before `{flag}`: bootstrap.sh takes it for the end of the cluster's name"
            )
        });
        let arguments = self.values.get(ARGUMENTS);
        let literal = arguments.and_then(|arguments| literal_command(arguments));
        let literal = literal.map(|command| {
            format!(
                "no shell evaluates `{command}` between single quotes: the kubelet gets this text; put `--kubelet-extra-args` into double \
                 quotes, or interrupt the single ones, `'\"{command}\"'`"
            )
        });
        let cut = self.cut.commands.iter().map(|flag| {
            format!(
                "the call of bootstrap.sh ends before `{flag}`, because a backslash is not the last character of the line before it: the shell \
                 runs `{flag}` as a command (`{flag}: command not found`), and bootstrap.sh does not get it; end the line before it with `\\`"
            )
        });
        let all = unknown.chain(as_name).chain(joined).chain(repeated).chain(glued);
        all.chain(literal).chain(cut).collect()
    }

    /// What to do about a word before the name of the cluster. Most often the arguments of the kubelet lack quotes, so
    /// that the flag takes the first of them.
    fn taken_for_the_name(&self, word: &str) -> String {
        let flag = word.split('=').next().unwrap_or_default();
        let advice = match self.values.get(ARGUMENTS).filter(|_| !FLAGS.contains(&flag)) {
            Some(first) => {
                format!("quote the arguments of the kubelet as one value, `{ARGUMENTS} '{first} {word}'`")
            }
            None if FLAGS.contains(&flag) => format!("write `{flag} VALUE`"),
            None => format!("arguments of the kubelet belong into `{ARGUMENTS} '{word}'`"),
        };
        format!(
            "bootstrap.sh takes `{word}` for the name of the cluster, because it stands before the name: {advice}"
        )
    }
}

/// A command that quotes keep from a shell, without its arguments. What a shell evaluates is not in the value.
fn literal_command(arguments: &str) -> Option<String> {
    let (_, command) = arguments.split_once("$(")?;
    let command = command.split_once(')').map_or(command, |(command, _)| command);
    let shown = command
        .split_once(' ')
        .map(|(first, _)| format!("$({first} ...)"));
    Some(shown.unwrap_or_else(|| format!("$({command})")))
}

/// A flag of the kubelet, or a misspelt one.
fn unknown_flag(flag: &str) -> String {
    let is_of_kubelet = nearest_kubelet_flag(flag, ANY_KUBELET) == Some(flag);
    let meant = nearest(flag, FLAGS.iter().copied()).filter(|_| !is_of_kubelet);
    let advice = match meant {
        Some(meant) => {
            format!("did you mean `{meant}`? The script may take its value for the name of the cluster")
        }
        None => format!(
            "it has no effect; arguments of the kubelet belong into `--kubelet-extra-args '{flag}=VALUE'`"
        ),
    };
    format!("bootstrap.sh of the EKS AMIs has no flag `{flag}`: {advice}")
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
mod tests {
    use super::*;
    use crate::adopt::shell;

    fn one(text: &str) -> BootstrapCall {
        let mut calls = calls(&shell::read(text));
        assert_eq!(calls.len(), 1, "{text}");
        calls.remove(0)
    }

    #[test]
    fn name_and_flags_are_read_in_any_order() {
        for text in [
            "/etc/eks/bootstrap.sh demo --b64-cluster-ca CA --kubelet-extra-args '--max-pods=3'\n",
            "B64=CA\nsudo /etc/eks/bootstrap.sh --b64-cluster-ca $B64 --kubelet-extra-args \"--max-pods=3\" 'demo'\n",
            "bash -x /etc/eks/bootstrap.sh \\\n  --b64-cluster-ca CA \\\n  --kubelet-extra-args --max-pods=3 demo || exit 1\n",
        ] {
            let call = one(text);
            assert_eq!(call.cluster.as_deref(), Some("demo"), "{text}");
            assert_eq!(call.values["--b64-cluster-ca"], "CA");
            assert_eq!(call.values["--kubelet-extra-args"], "--max-pods=3");
        }
    }

    #[test]
    fn exported_variables_are_defaults_of_flags() {
        let text = "export KUBELET_EXTRA_ARGS='--v=2'\nUSE_MAX_PODS=false\n/etc/eks/bootstrap.sh demo\n";
        let call = one(text);
        assert_eq!(call.values["--kubelet-extra-args"], "--v=2");
        assert_eq!(call.values.len(), 1);
        assert!(call.flags.is_empty());
    }

    #[test]
    fn commands_that_only_name_the_script_are_no_calls() {
        for text in [
            "sed -i s/a/b/ /etc/eks/bootstrap.sh\n",
            "chmod +x /etc/eks/bootstrap.sh\n",
            "# /etc/eks/bootstrap.sh x\n",
        ] {
            assert_eq!(calls(&shell::read(text)), [], "{text}");
        }
    }

    #[test]
    fn a_flag_with_an_equals_sign_is_not_read() {
        let call = one("/etc/eks/bootstrap.sh demo --kubelet-extra-args='--v=2'\n");
        assert_eq!((call.cluster.as_deref(), call.values.len()), (Some("demo"), 0));
    }

    #[test]
    fn misspelt_and_repeated_flags_are_explained() {
        let ignored = |flags: &str| {
            one(&format!("/etc/eks/bootstrap.sh demo {flags}\n"))
                .ignored()
                .join("; ")
        };
        assert!(ignored("--api-server-endpoint x").contains("did you mean `--apiserver-endpoint`?"));
        assert!(
            ignored("--node-labels a=b").contains("belong into `--kubelet-extra-args '--node-labels=VALUE'`")
        );
        let twice = "--kubelet-extra-args --v=2 --kubelet-extra-args --v=3";
        assert!(
            ignored(twice).contains("gets `--kubelet-extra-args` several times"),
            "{}",
            ignored(twice)
        );
        assert_eq!(ignored("--kubelet-extra-args --v=2"), "");
        let quoted = ignored("--kubelet-extra-args '--node-labels=a=$(curl -s x)'");
        assert!(quoted.starts_with("no shell evaluates `$(curl ...)`"), "{quoted}");
        assert_eq!(
            ignored("--kubelet-extra-args \"--node-labels=a=$(curl -s x)\""),
            ""
        );
    }

    #[test]
    fn a_flag_without_a_blank_before_it_is_explained() {
        let call = one("/etc/eks/bootstrap.sh demo--kubelet-extra-args '--v=2'\n");
        assert_eq!(call.cluster.as_deref(), Some("demo"));
        assert!(call.ignored()[0].starts_with("a blank is missing before `--kubelet-extra-args`"));
    }

    #[test]
    fn flags_behind_a_line_without_its_backslash_are_cut_off() {
        for text in [
            "/etc/eks/bootstrap.sh demo\n  --kubelet-extra-args '--max-pods=3'\n",
            "/etc/eks/bootstrap.sh demo \\ \n  --kubelet-extra-args '--max-pods=3'\n",
            "/etc/eks/bootstrap.sh demo\n--use-max-pods false \\\n--kubelet-extra-args '--max-pods=3'\n",
            "/etc/eks/bootstrap.sh demo\n\n--use-max-pods false\n# x\n--kubelet-extra-args '--max-pods=3'\n",
        ] {
            let call = one(text);
            assert_eq!(call.lost_flags(), ["--max-pods=3"], "{text}");
            let flag = call.cut.commands.last().unwrap();
            let expected = format!("the call of bootstrap.sh ends before `{flag}`");
            assert!(call.ignored().last().unwrap().starts_with(&expected), "{text}");
        }
        for text in [
            "/etc/eks/bootstrap.sh demo \\\n  --kubelet-extra-args '--max-pods=3'\n",
            "/etc/eks/bootstrap.sh demo \\\r\n  --kubelet-extra-args '--max-pods=3'\r\n",
            "/etc/eks/bootstrap.sh demo\necho x\n--kubelet-extra-args '--max-pods=3'\n",
            "/etc/eks/bootstrap.sh demo --kubelet-extra-args '\n  --max-pods=3\n  --v=2'\n",
        ] {
            assert_eq!(one(text).cut, CutFlags::default(), "{text}");
        }
    }

    #[test]
    fn other_commands_name_clusters_too() {
        let script =
            shell::read("aws eks describe-cluster --region r --name=demo\nkubeadm join a:6443 --token x\n");
        assert_eq!(
            flag_of(&script, "describe-cluster", "--name").as_deref(),
            Some("demo")
        );
        assert_eq!(
            flag_of(&script, "describe-cluster", "--region").as_deref(),
            Some("r")
        );
        assert_eq!(flag_of(&script, "other", "--name"), None);
        assert_eq!(kubeadm_join(&script).as_deref(), Some("a:6443"));
    }
}
