//! Signature Version 4, from the server's side: header and query form, checked against the credentials an instance got.
//!
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html>
//!
//! | part | where |
//! | --- | --- |
//! | what was signed, read from a request | [`signed`] |
//! | the canonical request and its signature | [`canonical`] |
//! | a refusal in the service's own words | [`refusal`] |

pub mod canonical;
pub mod refusal;
pub mod signed;

use time::{Duration, OffsetDateTime};

use crate::clock;
use crate::credentials::{Credentials, Issued};
use crate::exchange::Request;
use refusal::Refusal;
use signed::{Form, Signed};

/// What a service demands of a signature.
#[derive(Debug, Clone, Copy)]
pub struct Demand<'a> {
    /// The service's name in the credential scope.
    pub service: &'static str,
    /// The region in the credential scope.
    pub region: &'a str,
    /// How long a signature is valid, and how far ahead of the server its clock may be.
    pub window: Duration,
}

/// Checks the signature of a request and tells the credentials that made it.
///
/// # Errors
/// The first thing that does not hold, in the order in which AWS is seen to check.
pub fn verify<'a>(
    request: &Request,
    issued: &'a Issued,
    demand: Demand<'_>,
    now: OffsetDateTime,
) -> Result<&'a Credentials, Refusal> {
    let signed = Signed::read(request)?;
    let credentials = issued.find(&signed.access_key_id).ok_or(Refusal::UnknownKey)?;
    check_token(&signed, credentials)?;
    check_scope(&signed, demand)?;
    check_time(&signed, demand, now)?;
    check_expiry(credentials, now)?;
    check_signature(request, &signed, credentials)?;
    Ok(credentials)
}

fn check_token(signed: &Signed, credentials: &Credentials) -> Result<(), Refusal> {
    match &signed.token {
        Some(token) if token == &credentials.token => Ok(()),
        _ => Err(Refusal::WrongToken),
    }
}

fn check_scope(signed: &Signed, demand: Demand<'_>) -> Result<(), Refusal> {
    let scope = &signed.scope;
    let problem = if scope.region != demand.region {
        "Credential should be scoped to a valid region. ".to_owned()
    } else if scope.service != demand.service {
        format!(
            "Credential should be scoped to correct service: '{}'. ",
            demand.service
        )
    } else if scope.terminator != "aws4_request" {
        "Credential should be scoped with a valid terminator: 'aws4_request'. ".to_owned()
    } else if !signed.date.starts_with(&scope.date) {
        let date = &signed.date;
        format!(
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '{}' != '{date}'. ",
            scope.date
        )
    } else {
        return Ok(());
    };
    Err(Refusal::Scope(problem))
}

fn check_time(signed: &Signed, demand: Demand<'_>, now: OffsetDateTime) -> Result<(), Refusal> {
    let minutes = demand.window.whole_minutes();
    let (date, written_now) = (&signed.date, clock::basic(now));
    if signed.time + demand.window < now {
        let limit = clock::basic(now - demand.window);
        return Err(Refusal::Late(format!(
            "Signature expired: {date} is now earlier than {limit} ({written_now} - {minutes} min.)"
        )));
    }
    if signed.time > now + demand.window {
        let limit = clock::basic(now + demand.window);
        return Err(Refusal::Late(format!(
            "Signature not yet current: {date} is still later than {limit} ({written_now} + {minutes} min.)"
        )));
    }
    Ok(())
}

fn check_expiry(credentials: &Credentials, now: OffsetDateTime) -> Result<(), Refusal> {
    if now >= credentials.expires {
        Err(Refusal::ExpiredCredentials)
    } else {
        Ok(())
    }
}

fn check_signature(request: &Request, signed: &Signed, credentials: &Credentials) -> Result<(), Refusal> {
    if signed.form == Form::Header && !canonical::body_matches(request) {
        return Err(Refusal::Signature);
    }
    let expected = canonical::signature(request, signed, credentials.secret_access_key.reveal());
    if expected == signed.signature {
        Ok(())
    } else {
        Err(Refusal::Signature)
    }
}

#[cfg(test)]
mod tests;
