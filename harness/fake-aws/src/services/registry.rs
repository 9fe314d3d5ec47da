//! The account's image registry, as `https://ACCOUNT.dkr.ecr.REGION.amazonaws.com` answers: the Docker registry protocol, read-only.
//!
//! | method, path | auth | answer |
//! | --- | --- | --- |
//! | anything | none | 401 with a Basic challenge |
//! | `GET /v2/` | Basic | 200 |
//! | `GET`, `HEAD /v2/NAME/manifests/TAG` | Basic, `ecr:BatchGetImage` | the manifest |
//! | `GET`, `HEAD /v2/NAME/blobs/DIGEST` | Basic, `ecr:GetDownloadUrlForLayer` | the blob; where ECR redirects to S3, this answers itself |
//! | `GET /v2/NAME/tags/list` | Basic | the tags |
//! | anything else | Basic | 405 `UNSUPPORTED` |
//!
//! The images that nodes need stand under every account's name: the pause image comes from an account of EKS' own. Those that the
//! scenario lists are in the account's own registry alone. That one answers by a loopback address, too, which Docker's engine takes
//! for a registry whose certificate need not be known.

use std::net::IpAddr;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::Method;
use nodejoin_core::plan::fault::Service;
use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::clock::{Moment, Twist};
use crate::credentials::{Principal, Purpose};
use crate::exchange::{Answer, Request, ServiceError};
use crate::iam::Caller;
use crate::images::{Blob, Holder, RegistryImage, Tags};
use crate::router::Endpoint;
use crate::secret::Secret;
use crate::world::{Instance, Target};

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ask<'a> {
    Version,
    Manifest { name: &'a str, reference: &'a str },
    Blob { name: &'a str, digest: &'a str },
    TagList { name: &'a str },
    Other,
}

impl<'a> Ask<'a> {
    fn read(request: &'a Request) -> Self {
        let read_only = matches!(request.method, Method::GET | Method::HEAD);
        let Some(rest) = request.path.strip_prefix("/v2").filter(|_| read_only) else {
            return Self::Other;
        };
        let rest = rest.trim_matches('/');
        if rest.is_empty() {
            return Self::Version;
        }
        if let Some(name) = rest.strip_suffix("/tags/list") {
            return Self::TagList { name };
        }
        if let Some((name, reference)) = rest.rsplit_once("/manifests/") {
            return Self::Manifest { name, reference };
        }
        match rest.rsplit_once("/blobs/") {
            Some((name, digest)) => Self::Blob { name, digest },
            None => Self::Other,
        }
    }
}

/// Whether a request is one to the registry, under a loopback address in place of a name.
#[must_use]
pub fn is_asked_at_loopback(request: &Request) -> bool {
    let host = request.host_name();
    let address = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<IpAddr>();
    let is_here = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
    is_here && (request.path == "/v2" || request.path.starts_with("/v2/"))
}

/// What a request asks for; its subject is the repository with its tag or digest.
#[must_use]
pub fn identify(request: &Request) -> Target {
    let known =
        |operation: &str, subject: Option<String>| Target::known(Service::Registry, operation, subject);
    match Ask::read(request) {
        Ask::Version => known("version", None),
        Ask::Manifest { name, reference } if reference.starts_with("sha256:") => {
            known("manifest", Some(format!("{name}@{reference}")))
        }
        Ask::Manifest { name, reference } => known("manifest", Some(format!("{name}:{reference}"))),
        Ask::Blob { name, digest } => known("blob", Some(format!("{name}@{digest}"))),
        Ask::TagList { name } => known("tags", Some(name.to_owned())),
        Ask::Other => Target::unknown(Service::Registry, format!("{} {}", request.method, request.path)),
    }
}

