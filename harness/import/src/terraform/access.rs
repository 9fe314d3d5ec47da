//! Who may use a cluster: access entries, `aws-auth`, and the roles of managed node groups.

use super::file::TerraformFile;
use super::kubernetes::{APPLYING, manifests};
use super::resource::TerraformResource;
use crate::cluster_access::{AWS_AUTH, AwsAuthRow, StatedAccess, StatedEntry, maps_of, rows_of};

const MAPS: [&str; 3] = [
    "kubernetes_config_map",
    "kubernetes_config_map_v1",
    "kubernetes_config_map_v1_data",
];

/// What the file states about the cluster with this name, or about its only one.
pub(super) fn access(file: &TerraformFile<'_>, cluster: Option<&str>) -> StatedAccess {
    let names: Vec<_> = file.clusters().map(|cluster| cluster.text(&["name"])).collect();
    let has_one = names.windows(2).all(|pair| pair[0] == pair[1]);
    let is_of = |resource: &&TerraformResource<'_>| {
        let named = resource.text(&["cluster_name"]);
        cluster
            .zip(named.as_deref())
            .is_none_or(|(one, other)| one == other)
    };
    let is_known = |resource: &TerraformResource<'_>| has_one || resource.text(&["cluster_name"]).is_some();
    let entries = file.of_kind(&["aws_eks_access_entry"]).filter(is_of);
    let entries = entries.map(|entry| {
        let principal = principal(file, entry);
        StatedEntry::of(principal, entry_type(entry).as_deref(), is_known(entry))
    });
    let groups = file.of_kind(&["aws_eks_node_group"]).filter(is_of);
    StatedAccess {
        entries: entries.collect(),
        maps: maps(file, has_one),
        group_roles: groups.map(|group| group.text(&["node_role_arn"])).collect(),
    }
}

/// The principal of an entry. A reference of Crossplane names the manifest of a role.
fn principal(file: &TerraformFile<'_>, entry: &TerraformResource<'_>) -> Option<String> {
    let stated = entry.text(&["principal_arn"])?;
    if stated.starts_with("arn:") {
        return Some(stated);
    }
    let mut roles = file.of_kind(&["aws_iam_role"]);
    let role = roles.find(|role| role.text(&["id"]).as_ref() == Some(&stated));
    role.and_then(|role| role.text(&["name"])).or(Some(stated))
}

fn entry_type(entry: &TerraformResource<'_>) -> Option<String> {
    let by_default = || (!entry.is_unknown("type")).then(|| "STANDARD".to_owned());
    entry.text(&["type"]).or_else(by_default)
}

/// The rows of each `aws-auth`. `has_one`: the file has no second cluster, whose rows they can be.
fn maps(file: &TerraformFile<'_>, has_one: bool) -> Vec<Option<Vec<AwsAuthRow>>> {
    let is_aws_auth = |map: &&TerraformResource<'_>| {
        // A data source shows what is replaced.
        let is_read = map.address.contains(&format!("data.{}.", map.kind));
        map.text(&["metadata", "0", "name"]).as_deref() == Some(AWS_AUTH) && !is_read
    };
    let rows = |map: &TerraformResource<'_>| rows_of(&map.text(&["data", "mapRoles"])?);
    let of_resources = file.of_kind(&MAPS).filter(is_aws_auth).map(rows);
    let mut maps: Vec<_> = of_resources.chain(applied_maps(file)).collect();
    if !has_one && !maps.is_empty() {
        maps.push(None);
    }
    maps
}

/// Those in manifests that resources apply.
fn applied_maps(file: &TerraformFile<'_>) -> Vec<Option<Vec<AwsAuthRow>>> {
    let has_name = |resource: &&TerraformResource<'_>| {
        let text = resource.text(&["yaml_body"]);
        text.is_none_or(|text| text.contains(AWS_AUTH))
    };
    let found = file.of_kind(&APPLYING).filter(has_name);
    found
        .flat_map(|resource| maps_of(&manifests(resource).unwrap_or_default()))
        .collect()
}
