//! `KUBELET_EXTRA_ARGS` that user data sets and nothing reads. The bootstrap scripts take it from their environment;
//! nodeadm and the kubelet's unit of AL2023 do not.

use nodejoin_core::user_data::parse;

use super::ami::{AmiChoice, AmiFiles};
use super::bootstrap_call::{self, BOOTSTRAP};
use super::kubelet_flags::shown;
use super::shell::{self, ShellScript};
use super::stated::Stated;
use super::systemd_words;

const NAME: &str = "KUBELET_EXTRA_ARGS";
const FLAG: &str = "--kubelet-extra-args";
/// Folders of programs that are not of the AMI: they may read the variable.
const FOLDERS: [&str; 8] = [
    "./",
    "/opt/",
    "/usr/local/",
    "/root/",
    "/home/",
    "/tmp/",
    "/var/",
    "/etc/",
];
/// Commands that run a text or a file in the shell itself.
const IN_THE_SHELL: [&str; 3] = ["eval", "source", "."];

/// What starts the kubelet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    /// `/etc/eks/bootstrap.sh` of Amazon Linux 2 and Ubuntu.
    Script,
    Nodeadm,
    Kubeadm,
}

impl Flow {
    fn of(choice: &AmiChoice) -> Self {
        match choice.image {
            Some(_) => Self::Nodeadm,
            None if choice.files.contains(&AmiFiles::Kubeadm) => Self::Kubeadm,
            None => Self::Script,
        }
    }
}

/// The variable, if nothing reads it.
#[derive(Debug)]
pub(super) struct LostVariable {
    /// Why it has no effect, and what to write instead.
    pub(super) why: String,
    /// Its value.
    pub(super) flags: String,
    /// Whether a script or a drop-in of a unit sets it, and not a file that another program may read.
    pub(super) is_certain: bool,
}

/// Explains why the variable has no effect, and what to write instead. `is_completed`: EKS adds a part of its own.
pub(super) fn lost_variable(
    user_data: &[u8],
    stated: &Stated,
    choice: &AmiChoice,
    is_completed: bool,
) -> Option<LostVariable> {
    if stated.text.lines().any(is_reader) {
        return None;
    }
    let flow = Flow::of(choice);
    let parts = parse(user_data).scripts();
    let own = parts.iter().map(|part| String::from_utf8_lossy(&part.content));
    let found = own.map(|text| shell::read(&text)).find_map(|script| {
        Some(LostVariable {
            why: of_script(&script, stated, flow, is_completed)?,
            flags: script.variables.get(NAME).cloned().unwrap_or_default(),
            is_certain: true,
        })
    });
    // No file of AL2023 reads the variable from another file, such as a drop-in of the unit.
    let mut lines = stated.text.lines().filter(|_| flow == Flow::Nodeadm);
    let is_set =
        |line: &str| is_code(line) && line.contains("KUBELET_EXTRA_ARGS=") && !line.contains(BOOTSTRAP);
    let is_run_elsewhere = || {
        parts
            .iter()
            .any(|part| runs_other(&shell::read(&String::from_utf8_lossy(&part.content))))
    };
    found.or_else(|| {
        let line = lines.find(|line| is_set(line) && !is_run_elsewhere())?;
        let (before, value) = line.split_once("KUBELET_EXTRA_ARGS=")?;
        let flags = within_quotes(before, value);
        Some(LostVariable {
            why: of_nodeadm(flags),
            flags: flags.to_owned(),
            // A drop-in of the kubelet's unit. A program of another AMI may read another file.
            is_certain: before.contains("Environment="),
        })
    })
}

/// The value up to the quote that ends it: the one at its start, or the one that is open before the name.
fn within_quotes<'t>(before: &str, value: &'t str) -> &'t str {
    const QUOTES: [char; 2] = ['"', '\''];
    let (value, quote) = match value.strip_prefix(QUOTES) {
        Some(rest) => (rest, value.chars().next()),
        None => (value, before.chars().rev().find(|c| QUOTES.contains(c))),
    };
    quote.and_then(|quote| value.split(quote).next()).unwrap_or(value)
}

