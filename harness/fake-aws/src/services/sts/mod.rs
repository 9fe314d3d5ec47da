//! STS, as `https://sts.REGION.amazonaws.com` and `https://sts.amazonaws.com` answer: the query protocol.
//!
//! | method, path | auth | answer |
//! | --- | --- | --- |
//! | `GET` or `POST /?Action=GetCallerIdentity` | SigV4, header or presigned | who signed |
//! | `AssumeRole` | SigV4, `sts:AssumeRole` and the role's trust | credentials of a session |
//! | `AssumeRoleWithWebIdentity` | a service account's token, unsigned | credentials of a session |
//! | any other action | - | 400 `InvalidAction` |
//!
//! Every answer is JSON where `Accept` asks for it. Real: signatures of both kinds, `x-k8s-aws-id` included; no policy can deny
//! GetCallerIdentity, as on AWS; a session's credentials sign, with its role's policies. Faked: of a web identity's token the
//! issuer, audience and expiry are checked and its signature is not, because the issuer's key belongs to a control plane.

pub mod assume;
mod web_identity;

use nodejoin_core::plan::fault::Service;
use serde_json::{Map, Value, json};

use super::authorize;
use crate::clock::Moment;
use crate::credentials::request_id;
use crate::exchange::{Answer, Request, ServiceError};
use crate::router::Endpoint;
use crate::wire::Shape;
use crate::wire::xml::Xml;
use crate::world::{Instance, Target};

/// The shape of its answers.
pub const SHAPE: Shape = Shape::Query(NAMESPACE);
const NAMESPACE: &str = "https://sts.amazonaws.com/doc/2011-06-15/";

/// What a request asks for; the subject of an assumption is the role's ARN.
#[must_use]
pub fn identify(request: &Request) -> Target {
    let parameters = request.parameters();
    let role = parameters.get("RoleArn").map(ToOwned::to_owned);
    match parameters.get("Action") {
        Some("GetCallerIdentity") => Target::known(Service::Sts, "GetCallerIdentity", None),
        Some("AssumeRole") => Target::known(Service::Sts, "AssumeRole", role),
        Some("AssumeRoleWithWebIdentity") => Target::known(Service::Sts, "AssumeRoleWithWebIdentity", role),
        action => Target::unknown(Service::Sts, action.unwrap_or_default()),
    }
}

/// Whether the caller wants JSON: the authenticator does.
#[must_use]
pub fn wants_json(request: &Request) -> bool {
    request
        .header("accept")
        .is_some_and(|accept| accept.contains("application/json"))
        || request.parameters().get("ContentType") == Some("JSON")
}

/// Answers a request.
///
/// # Errors
/// What STS answers instead.
pub fn answer(
    instance: &mut Instance,
    request: &Request,
    target: &Target,
    endpoint: &Endpoint,
    moment: Moment,
) -> Result<Answer, ServiceError> {
    if !target.known {
        return Err(unknown(&target.operation));
    }
    let result = match target.operation.as_str() {
        "AssumeRole" => assume::role(instance, request, endpoint, moment)?,
        "AssumeRoleWithWebIdentity" => web_identity::assume(instance, request, moment)?,
        _ => {
            let identity = caller_identity(instance, request, endpoint, moment)?;
            Members(vec![
                ("Arn", text(&identity.arn)),
                ("UserId", text(&identity.user_id)),
                ("Account", text(&identity.account)),
            ])
        }
    };
    Ok(result.answer(&target.operation, wants_json(request)))
}

/// Who signed a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerIdentity {
    /// Account id.
    pub account: String,
    /// ARN of the role's session.
    pub arn: String,
    /// User id: the role's unique id and the session's name.
    pub user_id: String,
}

/// Who signed this request.
///
/// # Errors
/// What STS answers to a signature that it refuses.
pub fn caller_identity(
    instance: &Instance,
    request: &Request,
    endpoint: &Endpoint,
    moment: Moment,
) -> Result<CallerIdentity, ServiceError> {
    let caller = authorize::signature(instance, request, endpoint, SHAPE, moment)?;
    Ok(CallerIdentity {
        account: instance.world.account.to_string(),
        arn: caller.arn(),
        user_id: caller.user_id(),
    })
}

fn unknown(action: &str) -> ServiceError {
    if action.is_empty() {
        return ServiceError::new(
            400,
            "MissingAction",
            "The request must contain the parameter Action",
        );
    }
    ServiceError::new(
        400,
        "InvalidAction",
        format!("Could not find operation {action} for version 2011-06-15"),
    )
}

/// The members of a result, in the order in which XML has them.
struct Members(Vec<(&'static str, Member)>);

enum Member {
    Text(String),
    Group(Members),
}

fn text(value: &str) -> Member {
    Member::Text(value.to_owned())
}

impl Members {
    fn answer(&self, operation: &str, as_json: bool) -> Answer {
        let (id, response, result) = (
            request_id(),
            format!("{operation}Response"),
            format!("{operation}Result"),
        );
        if as_json {
            let body =
                json!({ &response: { &result: self.json(), "ResponseMetadata": { "RequestId": id } } });
            return Answer::new(200, "application/json", body.to_string())
                .with_header("x-amzn-requestid", id);
        }
        let body = Xml::new()
            .element(&result, |xml| self.xml(xml))
            .element("ResponseMetadata", |metadata| metadata.text("RequestId", &id))
            .document(&response, Some(NAMESPACE));
        Answer::new(200, "text/xml", body).with_header("x-amzn-requestid", id)
    }

    fn xml(&self, xml: Xml) -> Xml {
        self.0.iter().fold(xml, |xml, (name, member)| match member {
            Member::Text(value) => xml.text(name, value),
            Member::Group(members) => xml.element(name, |inner| members.xml(inner)),
        })
    }

    fn json(&self) -> Value {
        let members = self.0.iter().map(|(name, member)| {
            let value = match member {
                Member::Text(value) => json!(value),
                Member::Group(members) => members.json(),
            };
            ((*name).to_owned(), value)
        });
        Value::Object(members.collect::<Map<_, _>>())
    }
}
