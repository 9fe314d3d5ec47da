//! The account's image registry, as `https://ACCOUNT.dkr.ecr.REGION.amazonaws.com`: the Docker registry protocol,
//! read-only.
//!
//! | method, path | auth | response |
//! | --- | --- | --- |
//! | any | none | 401 with a Basic challenge |
//! | `GET /v2/` | Basic | 200 |
//! | `GET`, `HEAD /v2/NAME/manifests/TAG` | Basic, `ecr:BatchGetImage` | the manifest |
//! | `GET`, `HEAD /v2/NAME/blobs/DIGEST` | Basic, `ecr:GetDownloadUrlForLayer` | the blob, not a redirection to S3 |
//! | `GET /v2/NAME/tags/list` | Basic | the tags |
//! | any other | Basic | 405 `UNSUPPORTED` |
//!
//! The registries of all accounts have the images that nodes need: the pause image comes from one of EKS' accounts.
//! Only the account's own registry has the images that the scenario lists. A loopback address is a second name for it,
//! because Docker accepts a registry there without a trusted certificate.

use std::net::IpAddr;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::Method;
use nodejoin_core::plan::fault::Service;
use nodejoin_core::vocabulary::operation::{ApiOperation as _, RegistryOperation as Operation};
use serde_json::{Value, json};
use time::OffsetDateTime;

use super::ServiceRequest;
use crate::clock::StateView;
use crate::credentials::{Principal, Purpose};
use crate::endpoint::Endpoint;
use crate::http::{Request, Response, ServiceError};
use crate::iam::Signer;
use crate::images::{Blob, RegistryImage, RegistryScope, Tags};
use crate::instance::Instance;
use crate::operation::RequestTarget;
use nodejoin_core::run::secret::Secret;

/// An operation with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RegistryRequest<'a> {
    operation: Operation,
    repository: &'a str,
    /// Tag or digest.
    reference: &'a str,
}

impl<'a> RegistryRequest<'a> {
    fn parse(request: &'a Request) -> Option<Self> {
        let is_read = matches!(request.method, Method::GET | Method::HEAD);
        let rest = request.path.strip_prefix("/v2").filter(|_| is_read)?;
        let rest = rest.trim_matches('/');
        let parsed = |operation, repository, reference| Self {
            operation,
            repository,
            reference,
        };
        if rest.is_empty() {
            return Some(parsed(Operation::Version, "", ""));
        }
        if let Some(name) = rest.strip_suffix("/tags/list") {
            return Some(parsed(Operation::Tags, name, ""));
        }
        if let Some((name, reference)) = rest.rsplit_once("/manifests/") {
            return Some(parsed(Operation::Manifest, name, reference));
        }
        let (name, digest) = rest.rsplit_once("/blobs/")?;
        Some(parsed(Operation::Blob, name, digest))
    }

    /// The repository, with its tag or digest.
    fn subject(&self) -> Option<String> {
        let (name, reference) = (self.repository, self.reference);
        match self.operation {
            Operation::Version => None,
            Operation::Tags => Some(name.to_owned()),
            Operation::Manifest if !reference.starts_with("sha256:") => Some(format!("{name}:{reference}")),
            Operation::Manifest | Operation::Blob => Some(format!("{name}@{reference}")),
        }
    }
}

/// Whether a request addresses the registry by a loopback address.
pub(crate) fn is_loopback_request(request: &Request) -> bool {
    let host = request.host_name();
    let address = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<IpAddr>();
    let is_loopback = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
    is_loopback && (request.path == "/v2" || request.path.starts_with("/v2/"))
}

pub(crate) fn identify(request: &Request) -> RequestTarget {
    match RegistryRequest::parse(request) {
        Some(parsed) => RequestTarget::known(Service::Registry, parsed.operation.name(), parsed.subject()),
        None => {
            let operation = format!("{} {}", request.method, request.path);
            RequestTarget::unknown(Service::Registry, operation)
        }
    }
}

/// Responds to a request.
///
/// # Errors
/// The error that the registry returns.
pub(crate) fn respond(instance: &Instance, call: ServiceRequest<'_>) -> Result<Response, ServiceError> {
    let Some(expires) = expiry(instance, call.request) else {
        return Ok(challenge(call.request));
    };
    if call.time.now >= expires || call.time.view == StateView::ExpiredCredentials {
        let message = "Your authorization token has expired. Reauthenticate and try again.";
        return Err(ServiceError::new(403, "DENIED", message));
    }
    if call.time.view == StateView::Stale {
        return Err(ServiceError::new(
            404,
            "NAME_UNKNOWN",
            "The repository does not exist",
        ));
    }
    let Some(parsed) = RegistryRequest::parse(call.request) else {
        let message = "The operation is unsupported.";
        return Err(ServiceError::new(405, "UNSUPPORTED", message));
    };
    let RegistryRequest {
        operation,
        repository: name,
        reference,
    } = parsed;
    if let Some(action) = operation.action() {
        permit(instance, call.endpoint, action, name)?;
    }
    let response = match operation {
        Operation::Version => Response::new(200, "text/plain; charset=utf-8", Bytes::new()),
        Operation::Manifest => manifest(instance, call.endpoint, name, reference)?,
        Operation::Blob => blob(instance, call.endpoint, name, reference)?,
        Operation::Tags => tag_list(&repository(instance, call.endpoint, name)?, name),
    };
    Ok(response.with_header("docker-distribution-api-version", "registry/2.0"))
}

