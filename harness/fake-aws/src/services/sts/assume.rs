//! AssumeRole, and what it shares with AssumeRoleWithWebIdentity.

use nodejoin_core::plan::aws::Trust;
use nodejoin_core::plan::fault::Service;
use time::Duration;

use super::{Member, Members, text};
use crate::clock::{self, Moment};
use crate::credentials::{Credentials, Principal, unique_id};
use crate::exchange::{Parameters, Request, ServiceError};
use crate::iam;
use crate::router::Endpoint;
use crate::services::authorize;
use crate::world::{Instance, World};

/// What is asked for.
pub(super) struct Session {
    role: String,
    arn: String,
    name: String,
    lifetime: Duration,
}

/// AssumeRole.
pub(super) fn role(
    instance: &mut Instance,
    request: &Request,
    endpoint: &Endpoint,
    moment: Moment,
) -> Result<Members, ServiceError> {
    let caller = authorize::signature(instance, request, endpoint, super::SHAPE, moment)?;
    let parameters = request.parameters();
    let arn = parameters.get("RoleArn").unwrap_or_default();
    caller.permit(Service::Sts, "sts:AssumeRole", arn)?;
    let refused = || {
        let sentence = format!(
            "User: {} is not authorized to perform: sts:AssumeRole on resource: {arn}",
            caller.arn()
        );
        ServiceError::new(403, "AccessDenied", sentence)
    };
    let session = session(&instance.world, &parameters, Trust::Account)?.ok_or_else(refused)?;
    Ok(Members(session.open(instance, moment)))
}

/// The session that is asked for; `None` where there is no such role or it does not trust the caller: STS tells neither from the
/// other.
pub(super) fn session(
    world: &World,
    parameters: &Parameters,
    trust: Trust,
) -> Result<Option<Session>, ServiceError> {
    let arn = required(parameters, "RoleArn")?;
    let name = required(parameters, "RoleSessionName")?;
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_=,.@-".contains(&byte);
    if !(2..=64).contains(&name.len()) || !name.bytes().all(is_word) {
        let constraint = "Member must satisfy regular expression pattern: [\\w+=,.@-]*";
        return Err(invalid(&format!(
            "Value '{name}' at 'roleSessionName' failed to satisfy constraint: {constraint}"
        )));
    }
    let lifetime = lifetime(parameters)?;
    let role = world
        .aws
        .roles
        .iter()
        .find(|role| iam::role_arn(world, role) == arn);
    let role = role.filter(|role| role.trusts == trust);
    Ok(role.map(|role| Session {
        role: iam::bare_name(&role.name).to_owned(),
        arn: arn.to_owned(),
        name: name.to_owned(),
        lifetime,
    }))
}

fn required<'a>(parameters: &'a Parameters, name: &str) -> Result<&'a str, ServiceError> {
    let value = parameters.get(name).filter(|value| !value.is_empty());
    value.ok_or_else(|| {
        let member = format!("{}{}", name[..1].to_ascii_lowercase(), &name[1..]);
        invalid(&format!(
            "Value null at '{member}' failed to satisfy constraint: Member must not be null"
        ))
    })
}

/// `DurationSeconds`: 15 minutes to 12 hours, an hour where absent.
fn lifetime(parameters: &Parameters) -> Result<Duration, ServiceError> {
    let Some(asked) = parameters.get("DurationSeconds") else {
        return Ok(Duration::hours(1));
    };
    let seconds = asked
        .parse()
        .ok()
        .filter(|seconds| (900..=43_200).contains(seconds));
    let seconds = seconds.ok_or_else(|| {
        let constraint = "Member must have value greater than or equal to 900";
        invalid(&format!(
            "Value '{asked}' at 'durationSeconds' failed to satisfy constraint: {constraint}"
        ))
    });
    seconds.map(Duration::seconds)
}

fn invalid(problem: &str) -> ServiceError {
    ServiceError::new(
        400,
        "ValidationError",
        format!("1 validation error detected: {problem}"),
    )
}

impl Session {
    /// Makes the session's credentials, and tells them as STS does.
    pub(super) fn open(self, instance: &mut Instance, moment: Moment) -> Vec<(&'static str, Member)> {
        let principal = Principal::Assumed {
            role: self.role.clone(),
            session: self.name.clone(),
        };
        let arn = iam::session_arn(&instance.world, &self.role, &self.name);
        let id = format!("{}:{}", unique_id("AROA", &self.arn), self.name);
        let credentials = instance.issued.assume(principal, self.lifetime, moment.now);
        let user = Members(vec![("AssumedRoleId", text(&id)), ("Arn", text(&arn))]);
        vec![
            ("AssumedRoleUser", Member::Group(user)),
            ("Credentials", Member::Group(written(credentials))),
        ]
    }
}

fn written(credentials: &Credentials) -> Members {
    Members(vec![
        ("AccessKeyId", text(&credentials.access_key_id)),
        ("SecretAccessKey", text(credentials.secret_access_key.reveal())),
        ("SessionToken", text(credentials.token.reveal())),
        ("Expiration", text(&clock::extended(credentials.expires))),
    ])
}
