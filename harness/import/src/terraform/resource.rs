//! The resources of a plan or state, in one form.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::Tree;

/// A resource or data source.
#[derive(Debug, Clone)]
pub(super) struct TerraformResource<'a> {
    pub(super) address: String,
    /// Such as `aws_launch_template`.
    pub(super) kind: String,
    pub(super) values: &'a Tree,
    /// Attributes that are known after apply only.
    unknown: Option<&'a Tree>,
}

/// All resources of a file.
#[derive(Debug)]
pub(super) struct TerraformFile<'a> {
    pub(super) resources: Vec<TerraformResource<'a>>,
    /// Addresses without indexes of instances whose configuration sets user data; `None`: the file has no
    /// configuration.
    with_user_data: Option<BTreeSet<String>>,
}

impl<'a> TerraformResource<'a> {
    pub(super) fn text(&self, path: &[&str]) -> Option<String> {
        self.values.text_at(path)
    }

    pub(super) fn is_unknown(&self, attribute: &str) -> bool {
        self.unknown
            .and_then(|unknown| unknown.get(attribute))
            .is_some_and(Tree::is_true)
    }

    /// The address of the module, with a `.` at its end; empty for the root module.
    pub(super) fn module(&self) -> &str {
        let length = self.address.rfind(&format!("{}.", self.kind)).unwrap_or_default();
        let module = &self.address[..length];
        module.strip_suffix("data.").unwrap_or(module)
    }
}

impl<'a> TerraformFile<'a> {
    /// Reads `terraform show -json` of a plan or state, or a raw state.
    pub(super) fn of(document: &'a Tree) -> Self {
        let mut resources = Vec::new();
        let unknown = unknown_values(document);
        if let Some(root) = document.at(&["planned_values", "root_module"]) {
            of_module(root, &unknown, &mut resources);
        }
        if document.get("planned_values").is_none() {
            of_changes(document, &mut resources);
        }
        let states = [
            ["values", "root_module"].as_slice(),
            &["prior_state", "values", "root_module"],
        ];
        for root in states.iter().filter_map(|path| document.at(path)) {
            let mut known = Vec::new();
            of_module(root, &BTreeMap::new(), &mut known);
            // Data sources that a plan has read are only in its prior state. Resources there may be outdated.
            let is_plan = document.get("planned_values").is_some();
            let is_taken = |resource: &TerraformResource<'_>| {
                is_plan && !resource.address.contains(&format!("data.{}.", resource.kind))
            };
            known.retain(|resource| !is_taken(resource));
            resources.append(&mut known);
        }
        if document.get("format_version").is_none() {
            of_raw_state(document, &mut resources);
        }
        Self {
            resources,
            with_user_data: document
                .at(&["configuration", "root_module"])
                .map(|root| configured(root, "")),
        }
    }

    pub(super) fn of_kind(&self, kinds: &[&str]) -> impl Iterator<Item = &TerraformResource<'a>> {
        self.resources
            .iter()
            .filter(move |resource| kinds.contains(&resource.kind.as_str()))
    }

    pub(super) fn clusters(&self) -> impl Iterator<Item = TerraformResource<'a>> {
        self.of_kind(&["aws_eks_cluster"]).cloned()
    }

    /// Whether the configuration sets user data: a plan calls attributes unknown that only the provider computes.
    pub(super) fn sets_user_data(&self, resource: &TerraformResource<'_>) -> bool {
        let address = without_indexes(&resource.address);
        self.with_user_data
            .as_ref()
            .is_none_or(|addresses| addresses.contains(&address))
    }
}

fn of_module<'a>(
    module: &'a Tree,
    unknown: &BTreeMap<String, &'a Tree>,
    resources: &mut Vec<TerraformResource<'a>>,
) {
    for resource in module.items_at(&["resources"]) {
        let (Some(address), Some(kind), Some(values)) = (
            resource.text_at(&["address"]),
            resource.text_at(&["type"]),
            resource.get("values"),
        ) else {
            continue;
        };
        resources.push(TerraformResource {
            unknown: unknown.get(&address).copied(),
            address,
            kind,
            values,
        });
    }
    for child in module.items_at(&["child_modules"]) {
        of_module(child, unknown, resources);
    }
}