/// A password for the registry. It carries its own proof, so that the fake stores nothing.
#[must_use]
pub(crate) fn password(instance: &Instance, expires: OffsetDateTime) -> Secret {
    let expiration = expires.unix_timestamp();
    let payload = BASE64_STANDARD.encode(
        instance
            .registry_key
            .proof(Purpose::RegistryPassword, &expiration.to_be_bytes()),
    );
    let text = json!({ "payload": payload, "datakey": "", "version": "2", "type": "DATA_KEY", "expiration": expiration });
    Secret::new(BASE64_STANDARD.encode(text.to_string()))
}

/// Expiry of the password in the request; `None` without a password of this account.
fn expiry(instance: &Instance, request: &Request) -> Option<OffsetDateTime> {
    let sent = sent_password(request)?;
    let expires = OffsetDateTime::from_unix_timestamp(expiration(&sent)?).ok()?;
    (password(instance, expires).reveal() == sent).then_some(expires)
}

fn sent_password(request: &Request) -> Option<String> {
    let basic = request.header("authorization")?.strip_prefix("Basic ")?;
    let text = String::from_utf8(BASE64_STANDARD.decode(basic).ok()?).ok()?;
    text.strip_prefix("AWS:").map(ToOwned::to_owned)
}

fn expiration(password: &str) -> Option<i64> {
    let text: Value = serde_json::from_slice(&BASE64_STANDARD.decode(password).ok()?).ok()?;
    text["expiration"].as_i64()
}

fn challenge(request: &Request) -> Response {
    let realm = format!(
        "Basic realm=\"https://{}/\",service=\"ecr.amazonaws.com\"",
        request.host
    );
    let mut response = Response::new(401, "text/plain; charset=utf-8", "Not Authorized\n")
        .with_header("www-authenticate", realm)
        .with_header("docker-distribution-api-version", "registry/2.0");
    response.error = Some(ServiceError::new(401, "UNAUTHORIZED", "Not Authorized"));
    response
}

fn repository<'a>(
    instance: &'a Instance,
    endpoint: &Endpoint,
    name: &str,
) -> Result<Vec<&'a RegistryImage>, ServiceError> {
    let (world, account) = (&instance.world, endpoint.account.as_deref().unwrap_or_default());
    let is_own = account == world.account.as_str() && endpoint.region == world.region.as_str();
    let is_listed = is_own && world.aws.repositories.iter().any(|listed| listed.name == name);
    let scope = if is_listed {
        RegistryScope::OwnAccount
    } else {
        RegistryScope::EveryAccount
    };
    let images = world.images.iter();
    let images: Vec<&RegistryImage> = images
        .filter(|image| image.repository == name && image.scope == scope)
        .collect();
    // A repository exists even without images.
    if is_listed || !images.is_empty() {
        return Ok(images);
    }
    let message =
        format!("The repository with name '{name}' does not exist in the registry with id '{account}'");
    Err(ServiceError::new(404, "NAME_UNKNOWN", message))
}

fn permit(instance: &Instance, endpoint: &Endpoint, action: &str, name: &str) -> Result<(), ServiceError> {
    let (world, account) = (&instance.world, endpoint.account.as_deref().unwrap_or_default());
    let resource = format!(
        "arn:{}:ecr:{}:{account}:repository/{name}",
        world.region.partition(),
        endpoint.region
    );
    // A password does not name its owner; the fake assumes the instance's own role.
    Signer::new(world, &Principal::Instance).permit(Service::Registry, action, &resource)
}

fn manifest(
    instance: &Instance,
    endpoint: &Endpoint,
    name: &str,
    reference: &str,
) -> Result<Response, ServiceError> {
    let images = repository(instance, endpoint, name)?;
    match images.iter().find_map(|image| image.manifest(reference)) {
        Some(manifest) => Ok(content(manifest, &manifest.media_type)),
        None => Err(ServiceError::new(
            404,
            "MANIFEST_UNKNOWN",
            "Requested image not found",
        )),
    }
}

fn blob(
    instance: &Instance,
    endpoint: &Endpoint,
    name: &str,
    digest: &str,
) -> Result<Response, ServiceError> {
    let images = repository(instance, endpoint, name)?;
    match images.iter().find_map(|image| image.blob(digest)) {
        Some(blob) => Ok(content(blob, "application/octet-stream")),
        None => Err(ServiceError::new(404, "BLOB_UNKNOWN", "blob unknown to registry")),
    }
}

fn content(blob: &Blob, media_type: &str) -> Response {
    Response::new(200, media_type, blob.content.clone())
        .with_header("docker-content-digest", blob.digest.clone())
}

fn tag_list(images: &[&RegistryImage], name: &str) -> Response {
    let tags: Vec<&String> = images
        .iter()
        .filter_map(|image| match &image.tags {
            Tags::Any => None,
            Tags::Only(tags) => Some(tags),
        })
        .flatten()
        .collect();
    Response::new(
        200,
        "application/json",
        json!({ "name": name, "tags": tags }).to_string(),
    )
}
