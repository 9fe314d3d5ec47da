//! Who may use a cluster: access entries, `aws-auth`, and the roles of managed node groups.

use super::groups::NODE_GROUP;
use super::resource::{PulumiResource, PulumiStack};
use crate::cluster_access::{AWS_AUTH, AwsAuthRow, StatedAccess, StatedEntry, rows_of};

const MAPS: [&str; 2] = [
    "kubernetes:core/v1:ConfigMap",
    "kubernetes:core/v1:ConfigMapPatch",
];

/// What the stack states about the cluster with this name, or about its only one.
pub(super) fn access(stack: &PulumiStack<'_>, cluster: Option<&str>) -> StatedAccess {
    let has_one = stack.of_kind("aws:eks/cluster:Cluster").count() < 2;
    let is_of = |resource: &&PulumiResource<'_>| {
        let named = resource.text(&["clusterName"]);
        cluster
            .zip(named.as_deref())
            .is_none_or(|(one, other)| one == other)
    };
    let is_known = |resource: &PulumiResource<'_>| has_one || resource.text(&["clusterName"]).is_some();
    let entries = stack.of_kind("aws:eks/accessEntry:AccessEntry").filter(is_of);
    let entries = entries.map(|entry| {
        let principal = entry.text(&["principalArn"]);
        StatedEntry::of(principal, entry_type(entry).as_deref(), is_known(entry))
    });
    let groups = stack.of_kind(NODE_GROUP).filter(is_of);
    StatedAccess {
        entries: entries.collect(),
        maps: maps(stack, has_one),
        group_roles: groups.map(|group| group.text(&["nodeRoleArn"])).collect(),
    }
}

fn entry_type(entry: &PulumiResource<'_>) -> Option<String> {
    let is_stated = entry.inputs.get("type").is_some();
    let by_default = || (!is_stated).then(|| "STANDARD".to_owned());
    entry.text(&["type"]).or_else(by_default)
}

/// The rows of each `aws-auth`. `has_one`: the stack has no second cluster, whose rows they can be.
fn maps(stack: &PulumiStack<'_>, has_one: bool) -> Vec<Option<Vec<AwsAuthRow>>> {
    let maps = MAPS.iter().flat_map(|kind| stack.of_kind(kind));
    let maps = maps.filter(|map| map.text(&["metadata", "name"]).as_deref() == Some(AWS_AUTH));
    let rows = |map: &PulumiResource<'_>| rows_of(&map.text(&["data", "mapRoles"])?);
    let mut maps: Vec<_> = maps.map(rows).collect();
    if !has_one && !maps.is_empty() {
        maps.push(None);
    }
    maps
}
