//! What EKS refuses of the values of a node group.

use super::file::TerraformFile;
use super::groups::missing_type;
use super::resource::TerraformResource;
use super::role::group_rights;
use crate::group_refusals::{Spelling, wrong_shapes};
use crate::group_values::{GroupValues, other_cluster};
use crate::machine::Machine;
use crate::words::{list, texts};

/// Adds what EKS refuses of a node group, and the rights of its role. `template`: its launch template.
pub(super) fn check_values(
    file: &TerraformFile<'_>,
    template: Option<&TerraformResource<'_>>,
    group: &TerraformResource<'_>,
    machine: &mut Machine,
) {
    let problems = &mut machine.problems;
    problems.extend(wrong_shapes(group.values, Spelling::Snake));
    problems.extend(values(file, template, group).problems());
    problems.extend(missing_type(file, template, group));
    machine.notes.extend(doubt(file, group));
    machine.traits.role_rights = group_rights(file, group);
}

fn values(
    file: &TerraformFile<'_>,
    template: Option<&TerraformResource<'_>>,
    group: &TerraformResource<'_>,
) -> GroupValues {
    let text = |key: &str| group.text(&[key]);
    let names_image = |template: &&TerraformResource<'_>| {
        template.text(&["image_id"]).is_some() || template.is_unknown("image_id")
    };
    let has_image = template.as_ref().is_some_and(names_image);
    let template = template.filter(|_| !has_image);
    let states_type = text("ami_type").is_some() || file.may_set(group, "ami_type");
    let effects = group.values.items_at(&["taint"]).iter();
    GroupValues {
        ami_type: text("ami_type"),
        has_default_ami: group.is_created && !has_image && !states_type,
        capacity_type: text("capacity_type"),
        version: text("version"),
        cluster_version: text("cluster_name").and_then(|name| cluster_version(file, &name)),
        instance_types: list(group.values.items_at(&["instance_types"])),
        type_of_template: template.and_then(|template| template.text(&["instance_type"])),
        labels: texts(group.values.get("labels")),
        effects: effects.filter_map(|taint| taint.text_at(&["effect"])).collect(),
        // The provider checks that it is an ARN. A reference of Crossplane is the name of a manifest.
        role: text("node_role_arn").filter(|role| role.starts_with("arn:")),
        exists: !group.is_created,
    }
}

fn cluster_version(file: &TerraformFile<'_>, name: &str) -> Option<String> {
    let mut clusters = file.clusters();
    let cluster = clusters.find(|cluster| cluster.text(&["name"]).as_deref() == Some(name))?;
    cluster.text(&["version"])
}

/// The doubt about a new group of a plan that names a cluster without a reference to it.
fn doubt(file: &TerraformFile<'_>, group: &TerraformResource<'_>) -> Option<String> {
    let written = file.configuration?.resource(group);
    let references = ["expressions", "cluster_name", "references"];
    let is_literal = written.is_none_or(|written| written.items_at(&references).is_empty());
    let named = group.text(&["cluster_name"]);
    let named = named.filter(|_| group.is_created && is_literal)?;
    let mut names = file.clusters().map(|cluster| cluster.text(&["name"]));
    let only = names.next()??;
    let is_only = names.all(|name| name.as_ref() == Some(&only));
    other_cluster(&named, &only).filter(|_| is_only)
}
