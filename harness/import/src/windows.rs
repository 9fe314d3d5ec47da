//! Checks how a script for Windows calls `Start-EKSBootstrap.ps1`.

use nodejoin_core::vocabulary::nearest::nearest;

use crate::bottlerocket::is_misspelled;
use crate::error::ImportError;

const PARAMETERS: &[&str] = &[
    "APIServerEndpoint",
    "Base64ClusterCA",
    "ContainerRuntime",
    "DNSClusterIP",
    "EKSClusterName",
    "ExcludedSnatCIDRs",
    "KubeletExtraArgs",
    "KubeProxyExtraArgs",
    "ServiceCIDR",
];
const NAME: &str = "eksclustername";

/// What a call states.
#[derive(Debug, Default)]
pub(crate) struct WindowsCall {
    pub(crate) cluster: Option<String>,
    pub(crate) notes: Vec<String>,
}

/// Checks the parameters of the call.
///
/// # Errors
/// A misspelled parameter, or a call without the name of the cluster.
pub(crate) fn check(text: &str) -> Result<WindowsCall, ImportError> {
    let mut call = WindowsCall::default();
    let Some((line, words)) = bootstrap_call(text) else {
        call.notes.push(
            "the script does not call Start-EKSBootstrap.ps1: EKS does, in a managed node group without an AMI"
                .to_owned(),
        );
        return Ok(call);
    };
    for (index, word) in words.iter().enumerate() {
        let Some(parameter) = parameter(word) else {
            continue;
        };
        let lower = parameter.to_ascii_lowercase();
        if NAME.starts_with(&lower) {
            call.cluster = words.get(index + 1).cloned();
        }
        // PowerShell accepts the beginning of a name in any case.
        let is_known = PARAMETERS
            .iter()
            .any(|known| known.to_ascii_lowercase().starts_with(&lower));
        if is_known {
            continue;
        }
        match nearest(parameter, PARAMETERS.iter().copied()).filter(|meant| is_misspelled(parameter, meant)) {
            Some(meant) => {
                let problem = format!("unknown parameter `-{parameter}`; did you mean `-{meant}`?");
                return Err(invalid(line, problem));
            }
            None => call
                .notes
                .push(format!("nodejoin does not know the parameter `-{parameter}`")),
        }
    }
    match call.cluster {
        Some(_) => Ok(call),
        None => Err(invalid(
            line,
            "Start-EKSBootstrap.ps1 is called without `-EKSClusterName`".to_owned(),
        )),
    }
}

/// The line and the words of the call, whose lines end with a backtick if they continue.
fn bootstrap_call(text: &str) -> Option<(usize, Vec<String>)> {
    let is_call = |line: &str| {
        let line = line.trim_start();
        let lower = line.to_ascii_lowercase();
        let names_script = lower.contains("eksbootstrap");
        names_script && line.starts_with(['&', '.']) || lower.starts_with("start-eksbootstrap")
    };
    let start = text.lines().position(is_call)?;
    let mut call = String::new();
    for line in text.lines().skip(start) {
        let line = line.trim_end();
        call.push_str(line.trim_end_matches('`'));
        call.push(' ');
        if !line.ends_with('`') {
            break;
        }
    }
    Some((start + 1, words(&call)))
}

/// Words of PowerShell; a quoted one has no quotes, and a space at its start if it could be taken for a parameter.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        let last = words.len() - 1;
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                if words[last].is_empty() {
                    words[last].push(' ');
                }
            }
            (None, ' ' | '\t') => words.push(String::new()),
            (_, c) => words[last].push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    for word in &mut words {
        if word.trim_start().starts_with('-') {
            continue;
        }
        *word = word.trim_start().to_owned();
    }
    words
}

fn parameter(word: &str) -> Option<&str> {
    let name = word.strip_prefix('-')?.trim_end_matches(':');
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_name && name.starts_with(|c: char| c.is_ascii_alphabetic())).then_some(name)
}

fn invalid(line: usize, problem: String) -> ImportError {
    ImportError::Invalid {
        line: Some(line),
        column: None,
        problem,
        hint: "correct the call; the documentation of Amazon EKS lists the parameters".to_owned(),
    }
}
