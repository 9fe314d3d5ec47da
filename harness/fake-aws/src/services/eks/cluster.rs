//! The response of DescribeCluster.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use nodejoin_core::plan::aws::{IpFamily, OtherCluster};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use time::{Duration, OffsetDateTime};

use crate::world::World;

/// The status at this many seconds after the start of the node.
pub(super) fn status(world: &World, seconds: f64) -> &str {
    let steps = &world.cluster.status;
    let holds = steps
        .iter()
        .find(|step| step.until_seconds.is_none_or(|until| seconds < until))
        .or(steps.last());
    holds.map_or("ACTIVE", |step| step.status.as_str())
}

/// Whether a further cluster is in this region.
pub(super) fn is_of(other: &OtherCluster, world: &World, region: &str) -> bool {
    other.region.as_deref().unwrap_or(world.region.as_str()) == region
}

/// The description of the scenario's own cluster.
pub(super) fn own(world: &World, status: &str, launched: OffsetDateTime) -> Value {
    let cluster = &world.cluster;
    let mut described = described(
        world,
        &ClusterView {
            name: &cluster.name,
            region: world.region.as_str(),
            status,
            version: minor_version(&world.kubernetes_version),
            endpoint: cluster.endpoint_host(&world.region),
            authority: &world.certificate_authority,
            issuer: world.oidc_issuer(),
        },
        launched,
    );
    for (member, value) in particulars(world) {
        described[member] = value;
    }
    described
}

/// The description of a further cluster of the account.
pub(super) fn other(world: &World, other: &OtherCluster, region: &str, launched: OffsetDateTime) -> Value {
    let id = hex::encode_upper(&Sha256::digest(format!("{region}/{}", other.name))[..16]);
    let suffix = world.region.dns_suffix();
    let version = other
        .version
        .clone()
        .unwrap_or_else(|| minor_version(&world.kubernetes_version));
    let sketch = ClusterView {
        name: &other.name,
        region,
        status: &other.status,
        version,
        endpoint: format!("{id}.gr7.{region}.eks.{suffix}"),
        authority: &world.certificate_authority,
        issuer: format!("https://oidc.eks.{region}.{suffix}/id/{id}"),
    };
    described(world, &sketch, launched)
}

/// The members that differ between clusters.
struct ClusterView<'a> {
    name: &'a str,
    region: &'a str,
    status: &'a str,
    version: String,
    endpoint: String,
    authority: &'a str,
    issuer: String,
}

fn described(world: &World, cluster: &ClusterView<'_>, launched: OffsetDateTime) -> Value {
    let instance = &world.instance;
    // A cluster has no endpoint and no certificate authority until its creation ends.
    let is_created = !matches!(cluster.status, "CREATING" | "PENDING");
    let authority = is_created.then(|| BASE64_STANDARD.encode(cluster.authority));
    let mut described = json!({
        "name": cluster.name,
        "arn": world.cluster_arn_in(cluster.region, cluster.name),
        "createdAt": created_at(launched),
        "version": cluster.version,
        "roleArn": format!("arn:{}:iam::{}:role/{}-cluster", world.region.partition(), world.account, cluster.name),
        "resourcesVpcConfig": {
            "subnetIds": [instance.subnet_id],
            "securityGroupIds": [],
            "clusterSecurityGroupId": instance.security_group_id,
            "vpcId": instance.vpc_id,
            "endpointPublicAccess": true,
            "endpointPrivateAccess": true,
            "publicAccessCidrs": ["0.0.0.0/0"],
            "controlPlaneEgressMode": "AWS_MANAGED",
        },
        "kubernetesNetworkConfig": {
            "serviceIpv4Cidr": world.cluster.service_ipv4_cidr,
            "serviceIpv6Cidr": null,
            "ipFamily": "ipv4",
            "elasticLoadBalancing": { "enabled": false },
        },
        "logging": {
            "clusterLogging": [{ "types": ["api", "audit", "authenticator", "controllerManager", "scheduler"], "enabled": false }],
        },
        "identity": { "oidc": { "issuer": cluster.issuer } },
        "status": cluster.status,
        "certificateAuthority": { "data": authority },
        "clientRequestToken": null,
        "platformVersion": "eks.1",
        "tags": {},
        "encryptionConfig": null,
        "connectorConfig": null,
        "id": null,
        "health": { "issues": [] },
        "outpostConfig": null,
        "accessConfig": { "bootstrapClusterCreatorAdminPermissions": null, "authenticationMode": "CONFIG_MAP" },
        "upgradePolicy": { "supportType": "EXTENDED" },
        "zonalShiftConfig": { "enabled": false },
        "remoteNetworkConfig": null,
        "computeConfig": null,
        "storageConfig": null,
        "deletionProtection": false,
        "controlPlaneScalingConfig": { "tier": "standard" },
    });
    if is_created {
        described["endpoint"] = json!(format!("https://{}", cluster.endpoint));
    }
    described
}

