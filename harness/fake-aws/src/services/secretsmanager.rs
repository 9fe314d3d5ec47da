//! Secrets Manager, as `https://secretsmanager.REGION.amazonaws.com`: JSON 1.1.
//!
//! | `X-Amz-Target` | auth | response |
//! | --- | --- | --- |
//! | `secretsmanager.GetSecretValue` | SigV4, `secretsmanager:GetSecretValue` | the text or the bytes of a secret |
//! | `secretsmanager.DeleteSecret` | SigV4, `secretsmanager:DeleteSecret` | its name; the secret is gone |
//! | any other | - | 501 `NotEmulated` |
//!
//! Real: shapes and errors, secrets by name and by ARN. Faked: each secret has one version, and none is restored.

use nodejoin_core::plan::fault::Service;
use nodejoin_core::plan::stored::SecretPlan;
use nodejoin_core::vocabulary::operation::{ApiOperation as _, SecretsmanagerOperation as Operation};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{ServiceRequest, authorize};
use crate::arn;
use crate::http::{Request, Response, ServiceError};
use crate::instance::Instance;
use crate::not_emulated;
use crate::operation::RequestTarget;
use crate::wire::{self, WireFormat};
use crate::world::World;

/// The staging label of the one version of each secret.
const STAGE: &str = "AWSCURRENT";

pub(crate) fn identify(request: &Request) -> RequestTarget {
    RequestTarget::of_target(Service::Secretsmanager, request, |_: Operation| {
        request.json()["SecretId"].as_str().map(str::to_owned)
    })
}

/// Responds to a request.
///
/// # Errors
/// The error that Secrets Manager returns.
pub(crate) fn respond(instance: &mut Instance, call: ServiceRequest<'_>) -> Result<Response, ServiceError> {
    let name = call.request.target_name();
    let operation =
        Operation::named(name).ok_or_else(|| not_emulated::error(Service::Secretsmanager.word(), name))?;
    let signer = authorize::signature(instance, call, WireFormat::Json11)?;
    let (world, region) = (&instance.world, call.endpoint.region.as_str());
    let body = call.request.json();
    let word = Service::Secretsmanager.word();
    not_emulated::check_members(word, operation.name(), &body, accepted(operation))?;
    let requested = body["SecretId"].as_str().unwrap_or_default();
    let name = name_of(world, region, requested);
    if let Some(action) = operation.action() {
        let resource = name.map_or_else(|| requested.to_owned(), |name| secret_arn(world, region, name));
        signer.permit(Service::Secretsmanager, action, &resource)?;
    }
    let missing = || {
        let message = "Secrets Manager can't find the specified secret.";
        ServiceError::new(400, "ResourceNotFoundException", message)
    };
    let name = name.ok_or_else(missing)?.to_owned();
    let mut written = json!({ "ARN": secret_arn(world, region, &name), "Name": name });
    let created = instance.launched.duration_since(std::time::UNIX_EPOCH);
    let created = created.unwrap_or_default().as_secs();
    match operation {
        Operation::GetSecretValue => {
            let secret = world.aws.secrets.get(&name).ok_or_else(missing)?;
            check_version(&body, &name)?;
            written["CreatedDate"] = json!(created);
            written["VersionId"] = json!(arn::derived_uuid(&name));
            written["VersionStages"] = json!([STAGE]);
            let (key, value) = value(secret);
            written[key] = value;
        }
        Operation::DeleteSecret => {
            written["DeletionDate"] = json!(call.time.now.unix_timestamp());
            instance.world.aws.secrets.remove(&name);
        }
    }
    Ok(wire::json11(&written))
}

/// The members of a request that an operation reads. A secret is gone at once, whatever its recovery window is.
const fn accepted(operation: Operation) -> &'static [&'static str] {
    match operation {
        Operation::DeleteSecret => &["ForceDeleteWithoutRecovery", "RecoveryWindowInDays", "SecretId"],
        Operation::GetSecretValue => &["SecretId", "VersionId", "VersionStage"],
    }
}

/// Checks that a request is for the one version of the secret.
fn check_version(body: &Value, name: &str) -> Result<(), ServiceError> {
    let id = arn::derived_uuid(name);
    let other = |member: &str, own: &str| body[member].as_str().filter(|requested| *requested != own);
    let what = match (other("VersionId", &id), other("VersionStage", STAGE)) {
        (Some(id), _) => format!("VersionId: {id}"),
        (None, Some(stage)) => format!("staging label: {stage}"),
        (None, None) => return Ok(()),
    };
    let message = format!("Secrets Manager can't find the specified secret value for {what}");
    Err(ServiceError::new(400, "ResourceNotFoundException", message))
}

fn value(secret: &SecretPlan) -> (&'static str, Value) {
    match secret {
        SecretPlan::Text(text) => ("SecretString", json!(text)),
        SecretPlan::Binary(bytes) => ("SecretBinary", json!(bytes.binary)),
    }
}

/// The name of a secret, by its name, its ARN, or its ARN without the random end.
fn name_of<'a>(world: &'a World, region: &str, requested: &str) -> Option<&'a str> {
    let is_it = |name: &str| {
        let arn = secret_arn(world, region, name);
        name == requested || arn == requested || arn[..arn.len() - 7] == *requested
    };
    // Another region has secrets of its own.
    let is_of_region = region == world.region.as_str();
    let mut names = world.aws.secrets.keys().filter(|_| is_of_region);
    names.find(|name| is_it(name)).map(String::as_str)
}

fn secret_arn(world: &World, region: &str, name: &str) -> String {
    let (partition, account) = (world.region.partition(), &world.account);
    let end = hex::encode(Sha256::digest(name));
    format!(
        "arn:{partition}:secretsmanager:{region}:{account}:secret:{name}-{}",
        &end[..6]
    )
}
