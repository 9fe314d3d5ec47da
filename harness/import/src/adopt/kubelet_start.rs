//! Whether user data may start a kubelet.

use nodejoin_core::user_data::{FaultKind, parse};

use super::stated::Stated;
use crate::machine::Machine;
use crate::source_lines::SourceLines;
use crate::template_stack::TemplateStack;

/// Whether neither the user data nor a script of its stack may start a kubelet.
pub(super) fn is_without_kubelet(machine: &Machine) -> bool {
    readable(machine).is_some_and(|stated| !stated.configs.is_any && !may_start_kubelet(&stated.text))
}

/// What the user data and the scripts of its stack state, if they can be read without a run.
pub(super) fn readable(machine: &Machine) -> Option<Stated> {
    let user_data = machine.user_data.as_deref().unwrap_or_default();
    let scripts = machine
        .stack
        .as_ref()
        .map(TemplateStack::scripts)
        .unwrap_or_default();
    let stated = Stated::with_scripts(user_data, &scripts, &SourceLines::default());
    let parsed = parse(user_data);
    // It starts none because it is encoded twice, which has its own note.
    let is_encoded = parsed.faults.iter().any(|fault| fault.kind == FaultKind::Base64);
    let parts = parsed.parts;
    let is_read = !is_encoded && !parts.is_empty() && parts.iter().all(|part| !part.mime.contains("include"));
    is_read.then_some(stated)
}

pub(super) fn may_start_kubelet(text: &str) -> bool {
    let is_code = |line: &&str| !line.trim_start().starts_with('#') || line.starts_with("#!");
    let mut code = text.lines().filter(is_code).map(str::to_ascii_lowercase);
    code.any(|line| STARTERS.iter().any(|word| line.contains(word)) || starts_kubelet(&line))
}

/// Words of user data that starts a kubelet, or gets a program that may do so.
const STARTERS: [&str; 10] = [
    "bootstrap",
    "nodeadm",
    "kubeadm",
    "node.eks.aws",
    "curl",
    "wget",
    "aws s3",
    "git ",
    // An AMI of its own can have such a program.
    "join",
    ".sh",
];

/// Whether a line runs a kubelet or its unit. Others write its files.
pub(super) fn starts_kubelet(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_kubelet =
        |word: &&str| ["kubelet", "kubelet.service"].contains(word) || word.ends_with("/kubelet");
    let has = |names: &[&str]| words.iter().any(|word| names.contains(word));
    let is_started = has(&["systemctl", "service"]) && has(&["start", "restart", "enable", "reenable"]);
    let is_first = |word: &&str| words.first() == Some(word) || words.first() == Some(&"exec");
    words
        .iter()
        .any(|word| is_kubelet(word) && (is_started || is_first(word)))
}
