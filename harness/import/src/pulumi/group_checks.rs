//! What EKS refuses of the values of a node group.

use super::groups::missing_type;
use super::resource::{PulumiResource, PulumiStack, UNKNOWN};
use super::role::group_rights;
use crate::group_values::{GroupValues, other_cluster};
use crate::machine::Machine;
use crate::words::{list, texts};

const CLUSTER: &str = "aws:eks/cluster:Cluster";

/// Adds what EKS refuses of a node group, and the rights of its role. `template`: its launch template.
pub(super) fn check_values(
    stack: &PulumiStack<'_>,
    template: Option<&PulumiResource<'_>>,
    group: &PulumiResource<'_>,
    machine: &mut Machine,
) {
    machine.problems.extend(values(stack, template, group).problems());
    machine.problems.extend(missing_type(group, template));
    machine.notes.extend(doubt(stack, group));
    machine.traits.role_rights = group_rights(stack, group);
}

fn values(
    stack: &PulumiStack<'_>,
    template: Option<&PulumiResource<'_>>,
    group: &PulumiResource<'_>,
) -> GroupValues {
    let text = |key: &str| group.text(&[key]);
    let has_image = template.is_some_and(|template| template.inputs.get("imageId").is_some());
    let template = template.filter(|_| !has_image);
    let mut clusters = stack.of_kind(CLUSTER);
    let cluster = clusters.find(|cluster| group.refers(&["clusterName"], cluster, &["name", "id"]));
    let mut labels = texts(group.inputs.get("labels"));
    labels.retain(|_, value| !value.contains(UNKNOWN));
    let effects = group.inputs.items_at(&["taints"]).iter();
    GroupValues {
        ami_type: text("amiType"),
        has_default_ami: !group.exists() && !has_image && group.inputs.get("amiType").is_none(),
        capacity_type: text("capacityType"),
        version: text("version"),
        cluster_version: cluster.and_then(|cluster| cluster.text(&["version"])),
        instance_types: list(group.inputs.items_at(&["instanceTypes"])),
        type_of_template: template.and_then(|template| template.text(&["instanceType"])),
        labels,
        effects: effects.filter_map(|taint| taint.text_at(&["effect"])).collect(),
        // The provider checks that it is an ARN.
        role: text("nodeRoleArn").filter(|role| role.starts_with("arn:")),
        exists: group.exists(),
    }
}

/// The doubt about a new group that names a cluster without a reference to it.
fn doubt(stack: &PulumiStack<'_>, group: &PulumiResource<'_>) -> Option<String> {
    let mut clusters = stack.of_kind(CLUSTER);
    let only = clusters.next().filter(|_| clusters.next().is_none())?;
    let is_literal = !group.depends_on_any("clusterName");
    let named = group.text(&["clusterName"]);
    let named = named.filter(|_| !group.exists() && is_literal)?;
    other_cluster(&named, &only.text(&["name"])?)
}
