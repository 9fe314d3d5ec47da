//! The checks of aws-iam-authenticator on a token before it calls STS, in its order and with its messages.
//!
//! A token is `k8s-aws-v1.` and the unpadded base64url of a presigned `GetCallerIdentity` URL. The order is that of
//! `Verify` in the authenticator's `pkg/token/token.go`: the first check that fails gives the rejection.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use nodejoin_core::observation::{RejectionKind, TokenRejection};
use nodejoin_core::plan::region::{Partition, Region};
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::{Duration, OffsetDateTime, PrimitiveDateTime};
use url::Url;

const PREFIX: &str = "k8s-aws-v1.";
const MAX_TOKEN_LENGTH: usize = 4 * 1024;
const MAX_EXPIRES_SECONDS: i64 = 900;
const VALID: Duration = Duration::minutes(15);
const DATE: &[BorrowedFormatItem<'_>] = format_description!("[year][month][day]T[hour][minute][second]Z");
const ALLOWED: &[&str] = &[
    "action",
    "version",
    "x-amz-algorithm",
    "x-amz-credential",
    "x-amz-date",
    "x-amz-expires",
    "x-amz-security-token",
    "x-amz-signature",
    "x-amz-signedheaders",
];

/// A token that passed all checks before STS. Its `Debug` output omits the signature.
#[derive(Clone, PartialEq, Eq)]
pub struct PresignedUrl {
    url: Url,
    /// The access key that signed it.
    pub access_key_id: String,
}

impl PresignedUrl {
    /// Parses a token. The partition of `region`, the cluster's region, determines the accepted STS endpoints.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn parse(token: &str, region: &Region, now: OffsetDateTime) -> Result<Self, TokenRejection> {
        let url = decode(token)?;
        check_location(&url, region)?;
        let parameters = PresignedQuery::read(&url)?;
        parameters.check(now)?;
        Ok(Self {
            access_key_id: parameters.access_key_id(),
            url,
        })
    }

    /// The URL of the STS request.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }
}

impl fmt::Debug for PresignedUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.url.host_str();
        f.debug_struct("PresignedUrl")
            .field("host", &host)
            .field("access_key_id", &self.access_key_id)
            .finish()
    }
}

/// The access key in a token, even in an otherwise invalid one: it identifies the tenant for the event of a rejection.
#[must_use]
pub fn access_key_id(token: &str) -> Option<String> {
    let url = decode(token).ok()?;
    let (_, credential) = url
        .query_pairs()
        .find(|(name, _)| name.eq_ignore_ascii_case("x-amz-credential"))?;
    credential.split('/').next().map(str::to_owned)
}

fn decode(token: &str) -> Result<Url, TokenRejection> {
    if token.len() > MAX_TOKEN_LENGTH {
        return Err(malformed("token is too large"));
    }
    let encoded = token
        .strip_prefix(PREFIX)
        .ok_or_else(|| malformed(format!("token is missing expected \"{PREFIX}\" prefix")))?;
    let bytes = URL_SAFE_NO_PAD
        .decode(encoded)
        .map_err(|error| malformed(illegal_base64(&error)))?;
    let text = String::from_utf8(bytes).map_err(|_| malformed("parse: invalid UTF-8"))?;
    Url::parse(&text).map_err(|error| malformed(format!("parse: {error}")))
}

fn illegal_base64(error: &base64::DecodeError) -> String {
    match error {
        base64::DecodeError::InvalidByte(at, _) => format!("illegal base64 data at input byte {at}"),
        base64::DecodeError::InvalidLength(length) => format!("illegal base64 data at input byte {length}"),
        _ => "illegal base64 data".to_owned(),
    }
}

fn check_location(url: &Url, region: &Region) -> Result<(), TokenRejection> {
    if url.scheme() != "https" {
        return Err(malformed(format!(
            "unexpected scheme {:?} in pre-signed URL",
            url.scheme()
        )));
    }
    check_host(url.host_str().unwrap_or_default(), region)?;
    if url.path() != "/" {
        return Err(malformed("unexpected path in pre-signed URL"));
    }
    Ok(())
}

/// Accepts hosts of STS: the global one in partition `aws`, and the regional plain, FIPS and dual-stack ones. Like the
/// authenticator, it accepts an unknown region that has the form of the partition's regions.
fn check_host(host: &str, region: &Region) -> Result<(), TokenRejection> {
    let labels: Vec<&str> = host.split('.').collect();
    if labels.len() < 3 {
        return Err(malformed(format!(
            "could not parse region for pre-signed URL {host}, invalid host format: {host}"
        )));
    }
    let unexpected = || malformed(format!("unexpected hostname {host:?} in pre-signed URL"));
    let partition = Partition::of_region_name(region.as_str());
    if host == "sts.amazonaws.com" {
        return match partition.name {
            "aws" => Ok(()),
            name => Err(malformed(format!(
                "global endpoint unsupported in partition {name}"
            ))),
        };
    }
    let theirs = Partition::of_region_name(labels[1]);
    let suffix = labels[2..].join(".");
    let is_sts = matches!(labels[0], "sts" | "sts-fips");
    if !is_sts || ![theirs.dns_suffix, theirs.dual_stack_suffix].contains(&suffix.as_str()) {
        return Err(unexpected());
    }
    if theirs != partition {
        let name = partition.name;
        return Err(malformed(format!(
            "partition {{{name}}} does not support hostname {host}"
        )));
    }
    Ok(())
}

/// The query parameters, with unique lower-case names.
struct PresignedQuery(Vec<(String, String)>);

