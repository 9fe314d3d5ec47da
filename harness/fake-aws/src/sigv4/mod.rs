//! Signature Version 4, from the server's side: header and query form, checked against an instance's credentials.
//!
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html>
//!
//! | part | module |
//! | --- | --- |
//! | the signature in a request | [`request_signature`] |
//! | the canonical request and its signature | [`canonical`] |
//! | the service's error for an invalid signature | [`error`] |

pub(crate) mod canonical;
pub(crate) mod error;
pub(crate) mod request_signature;

use nodejoin_core::run::secret::Secret;
use time::{Duration, OffsetDateTime};

use crate::clock;
use crate::credentials::{CredentialStore, Credentials};
use crate::http::Request;
use error::SignatureError;
use request_signature::{RequestSignature, SignatureLocation};

/// The longest validity of a presigned URL of S3, in seconds.
const MAX_LIFETIME: i64 = 604_800;
const LONG_LIFETIME: &str = "X-Amz-Expires must be less than a week (in seconds); that is, the given X-Amz-Expires must \
be less than 604800 seconds";
const NO_LIFETIME: &str = "Query-string authentication version 4 requires the X-Amz-Algorithm, X-Amz-Credential, \
X-Amz-Signature, X-Amz-Date, X-Amz-SignedHeaders, and X-Amz-Expires parameters.";

/// A service's requirements for a signature.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SignaturePolicy<'a> {
    /// The service's name in the credential scope.
    pub service: &'a str,
    /// The region in the credential scope.
    pub region: &'a str,
    /// Validity of a signature, and limit of the signer's clock ahead of the server.
    pub window: Duration,
}

/// Checks the signature of a request and returns the credentials of its signer.
///
/// # Errors
/// The first failed check, in the order that AWS uses.
pub(crate) fn verify<'a>(
    request: &Request,
    issued: &'a CredentialStore,
    demand: SignaturePolicy<'_>,
    now: OffsetDateTime,
) -> Result<&'a Credentials, SignatureError> {
    let request_signature = RequestSignature::parse(request)?;
    let credentials = issued
        .find(&request_signature.access_key_id)
        .ok_or(SignatureError::UnknownKey)?;
    let token = request_signature.token.as_ref().map(Secret::reveal);
    check_token(token, credentials)?;
    check_scope(&request_signature, demand)?;
    match request_signature.form == SignatureLocation::Query && demand.service == canonical::S3 {
        true => check_lifetime(&request_signature, demand, now)?,
        false => check_time(&request_signature, demand, now)?,
    }
    check_expiry(credentials, now)?;
    check_signature(request, &request_signature, credentials)?;
    Ok(credentials)
}

pub(crate) fn check_token(token: Option<&str>, credentials: &Credentials) -> Result<(), SignatureError> {
    match token {
        Some(token) if token == credentials.token.reveal() => Ok(()),
        _ => Err(SignatureError::WrongToken),
    }
}

fn check_scope(
    request_signature: &RequestSignature,
    demand: SignaturePolicy<'_>,
) -> Result<(), SignatureError> {
    let scope = &request_signature.scope;
    let problem = if scope.region != demand.region {
        "Credential should be scoped to a valid region. ".to_owned()
    } else if scope.service != demand.service {
        format!(
            "Credential should be scoped to correct service: '{}'. ",
            demand.service
        )
    } else if scope.terminator != "aws4_request" {
        "Credential should be scoped with a valid terminator: 'aws4_request'. ".to_owned()
    } else if !request_signature.date.starts_with(&scope.date) {
        let date = &request_signature.date;
        format!(
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '{}' != '{date}'. ",
            scope.date
        )
    } else {
        return Ok(());
    };
    Err(SignatureError::Scope(problem))
}

fn check_time(
    request_signature: &RequestSignature,
    demand: SignaturePolicy<'_>,
    now: OffsetDateTime,
) -> Result<(), SignatureError> {
    let minutes = demand.window.whole_minutes();
    let (date, written_now) = (&request_signature.date, clock::basic(now));
    if request_signature.time + demand.window < now {
        let limit = clock::basic(now - demand.window);
        return Err(SignatureError::Late(format!(
            "Signature expired: {date} is now earlier than {limit} ({written_now} - {minutes} min.)"
        )));
    }
    if request_signature.time > now + demand.window {
        let limit = clock::basic(now + demand.window);
        return Err(SignatureError::Late(format!(
            "Signature not yet current: {date} is still later than {limit} ({written_now} + {minutes} min.)"
        )));
    }
    Ok(())
}

/// Checks the time of a presigned URL of S3, which alone is valid for the time that it declares.
fn check_lifetime(
    request_signature: &RequestSignature,
    demand: SignaturePolicy<'_>,
    now: OffsetDateTime,
) -> Result<(), SignatureError> {
    let problem = match request_signature.lifetime.as_deref().map(str::parse::<i64>) {
        None => NO_LIFETIME,
        Some(Err(_)) => "X-Amz-Expires should be a number",
        Some(Ok(..0)) => "X-Amz-Expires must be non-negative",
        Some(Ok(seconds)) if seconds > MAX_LIFETIME => LONG_LIFETIME,
        Some(Ok(_)) if request_signature.time > now + demand.window => {
            return Err(SignatureError::Denied("Request is not valid yet".to_owned()));
        }
        Some(Ok(seconds)) if now > request_signature.time + Duration::seconds(seconds) => {
            return Err(SignatureError::expired());
        }
        Some(Ok(_)) => return Ok(()),
    };
    Err(SignatureError::IncompleteQuery(problem.to_owned()))
}

pub(crate) fn check_expiry(credentials: &Credentials, now: OffsetDateTime) -> Result<(), SignatureError> {
    if now >= credentials.expires {
        Err(SignatureError::ExpiredCredentials)
    } else {
        Ok(())
    }
}

fn check_signature(
    request: &Request,
    request_signature: &RequestSignature,
    credentials: &Credentials,
) -> Result<(), SignatureError> {
    if request_signature.form == SignatureLocation::Header
        && !canonical::body_matches(request, request_signature)
    {
        return Err(SignatureError::Mismatch);
    }
    let expected = canonical::signature(request, request_signature, credentials.secret_access_key.reveal());
    if expected == request_signature.signature {
        Ok(())
    } else {
        Err(SignatureError::Mismatch)
    }
}

#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod tests;
