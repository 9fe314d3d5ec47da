//! Manifests of Crossplane's provider for AWS, which generates its fields from those of Terraform's provider.
//!
//! | file | content |
//! | --- | --- |
//! | `references.rs` | which manifest another one means |
//! | `outside.rs` | groups whose launch template or launch configuration is not in the file |

mod outside;
mod references;

use std::collections::BTreeMap;

use crate::error::ImportError;
use crate::machine::{FileFormat, Imported};
use crate::terraform;
use crate::tree::{Tree, TreeValue};
use outside::outside;
use references::{CrossplaneManifests, snake_case};

/// Services, kinds, and the type of the resource in Terraform.
const KINDS: &[(&str, &str, &str)] = &[
    ("ec2", "LaunchTemplate", "aws_launch_template"),
    ("ec2", "Instance", "aws_instance"),
    ("eks", "NodeGroup", "aws_eks_node_group"),
    ("eks", "Cluster", "aws_eks_cluster"),
    ("eks", "AccessEntry", "aws_eks_access_entry"),
    ("autoscaling", "AutoscalingGroup", "aws_autoscaling_group"),
    ("autoscaling", "LaunchConfiguration", "aws_launch_configuration"),
    ("iam", "InstanceProfile", "aws_iam_instance_profile"),
    ("iam", "Role", "aws_iam_role"),
    ("iam", "RolePolicy", "aws_iam_role_policy"),
    ("iam", "RolePolicyAttachment", "aws_iam_role_policy_attachment"),
];

/// Maps of a user's own keys. Any other map is a block, of which Terraform has a list.
const OWN_KEYS: [&str; 3] = ["labels", "tags", "tags_all"];

/// Whether a manifest is a resource of the provider.
pub(crate) fn is_manifest(document: &Tree) -> bool {
    service(document).is_some()
}

/// Whether a manifest is a composition, whose resources Crossplane completes.
pub(crate) fn is_composition(document: &Tree) -> bool {
    let api = document.text_at(&["apiVersion"]).unwrap_or_default();
    api.starts_with("apiextensions.crossplane.io/")
        && document.text_at(&["kind"]).as_deref() == Some("Composition")
}

/// Why a composition is not tried.
pub(crate) fn composition(document: &Tree) -> ImportError {
    ImportError::OutOfScope {
        line: document.line(),
        what: "a composition of Crossplane",
        why: "patches and functions complete its resources",
        hint: "give what `crossplane render` prints, or the resources of the cluster: `kubectl get managed -o yaml`",
    }
}

/// Reads a stream of manifests.
pub(crate) fn read(manifests: &[&Tree]) -> Result<Imported, ImportError> {
    let others = CrossplaneManifests::of(manifests);
    let resources: Vec<_> = manifests
        .iter()
        .filter_map(|document| resource(document, &others))
        .collect();
    let elsewhere = resources
        .iter()
        .filter_map(|resource| Some((resource.0.clone(), outside(resource)?)));
    let elsewhere: BTreeMap<String, ImportError> = elsewhere.collect();
    terraform::read_resources(FileFormat::Crossplane, &resources, &elsewhere)
}

/// The service in the API group of a manifest, such as `ec2`.
fn service(document: &Tree) -> Option<String> {
    let api = document.text_at(&["apiVersion"])?;
    let (group, _) = api.split_once('/')?;
    let service = [".aws.upbound.io", ".aws.m.upbound.io"]
        .iter()
        .find_map(|end| group.strip_suffix(end))?;
    Some(service.to_owned())
}

/// The address, the type and the values of the resource of Terraform that a manifest stands for.
fn resource(document: &Tree, manifests: &CrossplaneManifests<'_>) -> Option<(String, String, Tree)> {
    let (service, kind) = (service(document)?, document.text_at(&["kind"])?);
    let (.., type_name) = KINDS
        .iter()
        .find(|(of, name, _)| *of == service && *name == kind)?;
    let provided = document.at(&["spec", "forProvider"])?;
    let own = ["name", "generateName"]
        .iter()
        .find_map(|key| document.text_at(&["metadata", key]))
        .unwrap_or_else(|| "unnamed".to_owned());
    let external = manifests.external_name(&kind, &own).unwrap_or(&own);
    let mut values = values(provided, document, manifests);
    let mut add_if_missing = |key: String, value: Tree| {
        if !values.iter().any(|(name, _)| *name == key) {
            values.push((key, value));
        }
    };
    // What a resource has only when it is created.
    if let Some(initial) = document.at(&["spec", "initProvider"]) {
        for (key, value) in self::values(initial, document, manifests) {
            add_if_missing(key, value);
        }
    }
    let mut state_if_missing =
        |key: &str, text: &str| add_if_missing(key.to_owned(), provided.replaced_by_text(text));
    // References name manifests, and the readers of Terraform compare ids. AWS gives a launch template its id.
    match kind.as_str() {
        "LaunchTemplate" => {
            state_if_missing("id", external);
            state_if_missing("name", &own);
        }
        _ => {
            state_if_missing("id", &own);
            state_if_missing("name", external);
        }
    }
    if kind == "NodeGroup" {
        state_if_missing("node_group_name", external);
    }
    let values = provided.replaced(TreeValue::Map(values));
    Some((format!("{kind}/{own}"), (*type_name).to_owned(), values))
}

/// The fields in Terraform's words, with what references mean.
fn values(tree: &Tree, document: &Tree, manifests: &CrossplaneManifests<'_>) -> Vec<(String, Tree)> {
    let mut values = Vec::new();
    for (key, value) in tree.entries() {
        let name = snake_case(key);
        let Some(reference) = manifests.reference(document, tree, (key.as_str(), value)) else {
            let block = block(&name, value, document, manifests);
            values.push((name, block));
            continue;
        };
        if let Some(meant) = reference.meant {
            values.push((reference.field, value.replaced_by_text(&meant)));
        }
        if reference.is_missing {
            let block = block(&name, value, document, manifests);
            values.push((name, block));
        }
    }
    values
}

fn block(key: &str, value: &Tree, document: &Tree, manifests: &CrossplaneManifests<'_>) -> Tree {
    let map = |tree: &Tree| tree.replaced(TreeValue::Map(values(tree, document, manifests)));
    match &value.value {
        TreeValue::Map(_) if !OWN_KEYS.contains(&key) => value.replaced(TreeValue::List(vec![map(value)])),
        TreeValue::List(items) => {
            let item = |item: &Tree| if item.is_map() { map(item) } else { item.clone() };
            value.replaced(TreeValue::List(items.iter().map(item).collect()))
        }
        _ => value.clone(),
    }
}
