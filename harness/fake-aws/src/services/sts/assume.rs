//! AssumeRole, and the sessions that AssumeRoleWithWebIdentity also opens.

use nodejoin_core::plan::aws::Trust;
use time::Duration;

use super::result::{ResultMember, ResultMembers, text};
use crate::arn;
use crate::clock::{self, RequestTime};
use crate::credentials::{Credentials, Principal, unique_id};
use crate::http::{QueryParameters, Request, ServiceError};
use crate::instance::Instance;
use crate::world::World;

/// The session that a request assumes.
pub(super) struct Session {
    role: String,
    arn: String,
    name: String,
    lifetime: Duration,
}

/// AssumeRole, after the caller's permission is checked.
pub(super) fn role(
    instance: &mut Instance,
    request: &Request,
    caller: &str,
    time: RequestTime,
) -> Result<ResultMembers, ServiceError> {
    let parameters = request.parameters();
    let arn = parameters.get("RoleArn").unwrap_or_default();
    let refused = || {
        let sentence =
            format!("User: {caller} is not authorized to perform: sts:AssumeRole on resource: {arn}");
        ServiceError::new(403, "AccessDenied", sentence)
    };
    let session = session(&instance.world, &parameters, Trust::Account)?.ok_or_else(refused)?;
    Ok(ResultMembers(session.open(instance, time)))
}

/// The requested session; `None` if the role does not exist or does not trust the caller, which STS does not
/// distinguish.
pub(super) fn session(
    world: &World,
    parameters: &QueryParameters,
    trust: Trust,
) -> Result<Option<Session>, ServiceError> {
    let arn = required(parameters, "RoleArn")?;
    let name = required(parameters, "RoleSessionName")?;
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_+=,.@-".contains(&byte);
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
        .find(|role| world.other_role_arn(role) == arn);
    let role = role.filter(|role| role.trusts == trust);
    Ok(role.map(|role| Session {
        role: arn::without_path(&role.name).to_owned(),
        arn: arn.to_owned(),
        name: name.to_owned(),
        lifetime,
    }))
}

fn required<'a>(parameters: &'a QueryParameters, name: &str) -> Result<&'a str, ServiceError> {
    let value = parameters.get(name).filter(|value| !value.is_empty());
    value.ok_or_else(|| {
        let member = format!("{}{}", name[..1].to_ascii_lowercase(), &name[1..]);
        invalid(&format!(
            "Value null at '{member}' failed to satisfy constraint: Member must not be null"
        ))
    })
}

/// `DurationSeconds`: 15 minutes to 12 hours; default: one hour.
fn lifetime(parameters: &QueryParameters) -> Result<Duration, ServiceError> {
    let Some(text) = parameters.get("DurationSeconds") else {
        return Ok(Duration::hours(1));
    };
    let seconds = text
        .parse()
        .ok()
        .filter(|seconds| (900..=43_200).contains(seconds));
    let seconds = seconds.ok_or_else(|| {
        let constraint = "Member must have value greater than or equal to 900";
        invalid(&format!(
            "Value '{text}' at 'durationSeconds' failed to satisfy constraint: {constraint}"
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
    /// Issues the session's credentials and returns the members of STS' response.
    pub(super) fn open(
        self,
        instance: &mut Instance,
        time: RequestTime,
    ) -> Vec<(&'static str, ResultMember)> {
        let principal = Principal::Assumed {
            role: self.role.clone(),
            session: self.name.clone(),
        };
        let world = &instance.world;
        let arn = arn::session(&world.region, &world.account, &self.role, &self.name);
        let id = format!("{}:{}", unique_id("AROA", &self.arn), self.name);
        let credentials = instance.issued.assume(principal, self.lifetime, time.now);
        let user = ResultMembers(vec![("AssumedRoleId", text(&id)), ("Arn", text(&arn))]);
        vec![
            ("AssumedRoleUser", ResultMember::Group(user)),
            (
                "Credentials",
                ResultMember::Group(credential_members(credentials)),
            ),
        ]
    }
}

fn credential_members(credentials: &Credentials) -> ResultMembers {
    ResultMembers(vec![
        ("AccessKeyId", text(&credentials.access_key_id)),
        ("SecretAccessKey", text(credentials.secret_access_key.reveal())),
        ("SessionToken", text(credentials.token.reveal())),
        ("Expiration", text(&clock::extended(credentials.expires))),
    ])
}
