//! The instance metadata service, as `http://169.254.169.254`.
//!
//! | method, path | auth | response |
//! | --- | --- | --- |
//! | `PUT /latest/api/token` | none | a token; 400 for an invalid TTL; 403 with `X-Forwarded-For` or a dated version |
//! | other methods there | none | 405, `Allow: OPTIONS, PUT` |
//! | `GET`, `HEAD` of any path | token, or none if tokens are optional | see [`metadata`](crate::metadata) |
//! | `GET` of the user data with `Range` | token, or none if tokens are optional | 206, or 416 outside of it |
//! | `GET /` | token, or none if tokens are optional | the version roots |
//! | `GET` of a path with `//` | token, or none if tokens are optional | 301 to the path with `/` |
//! | any, endpoint disabled | - | 403 |
//!
//! Real: token rules, the hop limit of token responses, headers, content types, listings, error pages, categories by
//! version, signatures of the identity document. Faked: the certificates for these signatures
//! ([`identity`](crate::identity)). Sources: EC2 user guide, `instancedata-data-retrieval` and `-data-categories`;
//! recorded traffic of smithy-rs' aws-config.

pub(crate) mod document;
mod path;

use http::Method;
use nodejoin_core::plan::Tokens;
use nodejoin_core::plan::fault::Service;
use time::OffsetDateTime;

use self::path::MetadataPath;
use crate::clock::{self, RequestTime, StateView};
use crate::http::{Request, Response};
use crate::instance::Instance;
use crate::metadata::{Leaf, Lookup, TreeView, VERSIONS};
use crate::operation::RequestTarget;
use crate::wire::pages;

const TOKEN: &str = "x-aws-ec2-metadata-token";
const TTL: &str = "x-aws-ec2-metadata-token-ttl-seconds";
/// Limit of a token's lifetime, in seconds.
const MAX_TTL: u32 = 21_600;

/// Every path is known, even one that does not exist: real clients probe for some of them.
#[must_use]
pub(crate) fn identify(request: &Request) -> RequestTarget {
    RequestTarget::known(
        Service::Imds,
        MetadataPath::parse(&request.path).without_version(),
        None,
    )
}

pub(crate) fn respond(instance: &mut Instance, request: &Request, time: RequestTime) -> Response {
    let mut response = respond_to_path(instance, request, time);
    response.authorization = Some(authorization(request).to_owned());
    response
}

/// The kind of the request's authorization, for the transcript.
#[must_use]
pub(crate) fn authorization(request: &Request) -> &'static str {
    if MetadataPath::parse(&request.path).is_token() {
        "token"
    } else if request.headers.contains_key(TOKEN) {
        "v2"
    } else {
        "v1"
    }
}

fn respond_to_path(instance: &mut Instance, request: &Request, time: RequestTime) -> Response {
    if !instance.world.instance.metadata.enabled {
        return pages::error(403);
    }
    let path = MetadataPath::parse(&request.path);
    if path.is_token() {
        return token(instance, request, &path, time);
    }
    if !matches!(request.method, Method::GET | Method::HEAD) {
        return pages::not_allowed("GET, HEAD, OPTIONS");
    }
    let remaining = match remaining_ttl(instance, request, time.now) {
        Ok(remaining) => remaining,
        Err(status) => return pages::error(status),
    };
    let response = match &path.collapsed {
        Some(location) => pages::moved(&request.host_name(), location),
        None => metadata(instance, request, &path, time),
    };
    match remaining {
        Some(seconds) => response.with_header(TTL, seconds.to_string()),
        None => response,
    }
}

