//! Karpenter: EC2NodeClass (AWSNodeTemplate) and NodePool (Provisioner).
//!
//! Karpenter merges the user data of the class with a part of its own, which depends on the AMI family.
//!
//! | file | content |
//! | --- | --- |
//! | `node_class.rs` | what a class states |
//! | `node_pool.rs` | what a pool states: labels, taints, instance types |
//! | `fields.rs` | the fields of both |
//! | `labels.rs` | the labels that reach the kubelet |
//! | `node.rs` | a class and a pool together: what the node must be |
//! | `kubelet.rs` | settings of the kubelet as flags of AL2 |
//! | `render.rs` | the user data of each AMI family |
//! | `bottlerocket.rs` | the settings of Bottlerocket |

mod bottlerocket;
mod fields;
mod kubelet;
mod labels;
mod node;
mod node_class;
mod node_pool;
mod render;

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

/// Whether a manifest configures nodes of EKS Auto Mode.
pub(crate) fn is_auto_mode(document: &Tree) -> bool {
    let text = |key: &str| document.text_at(&[key]).unwrap_or_default();
    text("apiVersion").starts_with("eks.amazonaws.com/") && text("kind") == "NodeClass"
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
    add(input, documents, &mut reading);
    reading.finish(
        "no EC2NodeClass is in it",
        "give the class and its pools: `kubectl get ec2nodeclasses,nodepools -o yaml`",
    )
}

/// Adds a machine for each pool, and for each class without a pool.
pub(crate) fn add(input: &Import<'_>, documents: &[&Tree], reading: &mut Reading) {
    let pools: Vec<NodePool<'_>> = documents
        .iter()
        .filter_map(|document| NodePool::of(document))
        .collect();
    for class in documents.iter().filter_map(|document| NodeClass::of(document)) {
        let own: Vec<&NodePool<'_>> = pools.iter().filter(|pool| pool.class == class.name).collect();
        if own.is_empty() {
            let node = KarpenterNode {
                input,
                class: &class,
                pool: None,
            };
            reading.add(&node.name(), node.machine());
        }
        for pool in own {
            let node = KarpenterNode {
                input,
                class: &class,
                pool: Some(pool),
            };
            reading.add(&node.name(), node.machine());
        }
    }
}
