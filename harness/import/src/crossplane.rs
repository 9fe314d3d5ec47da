//! Manifests of Crossplane's provider for AWS, which generates its fields from those of Terraform's provider.

use std::collections::BTreeMap;

use crate::error::ImportError;
use crate::machine::{FileFormat, Imported};
use crate::terraform;
use crate::tree::{Tree, TreeValue};

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
    let names = external_names(manifests);
    let resources: Vec<_> = manifests
        .iter()
        .filter_map(|document| resource(document, &names))
        .collect();
    terraform::read_resources(FileFormat::Crossplane, &resources)
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

/// Names in AWS by the kind and the name of a manifest.
fn external_names(manifests: &[&Tree]) -> BTreeMap<(String, String), String> {
    let name = |document: &&Tree| {
        let kind = document.text_at(&["kind"])?;
        let external = document.text_at(&["metadata", "annotations", "crossplane.io/external-name"])?;
        Some(((kind, document.text_at(&["metadata", "name"])?), external))
    };
    manifests.iter().filter_map(name).collect()
}

/// The address, the type and the values of the resource of Terraform that a manifest stands for.
fn resource(document: &Tree, names: &BTreeMap<(String, String), String>) -> Option<(String, String, Tree)> {
    let (service, kind) = (service(document)?, document.text_at(&["kind"])?);
    let (.., type_name) = KINDS
        .iter()
        .find(|(of, name, _)| *of == service && *name == kind)?;
    let provided = document.at(&["spec", "forProvider"])?;
    let own = ["name", "generateName"]
        .iter()
        .find_map(|key| document.text_at(&["metadata", key]))
        .unwrap_or_else(|| "unnamed".to_owned());
    let external = names.get(&(kind.clone(), own.clone())).unwrap_or(&own);
    let mut values = values(provided, names);
    let mut state_if_missing = |key: &str, text: &str| {
        if !values.iter().any(|(name, _)| name == key) {
            values.push((key.to_owned(), provided.replaced_by_text(text)));
        }
    };
    // References name manifests, and the readers of Terraform compare ids.
    state_if_missing("id", &own);
    state_if_missing("name", external);
    if kind == "NodeGroup" {
        state_if_missing("node_group_name", external);
    }
    let values = provided.replaced(TreeValue::Map(values));
    Some((format!("{kind}/{own}"), (*type_name).to_owned(), values))
}

/// The fields in Terraform's words, with what references mean.
fn values(tree: &Tree, names: &BTreeMap<(String, String), String>) -> Vec<(String, Tree)> {
    let mut values = Vec::new();
    for (key, value) in tree.entries() {
        let key = snake_case(key);
        match key.strip_suffix("_ref").zip(value.text_at(&["name"])) {
            Some((field, name)) => {
                let cluster = ("Cluster".to_owned(), name.clone());
                let meant = match field {
                    "cluster_name" => names.get(&cluster).unwrap_or(&name),
                    _ => &name,
                };
                values.push((field.to_owned(), value.replaced_by_text(meant)));
            }
            None => values.push((key.clone(), block(&key, value, names))),
        }
    }
    values
}

fn block(key: &str, value: &Tree, names: &BTreeMap<(String, String), String>) -> Tree {
    let map = |tree: &Tree| tree.replaced(TreeValue::Map(values(tree, names)));
    match &value.value {
        TreeValue::Map(_) if !OWN_KEYS.contains(&key) => value.replaced(TreeValue::List(vec![map(value)])),
        TreeValue::List(items) => {
            let item = |item: &Tree| if item.is_map() { map(item) } else { item.clone() };
            value.replaced(TreeValue::List(items.iter().map(item).collect()))
        }
        _ => value.clone(),
    }
}

/// Such as `http_put_response_hop_limit` of `httpPutResponseHopLimit`.
fn snake_case(key: &str) -> String {
    let mut name = String::new();
    for letter in key.chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}
