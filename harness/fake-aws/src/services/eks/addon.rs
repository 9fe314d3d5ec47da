//! The response of DescribeAddon.

use nodejoin_core::plan::aws::AddonPlan;
use serde_json::{Value, json};
use time::OffsetDateTime;

use super::cluster;
use crate::arn::derived_uuid;
use crate::world::World;

/// ARN of an add-on. It ends with an id that EKS generates.
pub(super) fn arn(world: &World, region: &str, cluster: &str, addon: &str) -> String {
    let (partition, account) = (world.region.partition(), &world.account);
    let id = derived_uuid(&format!("{cluster}/{addon}"));
    format!("arn:{partition}:eks:{region}:{account}:addon/{cluster}/{addon}/{id}")
}

/// The description of an add-on of the scenario's own cluster.
pub(super) fn described(world: &World, addon: &AddonPlan, launched: OffsetDateTime) -> Value {
    let name = &world.cluster.name;
    let mut described = json!({
        "addonName": addon.name,
        "clusterName": name,
        "status": addon.status,
        "addonVersion": addon.version,
        "health": { "issues": [] },
        "addonArn": arn(world, world.region.as_str(), name, &addon.name),
        "createdAt": cluster::created_at(launched),
        "modifiedAt": cluster::created_at(launched),
        "tags": {},
    });
    if let Some(configuration) = &addon.configuration {
        described["configurationValues"] = json!(configuration);
    }
    described
}
