//! The instance metadata service, as `http://169.254.169.254` answers.
//!
//! | method, path | auth | answer |
//! | --- | --- | --- |
//! | `PUT /latest/api/token` | none | a session token; 400 without a TTL of 1 to 21600; 403 with `X-Forwarded-For` or under a dated version |
//! | other methods there | none | 405, `Allow: OPTIONS, PUT` |
//! | `GET`, `HEAD` of anything | token, or none where tokens are optional | see [`tree`] |
//! | `GET /` | as above | the version roots |
//! | `GET` with `//` inside | as above | 301 to the path without it |
//! | anything, endpoint disabled | - | 403 |
//!
//! Real: token rules, the hop limit of their answers, headers, content types, listings, error pages, categories by version,
//! signatures of the identity document. Faked: the certificates that they verify by ([`identity`](crate::identity)).
//! Sources: EC2 user guide, `instancedata-data-retrieval` and `-data-categories`; recorded traffic of smithy-rs' aws-config.

pub mod document;
mod network;
pub mod pages;
pub mod path;
pub mod tree;

use http::Method;
use nodejoin_core::plan::Tokens;
use nodejoin_core::plan::fault::Service;
use time::OffsetDateTime;

use self::path::MetadataPath;
use self::tree::{Found, Leaf, View};
use crate::clock::{self, Moment, Twist};
use crate::exchange::{Answer, Request};
use crate::world::{Instance, Target};

const TOKEN: &str = "x-aws-ec2-metadata-token";
const TTL: &str = "x-aws-ec2-metadata-token-ttl-seconds";
const LONGEST_TTL: u32 = 21_600;

/// What a request asks for. Paths that do not exist are known: real clients probe for them.
#[must_use]
pub fn identify(request: &Request) -> Target {
    Target::known(
        Service::Imds,
        MetadataPath::parse(&request.path).without_version(),
        None,
    )
}

/// Answers a request.
pub fn answer(instance: &mut Instance, request: &Request, moment: Moment) -> Answer {
    let mut answer = respond(instance, request, moment);
    answer.authorization = Some(authorization(request).to_owned());
    answer
}

/// How the caller proved itself, for the transcript.
#[must_use]
pub fn authorization(request: &Request) -> &'static str {
    if MetadataPath::parse(&request.path).is_token() {
        "token"
    } else if request.headers.contains_key(TOKEN) {
        "v2"
    } else {
        "v1"
    }
}

fn respond(instance: &mut Instance, request: &Request, moment: Moment) -> Answer {
    if !instance.world.instance.metadata.enabled {
        return pages::error(403);
    }
    let path = MetadataPath::parse(&request.path);
    if path.is_token() {
        return token(instance, request, &path, moment);
    }
    if !matches!(request.method, Method::GET | Method::HEAD) {
        return pages::not_allowed("GET, HEAD, OPTIONS");
    }
    let remaining = match remaining_ttl(instance, request, moment.now) {
        Ok(remaining) => remaining,
        Err(status) => return pages::error(status),
    };
    let answer = match &path.collapsed {
        Some(location) => pages::moved(&request.host_name(), location),
        None => metadata(instance, &request.host_name(), &path, moment),
    };
    match remaining {
        Some(seconds) => answer.with_header(TTL, seconds.to_string()),
        None => answer,
    }
}

fn token(instance: &Instance, request: &Request, path: &MetadataPath, moment: Moment) -> Answer {
    if request.method != Method::PUT {
        return pages::not_allowed("OPTIONS, PUT");
    }
    if path.version != "latest" || request.headers.contains_key("x-forwarded-for") {
        return pages::error(403);
    }
    let ttl = request
        .header(TTL)
        .and_then(|text| text.trim().parse::<u32>().ok())
        .filter(|ttl| (1..=LONGEST_TTL).contains(ttl));
    let Some(ttl) = ttl else { return pages::error(400) };
    let token = instance
        .key
        .metadata_token(moment.now + time::Duration::seconds(i64::from(ttl)));
    let mut answer = pages::plain(token).with_header(TTL, ttl.to_string());
    answer.hops = Some(instance.world.instance.metadata.hop_limit);
    answer
}

/// Seconds that the request's token still has; `None` where the request has none and needs none. A token that is sent must be
/// right even where none is needed.
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

fn metadata(instance: &mut Instance, host: &str, path: &MetadataPath, moment: Moment) -> Answer {
    let modified = clock::http(OffsetDateTime::from(instance.launched));
    if path.version.is_empty() {
        return pages::text(tree::VERSIONS.join("\n"), &modified);
    }
    if !tree::VERSIONS.contains(&path.version.as_str()) {
        return pages::error(404);
    }
    let view = View {
        version: &path.version,
        seconds: moment.seconds(),
        without_role: moment.twist == Twist::Stale,
    };
    match instance.tree.find(view, &path.rest) {
        Found::Nothing => pages::error(404),
        Found::Listing(_) if is_redirected(instance, path) => {
            pages::moved(host, &format!("/{}/{}/", path.version, path.rest))
        }
        Found::Listing(names) => pages::text(names.join("\n"), &modified),
        Found::Leaf(leaf) => self::leaf(instance, leaf, moment, &modified),
    }
}

/// Folders without their final slash were redirected once.
fn is_redirected(instance: &Instance, path: &MetadataPath) -> bool {
    instance.world.instance.metadata.legacy_redirect && !path.rest.is_empty() && !path.rest.ends_with('/')
}

fn leaf(instance: &mut Instance, leaf: Leaf, moment: Moment, modified: &str) -> Answer {
    let now = moment.now;
    let text = match leaf {
        Leaf::UserData(bytes) => return pages::user_data(bytes, modified),
        Leaf::Text(text) => text,
        Leaf::Credentials => role_credentials(instance, moment),
        Leaf::ProfileInfo => document::profile_info(&instance.world, instance.issued.current(now)),
        Leaf::IdentityCredentials => document::credentials(instance.identity.current(now)),
        Leaf::IdentityInfo => document::identity_info(&instance.world, instance.identity.current(now)),
        Leaf::IdentityDocument => document::identity(&instance.world, instance.launched.into()),
        Leaf::IdentitySignature(proof) => document::identity_signature(instance, proof),
        Leaf::Later { form, seconds } => {
            let at = now - moment.elapsed + time::Duration::seconds_f64(seconds);
            form.replacen("{}", &clock::extended(at), 1)
        }
    };
    pages::text(text, modified)
}

fn role_credentials(instance: &mut Instance, moment: Moment) -> String {
    if instance.world.instance.metadata.credentials.code != "Success" {
        return document::no_credentials(&instance.world, moment.now);
    }
    document::credentials(match moment.twist {
        Twist::ExpiredCredentials => instance.issued.expired(moment.now),
        Twist::Stale | Twist::None => instance.issued.current(moment.now),
    })
}
