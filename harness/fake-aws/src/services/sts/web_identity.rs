//! AssumeRoleWithWebIdentity: a service account's token replaces the signature.

use nodejoin_core::plan::aws::Trust;
use serde_json::Value;

use super::assume;
use super::result::{ResultMembers, text};
use crate::clock::RequestTime;
use crate::http::{Request, ServiceError};
use crate::instance::Instance;
use crate::services::service_account_token as token;

/// The audience of tokens for STS.
const AUDIENCE: &str = "sts.amazonaws.com";

pub(super) fn assume(
    instance: &mut Instance,
    request: &Request,
    time: RequestTime,
) -> Result<ResultMembers, ServiceError> {
    let parameters = request.parameters();
    let claims = token::claims(parameters.get("WebIdentityToken").unwrap_or_default());
    let claims = claims.ok_or_else(|| {
        invalid(
            "The ID Token provided is not a valid JWT. (You may see this error if you sent an Access Token)",
        )
    })?;
    let issuer = instance.world.oidc_issuer();
    check(&claims, &issuer, time)?;
    let denied = || {
        let message = "Not authorized to perform sts:AssumeRoleWithWebIdentity";
        ServiceError::new(403, "AccessDenied", message)
    };
    let session = assume::session(&instance.world, &parameters, Trust::ServiceAccounts)?;
    let mut members = vec![
        (
            "SubjectFromWebIdentityToken",
            text(claims["sub"].as_str().unwrap_or_default()),
        ),
        ("Audience", text(AUDIENCE)),
        ("Provider", text(issuer.trim_start_matches("https://"))),
    ];
    members.extend(session.ok_or_else(denied)?.open(instance, time));
    Ok(ResultMembers(members))
}

fn check(claims: &Value, issuer: &str, time: RequestTime) -> Result<(), ServiceError> {
    let claimed = claims["iss"].as_str().unwrap_or_default();
    if claimed != issuer {
        let message = format!("No OpenIDConnect provider found in your account for {claimed}");
        return Err(invalid(&message));
    }
    if !token::has_audience(claims, AUDIENCE) {
        return Err(invalid("Incorrect token audience"));
    }
    let (expires, now) = (claims["exp"].as_i64().unwrap_or(0), time.now.unix_timestamp());
    if expires <= now {
        let message = format!(
            "Token expired: current date/time {now} must be before the expiration date/time {expires}"
        );
        return Err(ServiceError::new(400, "ExpiredTokenException", message));
    }
    Ok(())
}

fn invalid(message: &str) -> ServiceError {
    ServiceError::new(400, "InvalidIdentityToken", message)
}
