//! Responses of ListAccessEntries and DescribeAccessEntry.

use nodejoin_core::plan::access_entry::AccessEntry;
use serde_json::{Value, json};
use time::OffsetDateTime;

use super::cluster;
use crate::arn::derived_uuid;
use crate::http::ServiceError;
use crate::world::World;

/// The entries of the scenario's own cluster.
///
/// # Errors
/// EKS' error if the cluster's authentication mode has no entries (seen in upbound/configuration-aws-eks#122).
pub(super) fn of(world: &World) -> Result<&[AccessEntry], ServiceError> {
    if world.cluster.authentication_mode.has_entries() {
        return Ok(&world.cluster.access_entries);
    }
    let message = "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP] to perform this operation.";
    Err(ServiceError {
        null_members: &["clusterName", "nodegroupName", "addonName", "subscriptionId"],
        ..ServiceError::new(400, "InvalidRequestException", message)
    })
}

/// ARN of an entry. It ends with an id that EKS generates.
pub(super) fn arn(world: &World, region: &str, principal_arn: &str) -> String {
    let (partition, account, cluster) = (world.region.partition(), &world.account, &world.cluster.name);
    let (kind, name) = principal_arn
        .split_once("::")
        .and_then(|(_, rest)| rest.split_once(':'))
        .and_then(|(_, resource)| resource.split_once('/'))
        .unwrap_or(("role", ""));
    let id = derived_uuid(&format!("{cluster}/{principal_arn}"));
    format!("arn:{partition}:eks:{region}:{account}:access-entry/{cluster}/{kind}/{account}/{name}/{id}")
}

/// The description of an entry.
pub(super) fn described(world: &World, entry: &AccessEntry, launched: OffsetDateTime) -> Value {
    json!({
        "clusterName": world.cluster.name,
        "principalArn": entry.principal_arn,
        "kubernetesGroups": entry.groups,
        "accessEntryArn": arn(world, world.region.as_str(), &entry.principal_arn),
        "createdAt": cluster::created_at(launched),
        "modifiedAt": cluster::created_at(launched),
        "tags": {},
        "username": entry.username,
        "type": entry.entry_type.word(),
    })
}
