//! Who may use the cluster of a machine: access entries, and the roles of managed node groups.

use super::reference::is_cluster;
use super::template::Template;
use crate::cluster_access::{StatedAccess, StatedEntry};
use crate::machine::Machine;
use crate::tree::Tree;

const ENTRY: &str = "AWS::EKS::AccessEntry";
const NODE_GROUP: &str = "AWS::EKS::Nodegroup";
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
    let traits = &mut machine.traits;
    let cluster = traits.cluster.name.clone();
    let text = |resource: &AccessResource<'_>, key: &str| {
        let value = template.text_of(resource.properties.get(key)?).ok();
        value.filter(|text| resource.is_sure && !text.is_empty())
    };
    let entries = resources(template, ENTRY, cluster.as_deref());
    let entries = entries.iter().map(|entry| {
        let stated = text(entry, "Type");
        let is_open = entry.properties.get("Type").is_some();
        let entry_type = stated.as_deref().or((!is_open).then_some(STANDARD));
        StatedEntry::of(text(entry, "PrincipalArn"), entry_type, entry.is_sure)
    });
    let groups = resources(template, NODE_GROUP, cluster.as_deref());
    traits.cluster.access = StatedAccess {
        entries: entries.collect(),
        maps: Vec::new(),
        group_roles: groups.iter().map(|group| text(group, "NodeRole")).collect(),
    };
}

/// The resources of a type that may belong to the cluster with this name.
fn resources<'a>(template: &Template<'a>, kind: &str, cluster: Option<&str>) -> Vec<AccessResource<'a>> {
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
        let is_sure = !matches!(holds, Some(Err(_))) && (has_one || named.is_some());
        Some(AccessResource { properties, is_sure })
    });
    found.collect()
}
