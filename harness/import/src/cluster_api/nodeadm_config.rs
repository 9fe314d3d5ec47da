//! NodeadmConfig: a MIME message of commands, a NodeConfig and a cloud-config.

use serde_json::{Value, json};

use super::config::BootstrapConfig;
use super::sections::{files, sections};
use crate::tree::Tree;

/// The fields of a NodeadmConfig's specification, for instances of EC2.
const FIELDS: [&str; 9] = [
    "containerd",
    "diskSetup",
    "featureGates",
    "files",
    "kubelet",
    "mounts",
    "ntp",
    "preNodeadmCommands",
    "users",
];

/// What stands before the content of a part besides its type.
const ENCODING: &str =
    "MIME-Version: 1.0\nContent-Transfer-Encoding: 7bit\nContent-Disposition: attachment; filename=";

/// Fields that a NodeadmConfig does not have. The API server drops them, with a warning or an error of the client.
pub(super) fn unknown_fields<'a>(config: &'a BootstrapConfig<'_>) -> impl Iterator<Item = &'a str> {
    let fields = config.spec.entries().iter().map(|(field, _)| field.as_str());
    // A manifest without `spec` stands for its own specification.
    let is_manifest = config.spec.get("kind").is_some();
    fields.filter(move |field| !is_manifest && !FIELDS.contains(field))
}

/// The user data. Each part ends with a boundary of its own: after the commands stands an empty part.
pub(super) fn render(config: &BootstrapConfig<'_>) -> String {
    let mut text = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n".to_owned();
    let commands = config.commands("preNodeadmCommands");
    if !commands.is_empty() {
        text.push_str(&format!(
            "\n--//\nContent-Type: text/x-shellscript; charset=\"us-ascii\"\n{ENCODING}\"commands.sh\"\n\n#!/bin/bash\n\
             set -o errexit\nset -o pipefail\nset -o nounset\n{}\n--//\n",
            commands.join("\n")
        ));
    }
    text.push_str(&format!(
        "\n--//\nContent-Type: application/node.eks.aws\n\n{}\n--//",
        node_config(config)
    ));
    let files = files(config.spec);
    let sections = sections(config.spec);
    if !files.is_empty() || !sections.is_empty() {
        text.push_str(&format!(
            "\nContent-Type: text/cloud-config\n{ENCODING}\"cloud-config.yaml\"\n\n#cloud-config\nwrite_files: {}\n{sections}--//",
            Value::from(files)
        ));
    }
    text.push_str("--");
    text
}

fn node_config(config: &BootstrapConfig<'_>) -> String {
    let cluster = &config.cluster;
    let own = json!({
        "name": cluster.name,
        "apiServerEndpoint": cluster.endpoint,
        "certificateAuthority": cluster.certificate_authority,
        "cidr": config.service_cidr(),
    });
    let mut text =
        format!("---\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster: {own}\n");
    for key in ["featureGates", "kubelet"] {
        if let Some(value) = config.spec.get(key) {
            text.push_str(&format!("  {key}: {}\n", value.to_json()));
        }
    }
    if let Some(containerd) = config.spec.get("containerd") {
        text.push_str(&format!("  containerd:\n{}", self_contained(containerd)));
    }
    text
}

/// Cluster API writes `config` below its key without `|`: two lines of TOML make the document invalid.
fn self_contained(containerd: &Tree) -> String {
    let mut text = String::new();
    if let Some(config) = containerd.text_at(&["config"]) {
        text.push_str("    config:\n");
        for line in config.lines() {
            text.push_str(&format!("      {line}\n"));
        }
    }
    if let Some(base) = containerd.get("baseRuntimeSpec") {
        text.push_str(&format!("    baseRuntimeSpec: {}\n", base.to_json()));
    }
    text
}
