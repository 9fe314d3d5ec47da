//! Karpenter: EC2NodeClass (AWSNodeTemplate) and NodePool (Provisioner).
//!
//! Karpenter merges the user data of the class with a part of its own, which depends on the AMI family.
//!
//! | file | content |
//! | --- | --- |
//! | `node_class.rs` | what a class states |
//! | `node_pool.rs` | what a pool states: labels, taints, instance types |
//! | `fields.rs`, `refusals.rs` | the fields of both, and the values that the API server refuses |
//! | `labels.rs` | the labels that reach the kubelet |
//! | `unknown_types.rs` | instance types that EC2 does not have |
//! | `kubelet.rs` | settings of the kubelet as flags of AL2 |
//! | `node_options.rs` | what Karpenter tells a node |
//! | `bottlerocket.rs` | the settings of Bottlerocket |
//! | `render.rs` | the user data of each AMI family |
//! | `replaced_dns.rs` | a DNS address of the user data that has no effect |
//! | `node.rs` | a class and a pool together: what the node must be |

mod bottlerocket;
mod fields;
mod kubelet;
mod labels;
mod node;
mod node_class;
mod node_options;
mod node_pool;
mod refusals;
mod render;
mod replaced_dns;
mod unknown_types;

use crate::error::ImportError;
use crate::input::Import;
use crate::machine::{FileFormat, Imported};
use crate::reading::Reading;
use crate::tree::Tree;
use node::KarpenterNode;
use node_class::NodeClass;
use node_pool::NodePool;

/// Whether a manifest belongs to Karpenter.
pub(crate) fn is_manifest(document: &Tree) -> bool {
    let api = document.text_at(&["apiVersion"]).unwrap_or_default();
    ["karpenter.k8s.aws/", "karpenter.sh/"]
        .iter()
        .any(|group| api.starts_with(group))
}

/// The API group of the classes of EKS Auto Mode.
const AUTO_MODE: &str = "eks.amazonaws.com";

/// Whether a manifest configures nodes of EKS Auto Mode.
pub(crate) fn is_auto_mode(document: &Tree) -> bool {
    let text = |key: &str| document.text_at(&[key]).unwrap_or_default();
    text("apiVersion").starts_with(&format!("{AUTO_MODE}/")) && text("kind") == "NodeClass"
}

/// Whether a manifest is a pool of EKS Auto Mode.
pub(crate) fn is_pool_of_auto_mode(document: &Tree) -> bool {
    NodePool::of(document).is_some_and(|pool| pool.group() == Some(AUTO_MODE))
}

/// Nodes of EKS Auto Mode have no user data.
pub(crate) fn auto_mode(document: &Tree) -> ImportError {
    ImportError::OutOfScope {
        line: document.line(),
        what: "EKS Auto Mode",
        why: "EKS starts its nodes without user data",
        hint: "only node groups and other machines with user data can be tried",
    }
}

/// Reads a stream of manifests.
pub(crate) fn read(input: &Import<'_>, documents: &[&Tree]) -> Result<Imported, ImportError> {
    let mut reading = Reading::of(FileFormat::Karpenter);
    add_all(input, documents, &mut reading, false);
    if let Some(provider) = documents.iter().find_map(|document| inline_provider(document)) {
        return reading.finish(
            &format!("{provider}: nodejoin reads the settings of nodes from a class alone"),
            "write an AWSNodeTemplate with these fields as its `spec`, and `spec.providerRef` in the Provisioner",
        );
    }
    reading.finish(
        "no EC2NodeClass is in it",
        "give the class and its pools: `kubectl get ec2nodeclasses,nodepools -o yaml`",
    )
}

/// The place of an old Provisioner that has the settings of its nodes in itself.
fn inline_provider(document: &Tree) -> Option<String> {
    if document.text_at(&["kind"]).as_deref() != Some("Provisioner") {
        return None;
    }
    let line = document.at(&["spec", "provider"])?.line();
    let line = line.map(|line| format!(" in line {line}")).unwrap_or_default();
    let name = document.text_at(&["metadata", "name"]).unwrap_or_default();
    Some(format!(
        "the Provisioner `{name}` has an inline `spec.provider`{line}"
    ))
}

/// The name of an old Provisioner whose inline settings name a launch template, with the error for it.
fn inline_launch_template(document: &Tree) -> Option<(String, ImportError)> {
    if document.text_at(&["kind"]).as_deref() != Some("Provisioner") {
        return None;
    }
    let tree = document.at(&["spec", "provider", "launchTemplate"])?;
    let template = tree.text().filter(|name| !name.is_empty())?.to_owned();
    let name = document.text_at(&["metadata", "name"]).unwrap_or_default();
    let error = ImportError::InLaunchTemplate {
        line: tree.line(),
        owner: format!("the Provisioner `{name}`"),
        template,
    };
    Some((name, error))
}

/// Adds a machine for each pool, and for each class without a pool, of manifests that another tool applies.
pub(crate) fn add(input: &Import<'_>, documents: &[&Tree], reading: &mut Reading) {
    add_all(input, documents, reading, true);
}

fn add_all(input: &Import<'_>, documents: &[&Tree], reading: &mut Reading, is_converted: bool) {
    let pools = documents.iter().filter_map(|document| NodePool::of(document));
    let (of_auto_mode, pools): (Vec<_>, Vec<_>) = pools.partition(|pool| pool.group() == Some(AUTO_MODE));
    let classes: Vec<NodeClass<'_>> = documents
        .iter()
        .filter_map(|document| NodeClass::of(document))
        .collect();
    let is_stray =
        |pool: &&NodePool<'_>| !pool.class.is_empty() && classes.iter().all(|class| class.name != pool.class);
    let strays: Vec<&NodePool<'_>> = pools.iter().filter(is_stray).collect();
    for class in &classes {
        let own = pools.iter().filter(|pool| pool.class == class.name);
        let mut own: Vec<Option<&NodePool<'_>>> = own.map(Some).collect();
        if own.is_empty() {
            own.push(None);
        }
        for pool in own {
            let node = KarpenterNode {
                input,
                class,
                pool,
                strays: &strays,
                is_converted,
            };
            reading.add(&node.name(), node.machine());
        }
    }
    for pool in of_auto_mode {
        reading.add(&pool.name, Err(auto_mode(pool.document)));
    }
    for (name, error) in documents
        .iter()
        .filter_map(|document| inline_launch_template(document))
    {
        reading.add(&name, Err(error));
    }
}
