//! Terraform and OpenTofu: plans and states of `terraform show -json`, and raw states.
//!
//! | file | content |
//! | --- | --- |
//! | `address.rs` | addresses of resources and modules |
//! | `resource.rs` | a resource of a plan or state |
//! | `configuration.rs` | the arguments of a plan's resources as they are written, and its providers |
//! | `file.rs` | the resources of a plan or state |
//! | `references.rs` | the resource to which an argument of a plan refers |
//! | `user_data.rs` | the user data of a resource: its encodings, and what a plan does not know |
//! | `machines.rs` | launch templates, launch configurations, instances |
//! | `texts.rs` | texts that resources render |
//! | `groups.rs` | node groups and Auto Scaling groups of a launch template |
//! | `role.rs` | the role of an instance profile or of a node group |
//! | `group_checks.rs` | what EKS refuses of a node group |
//! | `kubernetes.rs` | manifests of Kubernetes in resources |
//! | `manifests.rs` | manifests of Karpenter among them |
//! | `cluster.rs` | the cluster of a machine |
//! | `access.rs` | who may join the cluster |
//! | `output.rs` | texts of `terraform output` and `terraform console` |

mod access;
mod address;
mod cluster;
mod configuration;
mod file;
mod group_checks;
mod groups;
mod kubernetes;
mod machines;
mod manifests;
mod output;
mod references;
mod resource;
mod role;
mod texts;
mod user_data;

use std::collections::BTreeMap;

use crate::error::ImportError;
use crate::input::Import;
use crate::karpenter;
use crate::machine::{FileFormat, Imported};
use crate::reading::Reading;
use crate::tree::Tree;
use file::TerraformFile;
pub(crate) use output::printed_text;
use resource::TerraformResource;
pub(crate) use user_data::encoded_once;

/// The format of a document, if it is one of Terraform.
pub(crate) fn format(document: &Tree) -> Option<FileFormat> {
    let is_state = document.get("terraform_version").is_some()
        && (document.get("resources").is_some() || document.get("lineage").is_some());
    if document.get("format_version").is_some() {
        let is_plan = document.get("planned_values").is_some() || document.get("resource_changes").is_some();
        return Some(if is_plan {
            FileFormat::TerraformPlan
        } else {
            FileFormat::TerraformState
        });
    }
    is_state.then_some(FileFormat::TerraformState)
}

/// Reads a plan or state.
pub(crate) fn read(input: &Import<'_>, document: &Tree, format: FileFormat) -> Result<Imported, ImportError> {
    let file = TerraformFile::of(document);
    let mut reading = Reading::of(format);
    if document.get("errored").is_some_and(Tree::is_true) {
        reading
            .notes
            .push("the plan ended with errors: resources may be missing".to_owned());
    }
    machines::add(&file, &mut reading);
    machines::add_outside(&file, &BTreeMap::new(), &mut reading);
    manifests::add(input, &file, &mut reading);
    if !reading.has_machines() {
        texts::add(&file, &mut reading);
    }
    let auto_mode = file.clusters().find(is_auto_mode);
    if let Some(cluster) = auto_mode.filter(|_| reading.is_empty()) {
        return Err(karpenter::auto_mode(cluster.values));
    }
    let hint = match format {
        FileFormat::TerraformPlan => {
            "give a plan or state with `aws_launch_template`, `aws_launch_configuration`, `aws_instance` or \
             `aws_eks_node_group`; a plan without changes of them has their state in `terraform show -json`"
        }
        _ => {
            "give the state of the module that creates `aws_launch_template`, `aws_launch_configuration`, \
             `aws_instance` or `aws_eks_node_group`"
        }
    };
    reading.finish("no resource of it has user data", hint)
}

/// Reads resources by their addresses and types, with values as in a plan. `elsewhere`: groups whose user data is not
/// in the file, by their addresses.
pub(crate) fn read_resources(
    format: FileFormat,
    resources: &[(String, String, Tree)],
    elsewhere: &BTreeMap<String, ImportError>,
) -> Result<Imported, ImportError> {
    let file = TerraformFile::of_resources(resources);
    let mut reading = Reading::of(format);
    machines::add(&file, &mut reading);
    machines::add_outside(&file, elsewhere, &mut reading);
    reading.finish(
        "no manifest of it starts machines with user data",
        "give the LaunchTemplate, the NodeGroup, the LaunchConfiguration or the Instance",
    )
}

fn is_auto_mode(cluster: &TerraformResource<'_>) -> bool {
    cluster.text(&["compute_config", "0", "enabled"]).as_deref() == Some("true")
}
