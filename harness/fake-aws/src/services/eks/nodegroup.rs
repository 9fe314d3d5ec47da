//! The response of DescribeNodegroup.

use nodejoin_core::plan::aws::NodegroupPlan;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use time::OffsetDateTime;

use super::cluster;
use crate::arn::derived_uuid;
use crate::services::ec2::types;
use crate::world::World;

/// The node groups of a cluster; `None` without such a cluster. Further clusters of the account have no node groups.
pub(super) fn of(world: &World, is_own: bool) -> Option<&[NodegroupPlan]> {
    is_own.then_some(world.cluster.eks.nodegroups.as_slice())
}

/// ARN of a node group. It ends with an id that EKS generates.
pub(super) fn arn(world: &World, region: &str, cluster: &str, group: &str) -> String {
    let (partition, account) = (world.region.partition(), &world.account);
    let id = derived_uuid(&format!("{cluster}/{group}"));
    format!("arn:{partition}:eks:{region}:{account}:nodegroup/{cluster}/{group}/{id}")
}

/// The description of a node group of the scenario's own cluster.
pub(super) fn described(world: &World, group: &NodegroupPlan, launched: OffsetDateTime) -> Value {
    let (instance, name) = (&world.instance, &world.cluster.name);
    let version = cluster::minor_version(&world.kubernetes_version);
    let ami_type = match types::architecture(instance).as_str() {
        "arm64" => "AL2_ARM_64",
        _ => "AL2_x86_64",
    };
    let capacity = if instance.life_cycle == nodejoin_core::plan::LifeCycle::Spot {
        "SPOT"
    } else {
        "ON_DEMAND"
    };
    let hash = hex::encode(Sha256::digest(&group.name));
    json!({
        "nodegroupName": group.name,
        "nodegroupArn": arn(world, world.region.as_str(), name, &group.name),
        "clusterName": name,
        "version": version,
        "releaseVersion": format!("{version}.0-20220802"),
        "createdAt": cluster::created_at(launched),
        "modifiedAt": cluster::created_at(launched),
        "status": group.status,
        "capacityType": capacity,
        "scalingConfig": { "minSize": 1, "maxSize": 1, "desiredSize": 1 },
        "instanceTypes": [instance.instance_type],
        "subnets": [instance.subnet_id],
        "remoteAccess": null,
        "amiType": ami_type,
        "nodeRole": world.role_arn(),
        "labels": group.labels,
        "taints": null,
        "resources": {
            "autoScalingGroups": [{ "name": format!("eks-{}-{}", group.name, &hash[..8]) }],
            "remoteAccessSecurityGroup": null,
        },
        "diskSize": 20,
        "health": { "issues": [] },
        "updateConfig": { "maxUnavailable": 1, "maxUnavailablePercentage": null },
        "launchTemplate": null,
        "tags": {},
    })
}
