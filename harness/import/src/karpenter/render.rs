//! The user data of each AMI family: the class', merged with Karpenter's part.

use serde_json::{Value, json};

use super::node_class::NodeClass;
use super::node_options::NodeOptions;
use super::{bottlerocket, kubelet};
use crate::error::ImportError;
use crate::machine::AmiFamily;
use crate::mime;
use crate::tree::{Tree, yaml};
use crate::words::{joined_labels, joined_taints};

const SHELL: &str = "text/x-shellscript; charset=\"us-ascii\"";
const NODE_CONFIG: &str = "application/node.eks.aws";

/// The user data of a node.
pub(super) fn user_data(
    class: &NodeClass<'_>,
    family: AmiFamily,
    text: &str,
    options: &NodeOptions<'_>,
    notes: &mut Vec<String>,
) -> Result<Option<Vec<u8>>, ImportError> {
    let rendered = match family {
        AmiFamily::Custom => return Ok(Some(text.as_bytes().to_vec()).filter(|bytes| !bytes.is_empty())),
        AmiFamily::Bottlerocket => bottlerocket::merged(class, text, options, notes)?,
        AmiFamily::Windows => windows(text, options),
        AmiFamily::Al2023 => {
            let kind = if text.is_empty() || mime::is_message(text) || !is_mapping(text) {
                SHELL
            } else {
                if !text.contains("node.eks.aws/") {
                    notes.push(
                        "Karpenter takes the user data for a NodeConfig, because it is a YAML mapping"
                            .to_owned(),
                    );
                }
                NODE_CONFIG
            };
            let mut parts = own_parts(class, text, kind)?;
            parts.push(mime::part(NODE_CONFIG, &node_config(options)));
            mime::message(&parts)
        }
        AmiFamily::Al2 | AmiFamily::Ubuntu => {
            let mut parts = own_parts(class, text, SHELL)?;
            parts.push(mime::part(SHELL, &script(options)));
            mime::message(&parts)
        }
    };
    Ok(Some(rendered.into_bytes()))
}

/// The parts of the class' user data; a text that is not a message is one part of this kind.
fn own_parts(class: &NodeClass<'_>, text: &str, kind: &str) -> Result<Vec<String>, ImportError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    if !mime::is_message(text) {
        return Ok(vec![mime::part(kind, text)]);
    }
    let parts = mime::raw_parts(text).filter(|parts| !parts.is_empty());
    let parts = parts.ok_or_else(|| {
        class.invalid(
            "has user data with a MIME header and without parts, which Karpenter rejects".to_owned(),
            "begin boundaries and headers in the first column, and end the header with an empty line",
        )
    })?;
    match parts.iter().find(|part| !mime::has_complete_header(part)) {
        None => Ok(parts),
        Some(part) => Err(class.invalid(
            format!(
                "has a MIME part that Karpenter rejects: no empty line ends the header that begins with `{}`",
                crate::text::beginning(part)
            ),
            "add an empty line between the header of the part and its content",
        )),
    }
}

/// Karpenter's test for a NodeConfig; a text of comments is a mapping, too.
fn is_mapping(text: &str) -> bool {
    yaml(text).is_ok_and(|documents| documents.iter().all(Tree::is_map))
}

fn script(options: &NodeOptions<'_>) -> String {
    let cluster = &options.cluster;
    let mut text = format!(
        "#!/bin/bash -xe\nexec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1\n\
         /etc/eks/bootstrap.sh '{}' --apiserver-endpoint '{}' --b64-cluster-ca '{}'",
        word(&cluster.name),
        word(&cluster.endpoint),
        word(&cluster.certificate_authority)
    );
    text.push_str(&format!(
        " \\\n--dns-cluster-ip '{}' \\\n--use-max-pods false \\\n--kubelet-extra-args '{}'",
        word(&cluster.dns_ip),
        kubelet_arguments(options).join(" ")
    ));
    if options.is_raid0 {
        text.push_str(" \\\n--local-disks raid0");
    }
    text.push('\n');
    text
}

fn kubelet_arguments(options: &NodeOptions<'_>) -> Vec<String> {
    let mut arguments = Vec::new();
    if !options.labels.is_empty() {
        arguments.push(format!("--node-labels=\"{}\"", joined_labels(&options.labels)));
    }
    if !options.taints.is_empty() {
        arguments.push(format!(
            "--register-with-taints=\"{}\"",
            joined_taints(&options.taints)
        ));
    }
    arguments.extend(options.max_pods.map(|pods| format!("--max-pods={pods}")));
    arguments.extend(options.kubelet.map(kubelet::flags).unwrap_or_default());
    arguments
}

/// JSON is YAML, too: the mapping stands on one line for each key of `spec`.
fn node_config(options: &NodeOptions<'_>) -> String {
    let cluster = &options.cluster;
    let kubelet = options.kubelet.filter(|kubelet| kubelet.is_map());
    let mut config = kubelet.map_or_else(|| json!({}), Tree::to_json);
    config["clusterDNS"] = json!([word(&cluster.dns_ip)]);
    if let Some(max_pods) = options.max_pods {
        config["maxPods"] = max_pods.into();
    }
    if !options.taints.is_empty() {
        let taints = options
            .taints
            .iter()
            .map(|taint| json!({"key": taint.key, "value": taint.value, "effect": taint.effect.to_string()}));
        config["registerWithTaints"] = taints.collect::<Value>();
    }
    let mut kubelet = json!({"config": config});
    if !options.labels.is_empty() {
        kubelet["flags"] = json!([format!("--node-labels=\"{}\"", joined_labels(&options.labels))]);
    }
    let cluster = json!({
        "name": word(&cluster.name),
        "apiServerEndpoint": word(&cluster.endpoint),
        "certificateAuthority": word(&cluster.certificate_authority),
        "cidr": word(&cluster.service_cidr),
    });
    let mut text = format!(
        "# Karpenter Generated NodeConfig\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster: {cluster}\n  \
         kubelet: {kubelet}\n"
    );
    if options.is_raid0 {
        text.push_str("  instance: {\"localStorage\": {\"strategy\": \"RAID0\"}}\n");
    }
    text
}

fn windows(text: &str, options: &NodeOptions<'_>) -> String {
    let cluster = &options.cluster;
    let own = match text.trim_end() {
        "" => String::new(),
        own => format!("{own}\n"),
    };
    format!(
        "<powershell>\n{own}[string]$EKSBootstrapScriptFile = \"$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1\"\n\
         & $EKSBootstrapScriptFile -EKSClusterName '{}' -APIServerEndpoint '{}' -Base64ClusterCA '{}' -DNSClusterIP '{}' \
         -KubeletExtraArgs '{}'\n</powershell>\n",
        word(&cluster.name),
        word(&cluster.endpoint),
        word(&cluster.certificate_authority),
        word(&cluster.dns_ip),
        kubelet_arguments(options).join(" ")
    )
}

fn word(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or_default()
}
