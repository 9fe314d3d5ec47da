//! EKS, as `https://eks.REGION.amazonaws.com` answers: REST JSON.
//!
//! | method, path | auth | answer |
//! | --- | --- | --- |
//! | `GET /clusters/NAME` | SigV4, `eks:DescribeCluster` | DescribeCluster: the scenario's cluster, its status by the time since the node's start |
//! | `GET /clusters` | SigV4, `eks:ListClusters` | ListClusters |
//! | anything else | - | 404 `UnknownOperationException` |
//!
//! Real: members, null where EKS has null, typed errors, the status in time. Faked: nothing stands behind it but the plan; subnets
//! and security groups are the instance's own.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::Method;
use nodejoin_core::fault::Service;
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};
use url::form_urlencoded;

use super::authorize;
use crate::clock::Moment;
use crate::exchange::{Answer, Request, ServiceError};
use crate::router::Endpoint;
use crate::wire::{self, Shape};
use crate::world::{Instance, Target, World};

/// What a request asks for.
#[must_use]
pub fn identify(request: &Request) -> Target {
    let segments: Vec<&str> = request.path.trim_matches('/').split('/').collect();
    match (request.method.clone(), segments.as_slice()) {
        (Method::GET, ["clusters", name]) => {
            Target::known(Service::Eks, "DescribeCluster", Some(decode(name)))
        }
        (Method::GET, ["clusters"]) => Target::known(Service::Eks, "ListClusters", None),
        (method, _) => Target::unknown(Service::Eks, format!("{method} {}", request.path)),
    }
}

/// Answers a request.
///
/// # Errors
/// What EKS answers instead.
pub fn answer(
    instance: &Instance,
    request: &Request,
    target: &Target,
    endpoint: &Endpoint,
    moment: Moment,
) -> Result<Answer, ServiceError> {
    if !target.known {
        return Err(ServiceError::new(
            404,
            "UnknownOperationException",
            "The requested operation is not recognized by the service.",
        ));
    }
    authorize::signature(instance, request, endpoint, Shape::RestJson, moment)?;
    match &target.subject {
        Some(name) => describe(instance, name, endpoint, moment),
        None => list(&instance.world, endpoint),
    }
}

fn describe(
    instance: &Instance,
    name: &str,
    endpoint: &Endpoint,
    moment: Moment,
) -> Result<Answer, ServiceError> {
    let world = &instance.world;
    permit(world, "eks:DescribeCluster", &world.cluster_arn(name))?;
    if name != world.cluster.name || endpoint.region != world.region.as_str() {
        let null_members = &["clusterName", "nodegroupName", "fargateProfileName", "addonName"][..];
        let message = format!("No cluster found for name: {name}.");
        return Err(ServiceError {
            null_members,
            ..ServiceError::new(404, "ResourceNotFoundException", message)
        });
    }
    let cluster = cluster(world, status(world, moment.seconds()), instance.launched.into());
    Ok(wire::rest_json(&json!({ "cluster": cluster })))
}

fn list(world: &World, endpoint: &Endpoint) -> Result<Answer, ServiceError> {
    permit(world, "eks:ListClusters", &world.cluster_arn("*"))?;
    let here = endpoint.region == world.region.as_str();
    let names: Vec<&str> = here.then_some(world.cluster.name.as_str()).into_iter().collect();
    Ok(wire::rest_json(&json!({ "clusters": names, "nextToken": null })))
}

fn permit(world: &World, action: &str, resource: &str) -> Result<(), ServiceError> {
    match world.refusal(action, resource) {
        Some(sentence) => Err(ServiceError::new(403, "AccessDeniedException", sentence)),
        None => Ok(()),
    }
}

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

fn cluster(world: &World, status: &str, launched: OffsetDateTime) -> Value {
    let (cluster, instance) = (&world.cluster, &world.instance);
    // A cluster that is being created has neither of these yet.
    let made = !matches!(status, "CREATING" | "PENDING");
    let endpoint = made.then(|| format!("https://{}", cluster.endpoint_host(&world.region)));
    let authority = made.then(|| BASE64_STANDARD.encode(&world.certificate_authority));
    let issuer = format!(
        "https://oidc.eks.{}.{}/id/{}",
        world.region,
        world.region.dns_suffix(),
        cluster.endpoint_id
    );
    let mut described = json!({
        "name": cluster.name,
        "arn": world.cluster_arn(&cluster.name),
        "createdAt": created_at(launched),
        "version": minor_version(&world.kubernetes_version),
        "roleArn": format!("arn:{}:iam::{}:role/{}-cluster", world.region.partition(), world.account, cluster.name),
        "resourcesVpcConfig": {
            "subnetIds": [instance.subnet_id],
            "securityGroupIds": [],
            "clusterSecurityGroupId": instance.security_group_id,
            "vpcId": instance.vpc_id,
            "endpointPublicAccess": true,
            "endpointPrivateAccess": true,
            "publicAccessCidrs": ["0.0.0.0/0"],
        },
        "kubernetesNetworkConfig": {
            "serviceIpv4Cidr": cluster.service_ipv4_cidr,
            "serviceIpv6Cidr": null,
            "ipFamily": "ipv4",
        },
        "logging": {
            "clusterLogging": [{ "types": ["api", "audit", "authenticator", "controllerManager", "scheduler"], "enabled": false }],
        },
        "identity": { "oidc": { "issuer": issuer } },
        "status": status,
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
    });
    if let Some(endpoint) = endpoint {
        described["endpoint"] = json!(endpoint);
    }
    described
}

/// A JSON number with a fraction: Go's client accepts nothing else. The cluster is a day older than its instance.
fn created_at(launched: OffsetDateTime) -> f64 {
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
fn minor_version(version: &str) -> String {
    version
        .trim_start_matches('v')
        .split('.')
        .take(2)
        .collect::<Vec<_>>()
        .join(".")
}

fn decode(segment: &str) -> String {
    // In a path `+` is itself, in a form it is a space.
    let form = segment.replace('+', "%2B");
    form_urlencoded::parse(form.as_bytes())
        .next()
        .map(|(name, _)| name.into_owned())
        .unwrap_or_default()
}