fn of_script(script: &ShellScript, stated: &Stated, flow: Flow, is_completed: bool) -> Option<String> {
    let value = script.variables.get(NAME)?;
    let is_exported = script.exported.iter().any(|name| name == NAME) || exports_all(script);
    if is_exported && runs_other(script) {
        return None;
    }
    match flow {
        Flow::Nodeadm => Some(of_nodeadm(value)),
        Flow::Kubeadm => Some(format!(
            "`{NAME}` has no effect: the kubelet's unit of kubeadm reads it from `/etc/default/kubelet` (`/etc/sysconfig/kubelet` where \
             packages are RPMs), and not from a script; write it there, or as `nodeRegistration.kubeletExtraArgs`"
        )),
        Flow::Script => of_bootstrap_script(script, stated, is_exported, is_completed),
    }
}

fn of_nodeadm(value: &str) -> String {
    let flags: Vec<String> = systemd_words::words(value)
        .iter()
        .map(|flag| format!("\"{}\"", shown(flag)))
        .collect();
    format!(
        "`{NAME}` has no effect: neither nodeadm nor the kubelet's unit of AL2023 reads it; write `kubelet: {{ flags: [{}] }}` into the \
         `spec` of a NodeConfig",
        flags.join(", ")
    )
}

fn of_bootstrap_script(
    script: &ShellScript,
    stated: &Stated,
    is_exported: bool,
    is_completed: bool,
) -> Option<String> {
    let calls = bootstrap_call::calls(script);
    if is_sourced(script) {
        return None;
    }
    if calls.iter().any(|call| call.flags.contains(FLAG)) {
        return is_exported.then(|| {
            format!(
                "the exported `{NAME}` has no effect: `{FLAG}` in the call of bootstrap.sh replaces it; write all flags into \
                 one of them"
            )
        });
    }
    if calls.iter().any(|call| call.values.contains_key(FLAG)) || (is_exported && !calls.is_empty()) {
        return None;
    }
    let why_and_remedy = if !calls.is_empty() {
        format!(
            "the script sets it without `export`, and bootstrap.sh is a process of its own; write `export {NAME}`, or pass \
             `{FLAG} \"${NAME}\"`"
        )
    } else if is_completed {
        format!(
            "it ends with its script, and a part that EKS adds calls bootstrap.sh; change that script before, with \
             `sed -i '/^{NAME}=/a {NAME}+=\" FLAGS\"' {BOOTSTRAP}`, or call it yourself in a launch template with an AMI id"
        )
    } else if stated.calls.is_empty() {
        format!("nothing in the user data calls bootstrap.sh, which reads it; call it with `{FLAG}`")
    } else {
        format!(
            "it ends with its script, and another one calls bootstrap.sh; export it there, or pass `{FLAG}`"
        )
    };
    Some(format!("`{NAME}` has no effect: {why_and_remedy}"))
}

/// Whether a line uses the value for something else than the variable itself.
fn is_reader(line: &str) -> bool {
    let uses = ["$KUBELET_EXTRA_ARGS", "${KUBELET_EXTRA_ARGS"];
    let is_own = line
        .trim_start()
        .trim_start_matches("export ")
        .starts_with("KUBELET_EXTRA_ARGS=");
    is_code(line) && !is_own && uses.iter().any(|uses| line.contains(uses))
}

fn is_code(line: &str) -> bool {
    !line.trim_start().starts_with('#')
}

/// Whether the script runs a file or a text that may read the variable.
fn runs_other(script: &ShellScript) -> bool {
    script.commands.iter().any(|command| {
        let words = command.words.iter();
        let mut words = words.skip_while(|word| ["sudo", "bash", "sh", "-x", "-E"].contains(&word.as_str()));
        let Some(word) = words.next().filter(|word| !word.ends_with(BOOTSTRAP)) else {
            return false;
        };
        let is_in_shell = IN_THE_SHELL.contains(&word.as_str())
            && !words.next().is_some_and(|file| file.ends_with(BOOTSTRAP));
        is_in_shell || word.ends_with(".sh") || FOLDERS.iter().any(|folder| word.starts_with(folder))
    })
}

fn is_sourced(script: &ShellScript) -> bool {
    script.commands.iter().any(|command| {
        let [first, second, ..] = &command.words[..] else {
            return false;
        };
        ["source", "."].contains(&first.as_str()) && second.ends_with(BOOTSTRAP)
    })
}

