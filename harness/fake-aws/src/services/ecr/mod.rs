//! ECR's API, as `https://api.ecr.REGION.amazonaws.com`: JSON 1.1. Its passwords are those of
//! [the registry](super::registry).
//!
//! | `X-Amz-Target` | auth | response |
//! | --- | --- | --- |
//! | `...V20150921.GetAuthorizationToken` | SigV4, `ecr:GetAuthorizationToken` | a password |
//! | `...V20150921.DescribeRepositories` | SigV4, the action | the repositories of the scenario |
//! | `...V20150921.DescribeImages` | SigV4, the action | the images of a repository, by tag or digest |
//! | `...V20150921.BatchGetImage` | SigV4, the action | the manifests of images |
//! | any other | - | 501 `NotEmulated` |

mod repositories;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use nodejoin_core::plan::fault::Service;
use nodejoin_core::vocabulary::operation::{ApiOperation as _, EcrOperation as Operation};
use serde_json::{Value, json};
use time::Duration;

use self::repositories::Repositories;
use super::{ServiceRequest, authorize, registry};
use crate::clock::RequestTime;
use crate::endpoint::Endpoint;
use crate::http::{Request, Response, ServiceError};
use crate::instance::Instance;
use crate::not_emulated;
use crate::operation::RequestTarget;
use crate::wire::{self, WireFormat};

const TARGET_PREFIX: &str = "AmazonEC2ContainerRegistry_V20150921.";
const PASSWORD_LIFETIME: Duration = Duration::hours(12);
/// Limit of `registryIds`.
const MAX_REGISTRIES: usize = 10;

/// The operation's name in a request, known or not.
fn operation_name(request: &Request) -> &str {
    let target = request.header("x-amz-target").unwrap_or_default();
    target.strip_prefix(TARGET_PREFIX).unwrap_or(target)
}

pub(crate) fn identify(request: &Request) -> RequestTarget {
    let name = operation_name(request);
    match Operation::named(name) {
        Some(operation) => {
            let repository = request.json()["repositoryName"].as_str().map(str::to_owned);
            RequestTarget::known(Service::Ecr, operation.name(), repository)
        }
        None => RequestTarget::unknown(Service::Ecr, name),
    }
}

/// Responds to a request.
///
/// # Errors
/// The error that ECR returns.
pub(crate) fn respond(instance: &Instance, call: ServiceRequest<'_>) -> Result<Response, ServiceError> {
    let name = operation_name(call.request);
    let operation = Operation::named(name).ok_or_else(|| not_emulated::error(Service::Ecr.word(), name))?;
    let signer = authorize::signature(instance, call, WireFormat::Json11)?;
    let body = call.request.json();
    let account = Repositories {
        instance,
        region: &call.endpoint.region,
        body: &body,
    };
    if let Some(action) = operation.action() {
        signer.permit(Service::Ecr, action, &account.resource())?;
    }
    let accepted = repositories::accepted(operation);
    not_emulated::check_members(Service::Ecr.word(), operation.name(), &body, accepted)?;
    match operation {
        Operation::BatchGetImage => account.get_images(),
        Operation::DescribeImages => account.describe_images(),
        Operation::DescribeRepositories => account.describe(),
        Operation::GetAuthorizationToken => Ok(authorization_token(
            instance,
            call.request,
            call.endpoint,
            call.time,
        )),
    }
}

fn authorization_token(
    instance: &Instance,
    request: &Request,
    endpoint: &Endpoint,
    time: RequestTime,
) -> Response {
    let world = &instance.world;
    let expires = time.now + PASSWORD_LIFETIME;
    let password = registry::password(instance, expires);
    let token = BASE64_STANDARD.encode(format!("AWS:{}", password.reveal()));
    let data: Vec<Value> = accounts(request, world.account.as_str())
        .iter()
        .map(|account| {
            let host = format!("https://{account}.dkr.ecr.{}.{}", endpoint.region, world.region.dns_suffix());
            json!({ "authorizationToken": token, "expiresAt": expires.unix_timestamp(), "proxyEndpoint": host })
        })
        .collect();
    wire::json11(&json!({ "authorizationData": data }))
}

/// The requested registries: `registryIds`; default: the account's own.
fn accounts(request: &Request, own: &str) -> Vec<String> {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let ids = body["registryIds"].as_array().into_iter().flatten();
    let ids: Vec<String> = ids
        .filter_map(|id| id.as_str().map(ToOwned::to_owned))
        .take(MAX_REGISTRIES)
        .collect();
    if ids.is_empty() { vec![own.to_owned()] } else { ids }
}
