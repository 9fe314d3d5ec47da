//! NodeadmConfig: a MIME message of commands, a NodeConfig and a cloud-config.

use serde_json::{Value, json};

use super::config::BootstrapConfig;
use super::eks_config::{files, sections};
use crate::mime;
use crate::tree::Tree;

/// What Cluster API assumes if the Cluster names no range for services.
const DEFAULT_CIDR: &str = "172.20.0.0/16";

/// The user data.
pub(super) fn render(config: &BootstrapConfig<'_>) -> String {
    let mut parts = Vec::new();
    let commands = config.commands("preNodeadmCommands");
    if !commands.is_empty() {
        let text = format!(
            "#!/bin/bash\nset -o errexit\nset -o pipefail\nset -o nounset\n{}\n",
            commands.join("\n")
        );
        parts.push(mime::part("text/x-shellscript; charset=\"us-ascii\"", &text));
    }
    parts.push(mime::part("application/node.eks.aws", &node_config(config)));
    let files = files(config.spec);
    let sections = sections(config.spec);
    if !files.is_empty() || !sections.is_empty() {
        let text = format!("#cloud-config\nwrite_files: {}\n{sections}", Value::from(files));
        parts.push(mime::part("text/cloud-config", &text));
    }
    mime::message(&parts)
}

fn node_config(config: &BootstrapConfig<'_>) -> String {
    let cluster = &config.cluster;
    let cidr = config.service_cidr().unwrap_or_else(|| DEFAULT_CIDR.to_owned());
    let own = json!({
        "name": cluster.name,
        "apiServerEndpoint": cluster.endpoint,
        "certificateAuthority": cluster.certificate_authority,
        "cidr": cidr,
    });
    let mut text =
        format!("---\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster: {own}\n");
    for key in ["featureGates", "instance", "kubelet"] {
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
    if let Some(base) = containerd.get("baseRuntimeSpec") {
        text.push_str(&format!("    baseRuntimeSpec: {}\n", base.to_json()));
    }
    if let Some(config) = containerd.text_at(&["config"]) {
        text.push_str("    config:\n");
        for line in config.lines() {
            text.push_str(&format!("      {line}\n"));
        }
    }
    text
}
