//! What ListAccessEntries and DescribeAccessEntry answer.

use nodejoin_core::plan::access_entry::AccessEntry;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use time::OffsetDateTime;

use super::cluster;
use crate::exchange::ServiceError;
use crate::world::World;

/// The entries of the scenario's own cluster.
///
/// # Errors
/// EKS' own sentence where the cluster's authentication mode has none (seen in upbound/configuration-aws-eks#122).
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

/// ARN of an entry. Its last part is an id that EKS makes up.
pub(super) fn arn(world: &World, region: &str, principal_arn: &str) -> String {
    let (partition, account, cluster) = (world.region.partition(), &world.account, &world.cluster.name);
    let (kind, name) = principal_arn
        .split_once("::")
        .and_then(|(_, rest)| rest.split_once(':'))
        .and_then(|(_, resource)| resource.split_once('/'))
        .unwrap_or(("role", ""));
    let hash = hex::encode(Sha256::digest(format!("{cluster}/{principal_arn}")));
    let id = format!(
        "{}-{}-{}-{}-{}",
        &hash[..8],
        &hash[8..12],
        &hash[12..16],
        &hash[16..20],
        &hash[20..32]
    );
    format!("arn:{partition}:eks:{region}:{account}:access-entry/{cluster}/{kind}/{account}/{name}/{id}")
}

/// An entry of the scenario's own cluster.
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
