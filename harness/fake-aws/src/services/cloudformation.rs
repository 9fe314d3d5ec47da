//! CloudFormation, as `https://cloudformation.REGION.amazonaws.com` answers: the query protocol.
//!
//! | action | auth | answer |
//! | --- | --- | --- |
//! | `SignalResource` | SigV4, or `CFN_V1` with the instance's identity document | accepted; nothing waits for it |
//! | any other | - | 400 `InvalidAction` |

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use nodejoin_core::fault::Service;
use serde_json::json;

use super::imds::document;
use super::{authorize, sts};
use crate::clock::Moment;
use crate::credentials::request_id;
use crate::exchange::{Answer, Request, ServiceError};
use crate::router::Endpoint;
use crate::wire::Shape;
use crate::wire::xml::Xml;
use crate::world::{Instance, Target};

/// The shape of its answers.
pub const SHAPE: Shape = Shape::Query(NAMESPACE);
const NAMESPACE: &str = "http://cloudformation.amazonaws.com/doc/2010-05-15/";

/// What a request asks for: a signal's subject is its resource and status.
#[must_use]
pub fn identify(request: &Request) -> Target {
    let parameters = request.parameters();
    match parameters.get("Action") {
        Some("SignalResource") => {
            let part = |name| parameters.get(name).unwrap_or_default().to_owned();
            let subject = format!(
                "{}/{} {}",
                part("StackName"),
                part("LogicalResourceId"),
                part("Status")
            );
            Target::known(Service::Cloudformation, "SignalResource", Some(subject))
        }
        action => Target::unknown(Service::Cloudformation, action.unwrap_or_default()),
    }
}

/// Answers a request.
///
/// # Errors
/// What CloudFormation answers instead.
pub fn answer(
    instance: &Instance,
    request: &Request,
    target: &Target,
    endpoint: &Endpoint,
    moment: Moment,
) -> Result<Answer, ServiceError> {
    if !target.known {
        let message = format!(
            "Could not find operation {} for version 2010-05-15",
            target.operation
        );
        return Err(ServiceError::new(400, "InvalidAction", message));
    }
    match request
        .header("authorization")
        .and_then(|value| value.strip_prefix("CFN_V1 "))
    {
        Some(proof) => check_identity(instance, proof)?,
        None => authorize::signature(instance, request, endpoint, SHAPE, moment)?,
    }
    check_signal(request)?;
    let id = request_id();
    let body = if sts::wants_json(request) {
        json!({ "SignalResourceResponse": { "ResponseMetadata": { "RequestId": id } } }).to_string()
    } else {
        Xml::new()
            .element("ResponseMetadata", |metadata| metadata.text("RequestId", &id))
            .document("SignalResourceResponse", Some(NAMESPACE))
    };
    let content_type = if sts::wants_json(request) {
        "application/json"
    } else {
        "text/xml"
    };
    Ok(Answer::new(200, content_type, body).with_header("x-amzn-requestid", id))
}

/// `CFN_V1 BASE64(identity document):signature without line ends`, as cfn-signal sends it from an instance without a profile.
fn check_identity(instance: &Instance, proof: &str) -> Result<(), ServiceError> {
    let signature = document::identity_signature(instance, 128).replace('\n', "");
    let document = document::identity(&instance.world, instance.launched.into());
    let expected = format!("{}:{signature}", BASE64_STANDARD.encode(document));
    if proof == expected {
        return Ok(());
    }
    Err(ServiceError::new(
        403,
        "AccessDenied",
        "The instance identity document's signature is not valid",
    ))
}

fn check_signal(request: &Request) -> Result<(), ServiceError> {
    let parameters = request.parameters();
    let invalid = |message: String| Err(ServiceError::new(400, "ValidationError", message));
    for name in ["StackName", "LogicalResourceId", "UniqueId", "Status"] {
        if parameters.get(name).unwrap_or_default().is_empty() {
            let member = format!("{}{}", name[..1].to_ascii_lowercase(), &name[1..]);
            return invalid(format!(
                "1 validation error detected: Value null at '{member}' failed to satisfy constraint: Member must not be null"
            ));
        }
    }
    match parameters.get("Status") {
        Some("SUCCESS" | "FAILURE") => Ok(()),
        status => invalid(format!(
            "1 validation error detected: Value '{}' at 'status' failed to satisfy constraint: Member must satisfy enum value set: [FAILURE, SUCCESS]",
            status.unwrap_or_default()
        )),
    }
}