/// `set -a`, after which all variables are exported.
fn exports_all(script: &ShellScript) -> bool {
    script.commands.iter().any(|command| {
        let is_set = command.words.first().is_some_and(|word| word == "set");
        let is_all = |word: &String| {
            word == "allexport" || (word.starts_with('-') && !word.starts_with("--") && word.contains('a'))
        };
        is_set && command.words.iter().any(is_all)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adopt::ami;
    use crate::machine::{AmiFamily, Machine};

    fn lost_in(text: &str, family: Option<AmiFamily>, is_completed: bool) -> String {
        let mut machine = Machine::default();
        machine.traits.ami_family = family;
        let stated = Stated::of(text.as_bytes());
        let choice = ami::choose(&machine, &stated).unwrap();
        let lost = lost_variable(text.as_bytes(), &stated, &choice, is_completed);
        lost.map(|lost| lost.why).unwrap_or_default()
    }

    fn lost(text: &str, family: AmiFamily) -> String {
        lost_in(text, Some(family), false)
    }

    const SET: &str = "#!/bin/bash\nexport KUBELET_EXTRA_ARGS='--node-labels=a=b --v=2'\n";

    #[test]
    fn nodeadm_reads_flags_of_a_node_config_only() {
        let expected =
            "write `kubelet: { flags: [\"--node-labels=a=b\", \"--v=2\"] }` into the `spec` of a NodeConfig";
        let drop_in = "#!/bin/bash\ncat > /etc/systemd/system/kubelet.service.d/x.conf <<E\n[Service]\n\
                       Environment='KUBELET_EXTRA_ARGS=--node-labels=a=b --v=2'\nE\n";
        for text in [SET.to_owned(), SET.replace("export ", ""), drop_in.to_owned()] {
            let found = lost(&text, AmiFamily::Al2023);
            assert!(found.contains(expected), "{text}: {found}");
        }
    }

    #[test]
    fn bootstrap_scripts_read_the_environment() {
        let call = "/etc/eks/bootstrap.sh demo";
        let not_exported = SET.replace("export ", "");
        for (text, expected) in [
            (
                format!("{not_exported}{call}\n"),
                "the script sets it without `export`",
            ),
            (
                format!("{SET}{call} --kubelet-extra-args --v=3\n"),
                "`--kubelet-extra-args` in the call of bootstrap.sh replaces it",
            ),
            (SET.to_owned(), "nothing in the user data calls bootstrap.sh"),
        ] {
            let found = lost(&text, AmiFamily::Al2);
            assert!(found.contains(expected), "{text}: {found}");
        }
        let managed = lost_in(SET, Some(AmiFamily::Al2), true);
        assert!(
            managed.contains("a part that EKS adds calls bootstrap.sh"),
            "{managed}"
        );
        let kubeadm = lost_in(&format!("{SET}kubeadm join a:6443\n"), None, false);
        assert!(kubeadm.contains("`/etc/default/kubelet`"), "{kubeadm}");
    }

    #[test]
    fn a_variable_that_something_reads_is_not_lost() {
        let call = "/etc/eks/bootstrap.sh demo";
        let not_exported = SET.replace("export ", "");
        for text in [
            format!("{SET}{call}\n"),
            format!("{not_exported}export KUBELET_EXTRA_ARGS\n{call}\n"),
            format!("{not_exported}source {call}\n"),
            format!("#!/bin/bash\nset -a\n{not_exported}{call}\n"),
            format!("{not_exported}{call} --kubelet-extra-args \"$KUBELET_EXTRA_ARGS\"\n"),
            format!("#!/bin/bash\nKUBELET_EXTRA_ARGS=--v=2 {call}\n"),
            format!("{SET}/opt/own/join\n"),
        ] {
            assert_eq!(lost(&text, AmiFamily::Al2), "", "{text}");
        }
        for text in [
            format!("{SET}/opt/own/join\n"),
            format!("{SET}sed -i \"s/FLAGS/${{KUBELET_EXTRA_ARGS}}/\" /etc/eks/node.yaml\n"),
            "#!/bin/bash\n# export KUBELET_EXTRA_ARGS=--v=2\n".to_owned(),
        ] {
            assert_eq!(lost(&text, AmiFamily::Al2023), "", "{text}");
        }
    }
}
