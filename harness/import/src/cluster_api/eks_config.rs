//! EKSConfig: a cloud-config whose last command is bootstrap.sh.

use serde_json::{Value, json};

use super::config::BootstrapConfig;
use super::sections::{files, sections};
use crate::error::ImportError;
use crate::known_fields::KnownFields;
use crate::tree::yaml;
use crate::words::texts;

const SPEC: KnownFields = KnownFields {
    place: "`spec` of an EKSConfig",
    consequence: "kubectl refuses it, and other clients lose it",
    fields: &[&[
        "apiRetryAttempts",
        // The API has the first spelling.
        "boostrapCommandOverride",
        "bootstrapCommandOverride",
        "containerRuntime",
        "diskSetup",
        "dnsClusterIP",
        "dockerConfigJson",
        "files",
        "kubeletExtraArgs",
        "mounts",
        "ntp",
        "pauseContainer",
        "postBootstrapCommands",
        "preBootstrapCommands",
        "serviceIPV6Cidr",
        "useMaxPods",
        "users",
    ]],
    elsewhere: None,
};

/// Checks the fields of the configuration.
///
/// # Errors
/// A field is misspelt.
pub(super) fn check(config: &BootstrapConfig<'_>, notes: &mut Vec<String>) -> Result<(), ImportError> {
    // A manifest without `spec` stands for its own specification.
    match config.spec.get("kind") {
        None => SPEC.check(config.spec, notes),
        Some(_) => Ok(()),
    }
}

/// The user data. Cluster API writes the call of bootstrap.sh as a plain scalar of YAML.
///
/// # Errors
/// An argument that makes the document invalid, as `: ` does.
pub(super) fn render(config: &BootstrapConfig<'_>) -> Result<String, ImportError> {
    let mut text = "#cloud-config\n".to_owned();
    let files = files(config.spec);
    if !files.is_empty() {
        text.push_str(&format!("write_files: {}\n", Value::from(files)));
    }
    text.push_str("runcmd:\n");
    for command in config.commands("preBootstrapCommands") {
        text.push_str(&format!("  - {}\n", json!(command)));
    }
    let command = config
        .text(&["bootstrapCommandOverride"])
        .or_else(|| config.text(&["boostrapCommandOverride"]))
        .unwrap_or_else(|| "/etc/eks/bootstrap.sh".to_owned());
    let name = config.cluster.name.as_deref().unwrap_or_default();
    text.push_str(&format!("  - {command} {name}{}\n", arguments(config)));
    for command in config.commands("postBootstrapCommands") {
        text.push_str(&format!("  - {}\n", json!(command)));
    }
    text.push_str(&sections(config.spec));
    match fault(&text) {
        None => Ok(text),
        Some(fault) => Err(ImportError::Invalid {
            line: config.spec.line(),
            column: None,
            problem: format!(
                "EKSConfig `{}` renders a cloud-config that cloud-init cannot run: {fault}",
                config.name
            ),
            hint: "remove `: ` and ` #` from the arguments of bootstrap.sh, such as spaces in `dockerConfigJson`: Cluster \
                   API does not quote them"
                .to_owned(),
        }),
    }
}

/// Why cloud-init cannot run the commands.
fn fault(text: &str) -> Option<String> {
    let documents = match yaml(text) {
        Ok(documents) => documents,
        Err(error) => return Some(error.to_string()),
    };
    let mut commands = documents
        .iter()
        .flat_map(|document| document.items_at(&["runcmd"]));
    commands
        .any(|command| command.text().is_none())
        .then(|| "the call of bootstrap.sh is a mapping in YAML".to_owned())
}

fn arguments(config: &BootstrapConfig<'_>) -> String {
    let mut text = String::new();
    let extra: Vec<String> = texts(config.spec.get("kubeletExtraArgs"))
        .iter()
        .map(|(key, value)| format!("--{key}={value}"))
        .collect();
    if !extra.is_empty() {
        text.push_str(&format!(" --kubelet-extra-args '{}'", extra.join(" ")));
    }
    let flags: [(&[&str], &str, &str); 7] = [
        (&["containerRuntime"], "container-runtime", ""),
        (&["dnsClusterIP"], "dns-cluster-ip", ""),
        (&["dockerConfigJson"], "docker-config-json", "'"),
        (&["apiRetryAttempts"], "aws-api-retry-attempts", ""),
        (
            &["pauseContainer", "accountNumber"],
            "pause-container-account",
            "",
        ),
        (&["pauseContainer", "version"], "pause-container-version", ""),
        (&["useMaxPods"], "use-max-pods", ""),
    ];
    for (path, flag, quote) in flags {
        if let Some(value) = config.text(path) {
            text.push_str(&format!(" --{flag} {quote}{value}{quote}"));
        }
    }
    if let Some(cidr) = config.text(&["serviceIPV6Cidr"]) {
        text.push_str(&format!(" --ip-family ipv6 --service-ipv6-cidr {cidr}"));
    }
    text
}
