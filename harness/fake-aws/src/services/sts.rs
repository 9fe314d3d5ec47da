//! STS, as `https://sts.REGION.amazonaws.com` and `https://sts.amazonaws.com` answer: the query protocol.
//!
//! | method, path | auth | answer |
//! | --- | --- | --- |
//! | `GET` or `POST /?Action=GetCallerIdentity` | SigV4, header or presigned | the role's session; JSON where `Accept` asks for it |
//! | any other action | - | 400 `InvalidAction` |
//!
//! Real: signatures of both kinds, `x-k8s-aws-id` included; no policy can deny GetCallerIdentity, as on AWS.

use nodejoin_core::fault::Service;
use serde_json::json;

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

/// What a request asks for.
#[must_use]
pub fn identify(request: &Request) -> Target {
    match request.parameters().get("Action") {
        Some("GetCallerIdentity") => Target::known(Service::Sts, "GetCallerIdentity", None),
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
    instance: &Instance,
    request: &Request,
    target: &Target,
    endpoint: &Endpoint,
    moment: Moment,
) -> Result<Answer, ServiceError> {
    if !target.known {
        return Err(unknown(&target.operation));
    }
    let identity = caller_identity(instance, request, endpoint, moment)?;
    Ok(if wants_json(request) {
        written_as_json(&identity)
    } else {
        written_as_xml(&identity)
    })
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
    authorize::signature(instance, request, endpoint, SHAPE, moment)?;
    let world = &instance.world;
    Ok(CallerIdentity {
        account: world.account.to_string(),
        arn: world.session_arn().unwrap_or_default(),
        user_id: world.session_user_id().unwrap_or_default(),
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

fn written_as_json(identity: &CallerIdentity) -> Answer {
    let id = request_id();
    let body = json!({ "GetCallerIdentityResponse": {
        "GetCallerIdentityResult": { "Account": identity.account, "Arn": identity.arn, "UserId": identity.user_id },
        "ResponseMetadata": { "RequestId": id },
    }});
    Answer::new(200, "application/json", body.to_string()).with_header("x-amzn-requestid", id)
}

fn written_as_xml(identity: &CallerIdentity) -> Answer {
    let id = request_id();
    let body = Xml::new()
        .element("GetCallerIdentityResult", |result| {
            result
                .text("Arn", &identity.arn)
                .text("UserId", &identity.user_id)
                .text("Account", &identity.account)
        })
        .element("ResponseMetadata", |metadata| metadata.text("RequestId", &id))
        .document("GetCallerIdentityResponse", Some(NAMESPACE));
    Answer::new(200, "text/xml", body).with_header("x-amzn-requestid", id)
}
