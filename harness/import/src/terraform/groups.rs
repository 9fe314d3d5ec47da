//! Node groups and Auto Scaling groups that use a launch template.

use std::collections::BTreeMap;

use super::resource::{TerraformFile, TerraformResource};
use crate::machine::{Machine, ManagedNodeGroup};
use crate::tree::Tree;
use crate::words::{capacity_type, family_of_ami_type, list, taint, texts};

/// Where a group names its launch template.
const TEMPLATE: &[&[&str]] = &[
    &["launch_template", "0"],
    &[
        "mixed_instances_policy",
        "0",
        "launch_template",
        "0",
        "launch_template_specification",
        "0",
    ],
];

/// The groups of this kind that start instances from the template.
pub(super) fn of_template<'f, 'a>(
    file: &'f TerraformFile<'a>,
    kind: &str,
    template: &TerraformResource<'_>,
) -> Vec<&'f TerraformResource<'a>> {
    let kinds = [kind];
    let groups = file.of_kind(&kinds);
    groups.filter(|group| uses(file, group, template)).collect()
}

fn uses(file: &TerraformFile<'_>, group: &TerraformResource<'_>, template: &TerraformResource<'_>) -> bool {
    let Some(reference) = TEMPLATE.iter().find_map(|path| group.values.at(path)) else {
        return false;
    };
    let keys = [
        ("id", "id"),
        ("launch_template_id", "id"),
        ("name", "name"),
        ("launch_template_name", "name"),
    ];
    let mut known = keys
        .iter()
        .filter_map(|(key, attribute)| Some((reference.text_at(&[key])?, attribute)))
        .peekable();
    if known.peek().is_some() {
        return known.any(|(value, attribute)| template.text(&[attribute]) == Some(value));
    }
    // The id of a template that the plan creates is unknown: modules create one for each group.
    let mut siblings = file
        .of_kind(&["aws_launch_template"])
        .filter(|other| other.module() == group.module());
    siblings
        .next()
        .is_some_and(|only| only.address == template.address)
        && siblings.next().is_none()
}

/// The tags that an Auto Scaling group gives its instances.
pub(super) fn propagated_tags(group: &TerraformResource<'_>) -> BTreeMap<String, String> {
    let tags = group.values.items_at(&["tag"]).iter();
    tags.filter(|tag| tag.get("propagate_at_launch").is_some_and(Tree::is_true))
        .filter_map(|tag| {
            Some((
                tag.text_at(&["key"])?,
                tag.text_at(&["value"]).unwrap_or_default(),
            ))
        })
        .collect()
}

/// Adds what a node group states about its nodes.
pub(super) fn describe(machine: &mut Machine, group: &TerraformResource<'_>) {
    let traits = &mut machine.traits;
    traits.labels = texts(group.values.get("labels"));
    traits.taints = group
        .values
        .items_at(&["taint"])
        .iter()
        .filter_map(taint)
        .collect();
    let ami_type = group.text(&["ami_type"]).unwrap_or_default();
    traits.ami_family = traits.ami_family.or_else(|| family_of_ami_type(&ami_type));
    traits.role = group.text(&["node_role_arn"]);
    traits.cluster.version = group.text(&["version"]);
    let instance_types = list(group.values.items_at(&["instance_types"]));
    if traits.instance_type.is_none() {
        traits.instance_type = instance_types.first().cloned();
    }
}

/// What EKS puts into its own part of the user data.
pub(super) fn managed(machine: &Machine, group: &TerraformResource<'_>) -> ManagedNodeGroup {
    ManagedNodeGroup {
        name: group.text(&["node_group_name"]),
        labels: machine.traits.labels.clone(),
        taints: machine.traits.taints.clone(),
        capacity_type: group.text(&["capacity_type"]).as_deref().and_then(capacity_type),
        instance_types: list(group.values.items_at(&["instance_types"])),
        ..ManagedNodeGroup::default()
    }
}