impl PresignedQuery {
    fn read(url: &Url) -> Result<Self, TokenRejection> {
        check_escapes(url.query().unwrap_or_default())?;
        // A name that is written in two ways is a duplicate; one that is repeated has several values.
        let mut names: Vec<String> = Vec::new();
        for (name, _) in url.query_pairs() {
            let written_otherwise = |seen: &String| seen.eq_ignore_ascii_case(&name) && *seen != name;
            if names.iter().any(written_otherwise) {
                return Err(malformed(format!("duplicate query parameter found: {name:?}")));
            }
            names.push(name.into_owned());
        }
        let mut read: Vec<(String, String)> = Vec::new();
        for (name, value) in url.query_pairs() {
            let lower = name.to_ascii_lowercase();
            if !ALLOWED.contains(&lower.as_str()) {
                return Err(malformed(format!("non-whitelisted query parameter {name:?}")));
            }
            if read.iter().any(|(seen, _)| *seen == lower) {
                return Err(malformed("query parameter with multiple values not supported"));
            }
            read.push((lower, value.into_owned()));
        }
        Ok(Self(read))
    }

    fn check(&self, now: OffsetDateTime) -> Result<(), TokenRejection> {
        let action = self.get("action");
        if action != "GetCallerIdentity" {
            return Err(malformed("unexpected action parameter in pre-signed URL"));
        }
        if !self
            .get("x-amz-signedheaders")
            .split(';')
            .any(|header| header.eq_ignore_ascii_case("x-k8s-aws-id"))
        {
            return Err(malformed(
                "client did not sign the x-k8s-aws-id header in the pre-signed URL",
            ));
        }
        let expires: i64 = self
            .get("x-amz-expires")
            .parse()
            .map_err(|_| malformed("invalid X-Amz-Expires parameter in pre-signed URL: 0"))?;
        if !(0..=MAX_EXPIRES_SECONDS).contains(&expires) {
            return Err(malformed(format!(
                "invalid X-Amz-Expires parameter in pre-signed URL: {expires}"
            )));
        }
        check_date(self.get("x-amz-date"), now)
    }

    fn get(&self, name: &str) -> &str {
        self.0
            .iter()
            .find(|(seen, _)| seen == name)
            .map_or("", |(_, value)| value)
    }

    fn access_key_id(&self) -> String {
        self.get("x-amz-credential")
            .split('/')
            .next()
            .unwrap_or_default()
            .to_owned()
    }
}

/// A token expires 15 minutes after its date; `X-Amz-Expires` does not matter.
fn check_date(date: &str, now: OffsetDateTime) -> Result<(), TokenRejection> {
    if date.is_empty() {
        return Err(malformed(
            "X-Amz-Date parameter must be present in pre-signed URL",
        ));
    }
    let signed = PrimitiveDateTime::parse(date, DATE)
        .map_err(|_| {
            malformed(format!(
                "error parsing X-Amz-Date parameter {date} into format 20060102T150405Z: {}",
                parse_error(date)
            ))
        })?
        .assume_utc();
    if now > signed + VALID {
        let (minutes, signed) = (VALID.whole_minutes(), printed(signed));
        let reason = format!("X-Amz-Date parameter is expired ({minutes} minute expiration) {signed}");
        return Err(format_error(RejectionKind::Expired, &reason));
    }
    Ok(())
}

/// The error of Go's `time.Parse` for the first element of the layout that does not match.
fn parse_error(date: &str) -> String {
    const LAYOUT: &str = "20060102T150405Z";
    // Elements with their number of digits, 0 for a letter, and what is out of range from a number on. The days depend
    // on the month.
    const ELEMENTS: [(&str, usize, &str, u16); 8] = [
        ("2006", 4, "year", 10_000),
        ("01", 2, "month", 13),
        ("02", 2, "day", 32),
        ("T", 0, "", 0),
        ("15", 2, "hour", 24),
        ("04", 2, "minute", 60),
        ("05", 2, "second", 60),
        ("Z", 0, "", 0),
    ];
    let mut rest = date;
    for (element, digits, name, end) in ELEMENTS {
        let matches = match digits {
            0 => rest.starts_with(element),
            digits => rest.len() >= digits && rest.bytes().take(digits).all(|byte| byte.is_ascii_digit()),
        };
        if !matches {
            return format!("parsing time {date:?} as {LAYOUT:?}: cannot parse {rest:?} as {element:?}");
        }
        let (value, after) = rest.split_at(digits.max(1));
        if value.parse().is_ok_and(|value: u16| value >= end) {
            return format!("parsing time {date:?}: {name} out of range");
        }
        rest = after;
    }
    match rest {
        "" => format!("parsing time {date:?}: day out of range"),
        rest => format!("parsing time {date:?}: extra text: {rest:?}"),
    }
}

/// A time as Go prints it, such as `2026-11-21 18:47:44 +0000 UTC`.
fn printed(time: OffsetDateTime) -> String {
    const FORMAT: &[BorrowedFormatItem<'_>] =
        format_description!("[year]-[month]-[day] [hour]:[minute]:[second] +0000 UTC");
    time.format(FORMAT).unwrap_or_else(|_| time.to_string())
}

fn check_escapes(query: &str) -> Result<(), TokenRejection> {
    let bytes = query.as_bytes();
    let is_hex = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_hexdigit);
    let broken =
        (0..bytes.len()).any(|index| bytes[index] == b'%' && !(is_hex(index + 1) && is_hex(index + 2)));
    if broken {
        Err(malformed("malformed query parameter"))
    } else {
        Ok(())
    }
}

fn malformed(reason: impl AsRef<str>) -> TokenRejection {
    format_error(RejectionKind::Malformed, reason.as_ref())
}

fn format_error(kind: RejectionKind, reason: &str) -> TokenRejection {
    TokenRejection::new(kind, format!("input token was not properly formatted: {reason}"))
}

#[cfg(test)]
mod tests;