fn token(instance: &Instance, request: &Request, path: &MetadataPath, time: RequestTime) -> Response {
    if request.method != Method::PUT {
        return pages::not_allowed("OPTIONS, PUT");
    }
    if path.version != "latest" || request.headers.contains_key("x-forwarded-for") {
        return pages::error(403);
    }
    let ttl = request
        .header(TTL)
        .and_then(|text| text.trim().parse::<u32>().ok())
        .filter(|ttl| (1..=MAX_TTL).contains(ttl));
    let Some(ttl) = ttl else { return pages::error(400) };
    let token = instance
        .key
        .metadata_token(time.now + ::time::Duration::seconds(i64::from(ttl)));
    let mut response = pages::plain(token).with_header(TTL, ttl.to_string());
    response.hop_limit = Some(instance.world.instance.metadata.hop_limit);
    response
}

/// Remaining lifetime of the request's token in seconds; `None` without a token if tokens are optional. A token must be
/// valid even then. The error is the status of the response.
fn remaining_ttl(instance: &Instance, request: &Request, now: OffsetDateTime) -> Result<Option<i64>, u16> {
    if !request.headers.contains_key(TOKEN) {
        return match instance.world.instance.metadata.tokens {
            Tokens::Optional => Ok(None),
            Tokens::Required => Err(401),
        };
    }
    let expires = request
        .header(TOKEN)
        .and_then(|token| instance.key.token_expiry(token))
        .ok_or(401_u16)?;
    let remaining = expires - now;
    if remaining.is_positive() {
        Ok(Some(remaining.whole_seconds()))
    } else {
        Err(401)
    }
}

fn metadata(instance: &mut Instance, request: &Request, path: &MetadataPath, time: RequestTime) -> Response {
    let modified = clock::http(OffsetDateTime::from(instance.launched));
    if path.version.is_empty() {
        return pages::text(VERSIONS.join("\n"), &modified);
    }
    if !VERSIONS.contains(&path.version.as_str()) {
        return pages::error(404);
    }
    let view = TreeView {
        version: &path.version,
        seconds: time.seconds(),
        without_role: time.view == StateView::Stale,
    };
    match instance.tree.find(view, &path.rest) {
        Lookup::Missing => pages::error(404),
        Lookup::Listing(_) if is_redirected(instance, path) => {
            pages::moved(&request.host_name(), &format!("/{}/{}/", path.version, path.rest))
        }
        Lookup::Listing(names) => pages::text(names.join("\n"), &modified),
        Lookup::Leaf(leaf) => self::leaf(instance, leaf, request, time, &modified),
    }
}

/// Whether the service redirects a directory without its final slash, as it did in the past.
fn is_redirected(instance: &Instance, path: &MetadataPath) -> bool {
    instance.world.instance.metadata.legacy_redirect && !path.rest.is_empty() && !path.rest.ends_with('/')
}

fn leaf(
    instance: &mut Instance,
    leaf: Leaf,
    request: &Request,
    time: RequestTime,
    modified: &str,
) -> Response {
    let now = time.now;
    let text = match leaf {
        Leaf::UserData(bytes) => return pages::user_data(&bytes, request.header("range"), modified),
        Leaf::Text(text) => text,
        Leaf::Credentials => role_credentials(instance, time),
        Leaf::ProfileInfo => document::profile_info(&instance.world, instance.issued.current(now)),
        Leaf::IdentityCredentials => document::credentials(instance.identity.current(now)),
        Leaf::IdentityInfo => document::identity_info(&instance.world, instance.identity.current(now)),
        Leaf::IdentityDocument => document::identity(&instance.world, instance.launched.into()),
        Leaf::IdentitySignature(proof) => document::identity_signature(instance, proof),
        Leaf::Later { form, seconds } => {
            let at = now - time.elapsed + ::time::Duration::seconds_f64(seconds);
            form.replacen("{}", &clock::extended(at), 1)
        }
    };
    pages::text(text, modified)
}

fn role_credentials(instance: &mut Instance, time: RequestTime) -> String {
    if instance.world.instance.metadata.credentials.code != "Success" {
        return document::no_credentials(&instance.world, time.now);
    }
    document::credentials(match time.view {
        StateView::ExpiredCredentials => instance.issued.expired(time.now),
        StateView::Stale | StateView::Current => instance.issued.current(time.now),
    })
}