/// The members that the scenario sets for its own cluster.
fn particulars(world: &World) -> Map<String, Value> {
    let eks = &world.cluster.eks;
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| members.insert(name.to_owned(), value);
    put("tags", json!(eks.tags));
    let mode = world.cluster.authentication_mode.word();
    let access = json!({ "bootstrapClusterCreatorAdminPermissions": null, "authenticationMode": mode });
    put("accessConfig", access);
    if eks.ip_family == IpFamily::Ipv6 {
        put(
            "kubernetesNetworkConfig",
            json!({
                "serviceIpv4Cidr": null,
                "serviceIpv6Cidr": eks.service_ipv6_cidr,
                "ipFamily": "ipv6",
                "elasticLoadBalancing": { "enabled": false },
            }),
        );
    }
    if let Some(outpost) = &eks.outpost {
        put("id", json!(outpost.cluster_id));
        let placement = json!({ "groupName": null });
        put(
            "outpostConfig",
            json!({
                "outpostArns": [outpost.arn],
                "controlPlaneInstanceType": world.instance.instance_type,
                "controlPlanePlacement": placement,
            }),
        );
    }
    if !(eks.remote_node_networks.is_empty() && eks.remote_pod_networks.is_empty()) {
        put(
            "remoteNetworkConfig",
            json!({
                "remoteNodeNetworks": networks(&eks.remote_node_networks),
                "remotePodNetworks": networks(&eks.remote_pod_networks),
            }),
        );
    }
    members
}

fn networks(cidrs: &[String]) -> Value {
    if cidrs.is_empty() {
        json!([])
    } else {
        json!([{ "cidrs": cidrs }])
    }
}

/// A JSON number with a fraction, which Go's client requires. The cluster is a day older than its instance.
pub(super) fn created_at(launched: OffsetDateTime) -> f64 {
    let created = launched - Duration::days(1);
    let milliseconds = created.unix_timestamp_nanos() / 1_000_000;
    #[expect(
        clippy::cast_precision_loss,
        reason = "milliseconds since 1970 fit into the 53 bits of a double"
    )]
    let seconds = milliseconds as f64 / 1000.0;
    seconds
}

/// Shortens `v1.20.2` to `1.20`.
pub(super) fn minor_version(version: &str) -> String {
    version
        .trim_start_matches('v')
        .split('.')
        .take(2)
        .collect::<Vec<_>>()
        .join(".")
}

#[cfg(test)]
mod tests {
    use nodejoin_core::plan::StatusStep;

    use super::*;
    use crate::testing;

    #[test]
    fn the_status_changes_over_time() {
        let step = |status: &str, until_seconds| StatusStep {
            status: status.parse().unwrap(),
            until_seconds,
        };
        let (mut world, _events) = testing::world();
        world.cluster.status = vec![
            step("CREATING", Some(10.0)),
            step("UPDATING", Some(20.0)),
            step("ACTIVE", None),
        ];
        let table = [
            (0.0, "CREATING"),
            (9.0, "CREATING"),
            (10.0, "UPDATING"),
            (20.0, "ACTIVE"),
            (9_999.0, "ACTIVE"),
        ];
        for (seconds, expected) in table {
            assert_eq!(status(&world, seconds), expected, "after {seconds} s");
        }
    }
}