/// Answers a request.
///
/// # Errors
/// What the registry answers instead.
pub fn answer(
    instance: &Instance,
    request: &Request,
    endpoint: &Endpoint,
    moment: Moment,
) -> Result<Answer, ServiceError> {
    let Some(expires) = expiry(instance, request) else {
        return Ok(challenge(request));
    };
    if moment.now >= expires || moment.twist == Twist::ExpiredCredentials {
        let message = "Your authorization token has expired. Reauthenticate and try again.";
        return Err(ServiceError::new(403, "DENIED", message));
    }
    if moment.twist == Twist::Stale {
        return Err(ServiceError::new(
            404,
            "NAME_UNKNOWN",
            "The repository does not exist",
        ));
    }
    let answer = match Ask::read(request) {
        Ask::Version => Answer::new(200, "text/plain; charset=utf-8", Bytes::new()),
        Ask::Manifest { name, reference } => manifest(instance, endpoint, name, reference)?,
        Ask::Blob { name, digest } => blob(instance, endpoint, name, digest)?,
        Ask::TagList { name } => tag_list(&repository(instance, endpoint, name)?, name),
        Ask::Other => {
            return Err(ServiceError::new(
                405,
                "UNSUPPORTED",
                "The operation is unsupported.",
            ));
        }
    };
    Ok(answer.with_header("docker-distribution-api-version", "registry/2.0"))
}

/// A password for the registry. It proves itself, so that nothing has to be remembered.
#[must_use]
pub fn password(instance: &Instance, expires: OffsetDateTime) -> Secret {
    let expiration = expires.unix_timestamp();
    let payload = BASE64_STANDARD.encode(
        instance
            .key
            .proof(Purpose::RegistryPassword, &expiration.to_be_bytes()),
    );
    let text = json!({ "payload": payload, "datakey": "", "version": "2", "type": "DATA_KEY", "expiration": expiration });
    Secret::new(BASE64_STANDARD.encode(text.to_string()))
}

/// When the password that was sent expires; `None` where there is none, or it is not one of this instance's.
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

fn challenge(request: &Request) -> Answer {
    let realm = format!(
        "Basic realm=\"https://{}/\",service=\"ecr.amazonaws.com\"",
        request.host
    );
    let mut answer = Answer::new(401, "text/plain; charset=utf-8", "Not Authorized\n")
        .with_header("www-authenticate", realm)
        .with_header("docker-distribution-api-version", "registry/2.0");
    answer.error = Some(ServiceError::new(401, "UNAUTHORIZED", "Not Authorized"));
    answer
}

fn repository<'a>(
    instance: &'a Instance,
    endpoint: &Endpoint,
    name: &str,
) -> Result<Vec<&'a RegistryImage>, ServiceError> {
    let (world, account) = (&instance.world, endpoint.account.as_deref().unwrap_or_default());
    let is_own = account == world.account.as_str() && endpoint.region == world.region.as_str();
    let is_listed = is_own && world.aws.repositories.iter().any(|listed| listed.name == name);
    let holder = if is_listed {
        Holder::Account
    } else {
        Holder::Everybody
    };
    let images = world.images.iter();
    let images: Vec<&RegistryImage> = images
        .filter(|image| image.repository == name && image.holder == holder)
        .collect();
    // A repository may be there without any image.
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
    // A password says nothing of who got it: it is taken for the instance's own role.
    Caller::new(world, &Principal::Instance).permit(Service::Registry, action, &resource)
}

fn manifest(
    instance: &Instance,
    endpoint: &Endpoint,
    name: &str,
    reference: &str,
) -> Result<Answer, ServiceError> {
    permit(instance, endpoint, "ecr:BatchGetImage", name)?;
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

fn blob(instance: &Instance, endpoint: &Endpoint, name: &str, digest: &str) -> Result<Answer, ServiceError> {
    permit(instance, endpoint, "ecr:GetDownloadUrlForLayer", name)?;
    let images = repository(instance, endpoint, name)?;
    match images.iter().find_map(|image| image.blob(digest)) {
        Some(blob) => Ok(content(blob, "application/octet-stream")),
        None => Err(ServiceError::new(404, "BLOB_UNKNOWN", "blob unknown to registry")),
    }
}

fn content(blob: &Blob, media_type: &str) -> Answer {
    Answer::new(200, media_type, blob.content.clone())
        .with_header("docker-content-digest", blob.digest.clone())
}

fn tag_list(images: &[&RegistryImage], name: &str) -> Answer {
    let tags: Vec<&String> = images
        .iter()
        .filter_map(|image| match &image.tags {
            Tags::Any => None,
            Tags::Only(tags) => Some(tags),
        })
        .flatten()
        .collect();
    Answer::new(
        200,
        "application/json",
        json!({ "name": name, "tags": tags }).to_string(),
    )
}
