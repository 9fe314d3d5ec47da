//! ECR's API, as `https://api.ecr.REGION.amazonaws.com` answers: JSON 1.1.
//!
//! | `X-Amz-Target` | auth | answer |
//! | --- | --- | --- |
//! | `AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken` | SigV4, `ecr:GetAuthorizationToken` | a password for [the registry](super::registry) |
//! | any other | - | 400 `UnknownOperationException` |

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use nodejoin_core::plan::fault::Service;
use serde_json::{Value, json};
use time::Duration;

use super::{authorize, registry};
use crate::clock::Moment;
use crate::exchange::{Answer, Request, ServiceError};
use crate::router::Endpoint;
use crate::wire::{self, Shape};
use crate::world::{Instance, Target};

const TARGET: &str = "AmazonEC2ContainerRegistry_V20150921.";
const LIFETIME: Duration = Duration::hours(12);

/// What a request asks for.
#[must_use]
pub fn identify(request: &Request) -> Target {
    let target = request.header("x-amz-target").unwrap_or_default();
    match target.strip_prefix(TARGET) {
        Some("GetAuthorizationToken") => Target::known(Service::Ecr, "GetAuthorizationToken", None),
        other => Target::unknown(Service::Ecr, other.unwrap_or(target)),
    }
}

/// Answers a request.
///
/// # Errors
/// What ECR answers instead.
pub fn answer(
    instance: &Instance,
    request: &Request,
    target: &Target,
    endpoint: &Endpoint,
    moment: Moment,
) -> Result<Answer, ServiceError> {
    if !target.known {
        return Err(ServiceError::new(
            400,
            "UnknownOperationException",
            "The operation is not known.",
        ));
    }
    let caller = authorize::signature(instance, request, endpoint, Shape::Json11, moment)?;
    caller.permit(Service::Ecr, "ecr:GetAuthorizationToken", "*")?;
    let world = &instance.world;
    let expires = moment.now + LIFETIME;
    let password = registry::password(instance, expires);
    let token = BASE64_STANDARD.encode(format!("AWS:{}", password.reveal()));
    let data: Vec<Value> = accounts(request, world.account.as_str())
        .iter()
        .map(|account| {
            let host = format!("https://{account}.dkr.ecr.{}.{}", endpoint.region, world.region.dns_suffix());
            json!({ "authorizationToken": token, "expiresAt": expires.unix_timestamp(), "proxyEndpoint": host })
        })
        .collect();
    Ok(wire::json11(&json!({ "authorizationData": data })))
}

/// The registries that are asked for: `registryIds`, or the account's own.
fn accounts(request: &Request, own: &str) -> Vec<String> {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let asked = body["registryIds"].as_array().into_iter().flatten();
    let asked: Vec<String> = asked
        .filter_map(|id| id.as_str().map(ToOwned::to_owned))
        .take(10)
        .collect();
    if asked.is_empty() {
        vec![own.to_owned()]
    } else {
        asked
    }
}