/// The resources of a plan that a tool has reduced to its changes.
fn of_changes<'a>(document: &'a Tree, resources: &mut Vec<TerraformResource<'a>>) {
    for change in document.items_at(&["resource_changes"]) {
        let (Some(address), Some(kind), Some(values)) = (
            change.text_at(&["address"]),
            change.text_at(&["type"]),
            change.at(&["change", "after"]),
        ) else {
            continue;
        };
        resources.push(TerraformResource {
            address,
            kind,
            values,
            unknown: change.at(&["change", "after_unknown"]),
        });
    }
}

/// The unknown attributes of each changed resource.
fn unknown_values(document: &Tree) -> BTreeMap<String, &Tree> {
    let changes = document.items_at(&["resource_changes"]).iter();
    changes
        .filter_map(|change| {
            Some((
                change.text_at(&["address"])?,
                change.at(&["change", "after_unknown"])?,
            ))
        })
        .collect()
}

/// The state as Terraform stores it.
fn of_raw_state<'a>(document: &'a Tree, resources: &mut Vec<TerraformResource<'a>>) {
    for resource in document.items_at(&["resources"]) {
        let text = |key: &str| resource.text_at(&[key]).unwrap_or_default();
        let mut prefix = resource
            .text_at(&["module"])
            .map(|module| format!("{module}."))
            .unwrap_or_default();
        if text("mode") == "data" {
            prefix.push_str("data.");
        }
        for instance in resource.items_at(&["instances"]) {
            let Some(values) = instance.get("attributes") else {
                continue;
            };
            resources.push(TerraformResource {
                address: format!("{prefix}{}.{}{}", text("type"), text("name"), index(instance)),
                kind: text("type"),
                values,
                unknown: None,
            });
        }
    }
}

fn index(instance: &Tree) -> String {
    match instance.text_at(&["index_key"]) {
        Some(key) if key.bytes().all(|byte| byte.is_ascii_digit()) => format!("[{key}]"),
        Some(key) => format!("[\"{key}\"]"),
        None => String::new(),
    }
}

/// Addresses of resources whose configuration has an argument for user data.
fn configured(module: &Tree, prefix: &str) -> BTreeSet<String> {
    let has_user_data = |resource: &&Tree| {
        ["user_data", "user_data_base64"]
            .iter()
            .any(|key| resource.at(&["expressions", key]).is_some())
    };
    let resources = module.items_at(&["resources"]).iter().filter(has_user_data);
    let mut addresses: BTreeSet<String> = resources
        .filter_map(|resource| resource.text_at(&["address"]))
        .map(|address| format!("{prefix}{address}"))
        .collect();
    let calls = module.get("module_calls").map(Tree::entries).unwrap_or_default();
    for (name, call) in calls {
        if let Some(child) = call.get("module") {
            addresses.append(&mut configured(child, &format!("{prefix}module.{name}.")));
        }
    }
    addresses
}

/// An address without the indexes of `count` and `for_each`, whose keys may contain any character.
fn without_indexes(address: &str) -> String {
    let (mut plain, mut is_inside, mut is_quoted) = (String::new(), false, false);
    for c in address.chars() {
        match c {
            '"' if is_inside => is_quoted = !is_quoted,
            '[' if !is_inside => is_inside = true,
            ']' if is_inside && !is_quoted => is_inside = false,
            _ if !is_inside => plain.push(c),
            _ => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_removed_from_addresses() {
        assert_eq!(
            without_indexes("module.a[\"x.y[0]\"].aws_instance.b[0]"),
            "module.a.aws_instance.b"
        );
    }
}
