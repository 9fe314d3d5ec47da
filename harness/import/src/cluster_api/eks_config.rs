//! EKSConfig: a cloud-config whose last command is bootstrap.sh.

use serde_json::{Value, json};

use super::config::BootstrapConfig;
use super::sections::{files, sections};
use crate::error::ImportError;
use crate::known_fields::{KnownFields, check_texts};
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

/// Checks the fields of the configuration, and the arguments of the kubelet.
///
/// # Errors
/// A field is misspelt, or an argument is not text.
pub(super) fn check(config: &BootstrapConfig<'_>, notes: &mut Vec<String>) -> Result<(), ImportError> {
    // A manifest without `spec` stands for its own specification.
    if config.spec.get("kind").is_some() {
        return Ok(());
    }
    SPEC.check(config.spec, notes)?;
    let arguments = config.spec.get("kubeletExtraArgs");
    check_texts(
        arguments,
        "the argument of the kubelet",
        "the API server refuses it",
    )
}

/// Whether another command takes the place of bootstrap.sh.
pub(super) fn has_own_command(config: &BootstrapConfig<'_>) -> bool {
    command(config).is_some()
}

/// The field has both spellings.
fn command(config: &BootstrapConfig<'_>) -> Option<String> {
    let mut fields = ["bootstrapCommandOverride", "boostrapCommandOverride"].into_iter();
    fields.find_map(|field| config.text(&[field]))
}

/// Says of which value of the user data only AWS knows the true one.
pub(super) fn stand_in_note(config: &BootstrapConfig<'_>) -> Option<String> {
    let range = config
        .stated
        .vpc_range
        .as_ref()
        .filter(|range| !range.is_stated)?;
    let is_used = ipv6_range(config).as_ref() == Some(&range.cidr);
    is_used.then(|| {
        format!(
            "`{}` in the user data stands for the IPv6 range of the VPC, which AWS chooses",
            range.cidr
        )
    })
}

/// The network that bootstrap.sh gets: that of the configuration, else the range of an IPv6 VPC, as the controller of
/// EKSConfigs writes it. The script takes the one of `describe-cluster` in its place.
fn ipv6_range(config: &BootstrapConfig<'_>) -> Option<String> {
    match config.spec.get("serviceIPV6Cidr") {
        Some(own) => own.text().filter(|cidr| !cidr.is_empty()).map(str::to_owned),
        None => config.stated.vpc_range.as_ref().map(|range| range.cidr.clone()),
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
    let command = command(config).unwrap_or_else(|| "/etc/eks/bootstrap.sh".to_owned());
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
    if let Some(cidr) = ipv6_range(config) {
        text.push_str(&format!(" --ip-family ipv6 --service-ipv6-cidr {cidr}"));
    }
    text
}
