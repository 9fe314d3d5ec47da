//! Pulumi: `pulumi stack export` and `pulumi preview --json`.
//!
//! | file | content |
//! | --- | --- |
//! | `resource.rs` | the resources of a stack or preview, and their providers |
//! | `machines.rs` | launch templates, launch configurations, instances |
//! | `groups.rs` | node groups and Auto Scaling groups |
//! | `role.rs` | the role of an instance profile or of a node group |
//! | `group_checks.rs` | what EKS refuses of a node group |
//! | `cluster.rs` | the cluster of a machine |
//! | `access.rs` | who may join the cluster |

mod access;
mod cluster;
mod group_checks;
mod groups;
mod machines;
mod resource;
mod role;

use crate::error::ImportError;
use crate::machine::{FileFormat, Imported};
use crate::reading::Reading;
use crate::tree::Tree;
use resource::PulumiStack;

/// Whether a document is one of Pulumi.
pub(crate) fn is_document(document: &Tree) -> bool {
    document.at(&["deployment", "resources"]).is_some()
        || document
            .items_at(&["steps"])
            .iter()
            .any(|step| step.get("urn").is_some())
}

/// Reads a stack or a preview.
pub(crate) fn read(document: &Tree) -> Result<Imported, ImportError> {
    let mut reading = Reading::of(FileFormat::Pulumi);
    machines::add(&PulumiStack::of(document), &mut reading);
    reading.finish(
        "no resource of it starts machines with user data",
        "give the stack of `aws.ec2.LaunchTemplate`, `aws.ec2.LaunchConfiguration`, `aws.ec2.Instance` or \
         `aws.eks.NodeGroup`: `pulumi stack export --show-secrets`",
    )
}
