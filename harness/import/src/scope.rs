//! Files of tools whose nodes do not join by user data of EKS.

use crate::error::ImportError;
use crate::tree::Tree;

struct OtherTool {
    /// How the API groups of its manifests end or begin.
    groups: &'static [&'static str],
    /// Words in its user data.
    words: &'static [&'static str],
    what: &'static str,
    why: &'static str,
    hint: &'static str,
}

const TOOLS: &[OtherTool] = &[
    OtherTool {
        groups: &["kops.k8s.io"],
        words: &["NODEUP_URL", "/opt/kops/"],
        what: "a node of kops",
        why: "it downloads nodeup, which joins a cluster of kops without EKS",
        hint: "only nodes of EKS and of kubeadm can be tried",
    },
    OtherTool {
        groups: &["gardener.cloud", "machine.sapcloud.io"],
        words: &["gardener-node-agent", "cloud-config-downloader"],
        what: "a node of Gardener",
        why: "its user data is in a Secret that gardenlet writes, and it joins without EKS",
        hint: "only nodes of EKS and of kubeadm can be tried",
    },
];

/// Rejects manifests of tools that do not use EKS.
pub(crate) fn check_manifest(document: &Tree) -> Option<ImportError> {
    let api = document.text_at(&["apiVersion"])?;
    let group = api.split('/').next().unwrap_or_default();
    let tool = TOOLS
        .iter()
        .find(|tool| tool.groups.iter().any(|own| group.ends_with(own)))?;
    Some(out_of_scope(tool, document.line()))
}

/// Rejects user data of tools that do not use EKS, and of hybrid nodes.
pub(crate) fn check_user_data(text: &str) -> Result<(), ImportError> {
    for tool in TOOLS {
        let has_word = |line: &str| tool.words.iter().any(|word| line.contains(word));
        if let Some(index) = text.lines().position(has_word) {
            return Err(out_of_scope(tool, Some(index + 1)));
        }
    }
    // The NodeConfig can be a file in a script or in cloud-config.
    let hybrid = text.lines().position(|line| line.trim() == "hybrid:");
    match hybrid.filter(|_| text.contains("node.eks.aws/")) {
        Some(index) => Err(ImportError::OutOfScope {
            line: Some(index + 1),
            what: "a hybrid node",
            why: "it joins from outside of AWS with credentials of SSM or IAM Roles Anywhere",
            hint: "remove `hybrid` to try the rest of the NodeConfig as an instance of EC2",
        }),
        None => Ok(()),
    }
}

fn out_of_scope(tool: &OtherTool, line: Option<usize>) -> ImportError {
    ImportError::OutOfScope {
        line,
        what: tool.what,
        why: tool.why,
        hint: tool.hint,
    }
}
