//! JoinConfigurations: the files from which `kubeadm join --config FILE` takes the endpoint, and flags of the kubelet.

use super::kubelet_flags::KubeletFlags;
use super::shell::{ShellCommand, ShellScript, UNKNOWN};
use crate::machine::Taint;
use crate::tree::{Tree, yaml};
use crate::words::{joined_taints, kubelet_argument, taint};

const KIND: &str = "JoinConfiguration";

/// What a JoinConfiguration states.
#[derive(Debug, Default, PartialEq, Eq)]
struct JoinConfiguration {
    endpoint: Option<String>,
    /// Flags of the kubelet, such as `--node-labels=a=b`.
    flags: Vec<String>,
    has_other_taints: bool,
}

/// Those of user data.
#[derive(Debug, Default)]
pub(super) struct JoinConfigurations {
    found: Vec<JoinConfiguration>,
    /// Whether a call of `kubeadm join` reads a file.
    is_read: bool,
}

impl JoinConfigurations {
    /// Adds that of a file.
    pub(super) fn add(&mut self, text: &str) {
        if !text.contains(KIND) {
            return;
        }
        for document in yaml(text).unwrap_or_default() {
            // A script in an argument is read twice.
            let found = JoinConfiguration::of(&document).filter(|found| !self.found.contains(found));
            self.found.extend(found);
        }
    }

    /// Adds those in arguments of commands, such as `echo`, and whether the script calls kubeadm.
    pub(super) fn add_script(&mut self, script: &ShellScript) {
        for command in &script.commands {
            command.words.iter().for_each(|word| self.add(word));
            self.is_read |= reads_file(command);
        }
    }

    /// The endpoint that kubeadm reads.
    pub(super) fn endpoint(&self) -> Option<&str> {
        match &self.found[..] {
            [one] if self.is_read => one.endpoint.as_deref(),
            _ => None,
        }
    }

    /// Adds what kubeadm passes to the kubelet.
    pub(super) fn add_to(&self, flags: &mut KubeletFlags) {
        match &self.found[..] {
            [one] if self.is_read => {
                one.flags.iter().for_each(|flag| flags.add(flag));
                if one.has_other_taints {
                    flags.unclear.push(format!("a taint of the {KIND}"));
                }
            }
            [_, _, ..] if self.is_read => flags
                .unclear
                .push(format!("labels and taints of several {KIND}s of kubeadm")),
            _ => {}
        }
    }
}

impl JoinConfiguration {
    fn of(document: &Tree) -> Option<Self> {
        let is_kubeadm = document.text_at(&["apiVersion"])?.starts_with("kubeadm.k8s.io/");
        let is_join = document.text_at(&["kind"])? == KIND;
        (is_kubeadm && is_join).then(|| Self::stated(document))
    }

    fn stated(document: &Tree) -> Self {
        let mut stated = Self {
            endpoint: document
                .text_at(&["discovery", "bootstrapToken", "apiServerEndpoint"])
                .filter(|endpoint| is_known(endpoint)),
            ..Self::default()
        };
        let Some(node) = document.get("nodeRegistration") else {
            return stated;
        };
        for name in ["node-labels", "max-pods"] {
            let value = kubelet_argument(node, name);
            let flag = value.map(|value| format!("--{name}={value}"));
            stated.flags.extend(flag);
        }
        stated.add_taints(node, document.get("controlPlane").is_some());
        stated
    }

    /// The arguments of the kubelet replace the taints. A control plane gets these without a flag.
    fn add_taints(&mut self, node: &Tree, is_control_plane: bool) {
        let items = node.items_at(&["taints"]);
        let taints: Vec<Taint> = items.iter().filter_map(taint).collect();
        let of_list = || (!items.is_empty() && !is_control_plane).then(|| joined_taints(&taints));
        let argument = kubelet_argument(node, "register-with-taints");
        let is_list = argument.is_none();
        let Some(text) = argument.or_else(of_list) else {
            return;
        };
        self.has_other_taints = !is_known(&text) || (is_list && taints.len() < items.len());
        if is_known(&text) && !text.is_empty() {
            self.flags.push(format!("--register-with-taints={text}"));
        }
    }
}

/// Whether a text has nothing that a shell or a template replaces.
fn is_known(text: &str) -> bool {
    !text.contains(['$', '`', '{', '<', UNKNOWN])
}

/// Whether a command is `kubeadm join --config FILE`.
fn reads_file(command: &ShellCommand) -> bool {
    let is_call = |pair: &[String]| {
        let [program, subcommand] = pair else { return false };
        program.rsplit('/').next() == Some("kubeadm") && subcommand == "join"
    };
    let is_config = |word: &String| word == "--config" || word.starts_with("--config=");
    command.words.windows(2).any(is_call) && command.words.iter().any(is_config)
}
