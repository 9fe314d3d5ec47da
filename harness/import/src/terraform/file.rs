//! The resources of a plan or state, in one form.

use std::collections::{BTreeMap, BTreeSet};

use super::address::instance_of;
use super::configuration::Configuration;
use super::resource::TerraformResource;
use crate::tree::Tree;

/// All resources of a file.
#[derive(Debug)]
pub(super) struct TerraformFile<'a> {
    pub(super) resources: Vec<TerraformResource<'a>>,
    /// Only plans have it.
    pub(super) configuration: Option<Configuration<'a>>,
}

impl<'a> TerraformFile<'a> {
    /// Reads `terraform show -json` of a plan or state, or a raw state.
    pub(super) fn of(document: &'a Tree) -> Self {
        let mut resources = Vec::new();
        let changes = changes(document);
        if let Some(root) = document.at(&["planned_values", "root_module"]) {
            of_module(root, &changes, &mut resources);
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
            configuration: Configuration::of(document),
        }
    }

    /// Resources by their addresses and types.
    pub(super) fn of_resources(resources: &'a [(String, String, Tree)]) -> Self {
        let resources = resources.iter().map(|(address, kind, values)| TerraformResource {
            address: address.clone(),
            kind: kind.clone(),
            values,
            is_created: true,
            unknown: None,
        });
        Self {
            resources: resources.collect(),
            configuration: None,
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
        let Some(configuration) = &self.configuration else {
            return true;
        };
        let own = configuration.resource(resource);
        ["user_data", "user_data_base64"]
            .iter()
            .any(|key| own.is_some_and(|own| own.at(&["expressions", key]).is_some()))
    }

    /// Whether the configuration can set an argument to a value that is known after apply only.
    pub(super) fn may_set(&self, resource: &TerraformResource<'_>, argument: &str) -> bool {
        let own = self
            .configuration
            .and_then(|configuration| configuration.resource(resource));
        resource.is_unknown(argument) && own.is_none_or(|own| own.at(&["expressions", argument]).is_some())
    }

    /// The addresses of a module's or resource's instances: the one with the index, or all.
    pub(super) fn instances(&self, plain: &str, index: &str) -> BTreeSet<String> {
        let addresses = self.resources.iter().map(|resource| resource.address.as_str());
        let all: BTreeSet<&str> = addresses
            .filter_map(|address| instance_of(address, plain))
            .collect();
        let exact = format!("{plain}{index}");
        match all.contains(exact.as_str()) {
            true => BTreeSet::from([exact]),
            false => all.into_iter().map(str::to_owned).collect(),
        }
    }

    /// The region of the resource, which it states itself from provider 6 on, or of its provider.
    pub(super) fn region(&self, resource: &TerraformResource<'_>) -> Option<String> {
        let own = resource.text(&["region"]);
        own.or_else(|| self.configuration?.region(resource))
    }
}

fn of_module<'a>(
    module: &'a Tree,
    changes: &BTreeMap<String, &'a Tree>,
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
            is_created: changes.get(&address).is_some_and(|change| creates(change)),
            unknown: changes
                .get(&address)
                .and_then(|change| change.get("after_unknown")),
            address,
            kind,
            values,
        });
    }
    for child in module.items_at(&["child_modules"]) {
        of_module(child, changes, resources);
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
            is_created: change.get("change").is_some_and(creates),
            unknown: change.at(&["change", "after_unknown"]),
        });
    }
}

/// The changes of a plan, by the addresses of resources.
fn changes(document: &Tree) -> BTreeMap<String, &Tree> {
    let changes = document.items_at(&["resource_changes"]).iter();
    changes
        .filter_map(|change| Some((change.text_at(&["address"])?, change.get("change")?)))
        .collect()
}

fn creates(change: &Tree) -> bool {
    let mut actions = change.items_at(&["actions"]).iter();
    actions.any(|action| action.text() == Some("create"))
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
                is_created: false,
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
