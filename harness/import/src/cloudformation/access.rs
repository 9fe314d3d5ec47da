//! Who may use the cluster of a machine: access entries, `aws-auth`, and the roles of managed node groups.

use super::properties::contains;
use super::reference::is_cluster;
use super::template::Template;
use crate::cluster_access::{AWS_AUTH, AwsAuthRow, StatedAccess, StatedEntry, maps_of};
use crate::machine::Machine;
use crate::tree::{Tree, json};

const ENTRY: &str = "AWS::EKS::AccessEntry";
const NODE_GROUP: &str = "AWS::EKS::Nodegroup";
/// Manifests that the CDK applies, in JSON.
const MANIFESTS: &str = "Custom::AWSCDK-EKS-KubernetesResource";
/// The type of an entry that states none.
const STANDARD: &str = "STANDARD";

/// A resource that may let a role in.
struct AccessResource<'a> {
    properties: &'a Tree,
    /// Whether it exists, and belongs to the machine's cluster.
    is_sure: bool,
}

/// Adds what the template states about access to the machine's cluster.
pub(super) fn add_access(template: &Template<'_>, machine: &mut Machine) {
    let cluster = machine.traits.cluster.name.clone();
    machine.traits.cluster.access = access(template, cluster.as_deref(), true);
}

/// Adds what the template of another stack states about access to the cluster with this name.
pub(super) fn add_access_of_other(template: &Template<'_>, cluster: &str, machine: &mut Machine) {
    let other = access(template, Some(cluster), false);
    let known = &mut machine.traits.cluster.access;
    known.entries.extend(other.entries);
    known.maps.extend(other.maps);
    known.group_roles.extend(other.group_roles);
}

/// `is_own`: the template is that of the machine.
fn access(template: &Template<'_>, cluster: Option<&str>, is_own: bool) -> StatedAccess {
    let text = |resource: &AccessResource<'_>, key: &str| {
        let value = template.text_of(resource.properties.get(key)?).ok();
        value.filter(|text| resource.is_sure && !text.is_empty())
    };
    let entries = resources(template, ENTRY, cluster, is_own);
    let entries = entries.iter().map(|entry| {
        let stated = text(entry, "Type");
        let is_open = entry.properties.get("Type").is_some();
        let entry_type = stated.as_deref().or((!is_open).then_some(STANDARD));
        StatedEntry::of(text(entry, "PrincipalArn"), entry_type, entry.is_sure)
    });
    let groups = resources(template, NODE_GROUP, cluster, is_own);
    StatedAccess {
        entries: entries.collect(),
        maps: maps(template, cluster, is_own),
        group_roles: groups.iter().map(|group| text(group, "NodeRole")).collect(),
    }
}

/// The rows of each `aws-auth`. `None`: rows that only CloudFormation knows, or that may be those of another cluster.
fn maps(template: &Template<'_>, cluster: Option<&str>, is_own: bool) -> Vec<Option<Vec<AwsAuthRow>>> {
    let mut maps = Vec::new();
    for resource in resources(template, MANIFESTS, cluster, is_own) {
        let Some(field) = resource.properties.get("Manifest") else {
            continue;
        };
        // The name does not depend on other resources, and few manifests have it.
        if !contains(template, field, AWS_AUTH) {
            continue;
        }
        let text = template.text_of(field).ok().filter(|_| resource.is_sure);
        match text.and_then(|text| json(&text).ok()) {
            Some(manifests) => maps.extend(maps_of(&[manifests])),
            None => maps.push(None),
        }
    }
    maps
}

/// The resources of a type that may belong to the cluster with this name.
fn resources<'a>(
    template: &Template<'a>,
    kind: &str,
    cluster: Option<&str>,
    is_own: bool,
) -> Vec<AccessResource<'a>> {
    let all = template.resources().iter();
    let has_one = all.clone().filter(|(_, resource)| is_cluster(resource)).count() < 2;
    let found = all.filter_map(|(_, resource)| {
        if resource.text_at(&["Type"]).as_deref() != Some(kind) {
            return None;
        }
        let properties = resource.get("Properties")?;
        let holds = resource.get("Condition").map(|name| template.condition(name));
        let named = properties
            .get("ClusterName")
            .and_then(|name| template.text_of(name).ok());
        let is_other = cluster
            .zip(named.as_deref())
            .is_some_and(|(one, other)| one != other);
        if is_other || matches!(holds, Some(Ok(false))) {
            return None;
        }
        let is_of_cluster = (is_own && has_one) || named.is_some();
        let is_sure = !matches!(holds, Some(Err(_))) && is_of_cluster;
        Some(AccessResource { properties, is_sure })
    });
    found.collect()
}
