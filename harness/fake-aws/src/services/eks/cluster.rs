//! What DescribeCluster answers.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use nodejoin_core::plan::aws::{IpFamily, OtherCluster};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use time::{Duration, OffsetDateTime};

use crate::world::World;

/// The status that holds so many seconds after the node's start.
#[must_use]
pub fn status(world: &World, seconds: f64) -> &str {
    let steps = &world.cluster.status;
    let holds = steps
        .iter()
        .find(|step| step.until_seconds.is_none_or(|until| seconds < until))
        .or(steps.last());
    holds.map_or("ACTIVE", |step| step.status.as_str())
}

/// Whether a further cluster stands in this region.
pub(super) fn is_of(other: &OtherCluster, world: &World, region: &str) -> bool {
    other.region.as_deref().unwrap_or(world.region.as_str()) == region
}

/// The scenario's own cluster.
pub(super) fn own(world: &World, status: &str, launched: OffsetDateTime) -> Value {
    let cluster = &world.cluster;
    let mut described = described(
        world,
        &Sketch {
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

/// A further cluster of the account: its description is all there is of it.
pub(super) fn other(world: &World, other: &OtherCluster, region: &str, launched: OffsetDateTime) -> Value {
    let id = hex::encode_upper(&Sha256::digest(format!("{region}/{}", other.name))[..16]);
    let suffix = world.region.dns_suffix();
    let version = other
        .version
        .clone()
        .unwrap_or_else(|| minor_version(&world.kubernetes_version));
    let sketch = Sketch {
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

/// What differs from cluster to cluster.
struct Sketch<'a> {
    name: &'a str,
    region: &'a str,
    status: &'a str,
    version: String,
    endpoint: String,
    authority: &'a str,
    issuer: String,
}

fn described(world: &World, cluster: &Sketch<'_>, launched: OffsetDateTime) -> Value {
    let instance = &world.instance;
    // A cluster that is being created has neither of these yet.
    let made = !matches!(cluster.status, "CREATING" | "PENDING");
    let authority = made.then(|| BASE64_STANDARD.encode(cluster.authority));
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
    if made {
        described["endpoint"] = json!(format!("https://{}", cluster.endpoint));
    }
    described
}

/// What the scenario says of its own cluster's description.
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

/// A JSON number with a fraction: Go's client accepts nothing else. The cluster is a day older than its instance.
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

/// `1.20` of `v1.20.2`.
pub(super) fn minor_version(version: &str) -> String {
    version
        .trim_start_matches('v')
        .split('.')
        .take(2)
        .collect::<Vec<_>>()
        .join(".")
}
