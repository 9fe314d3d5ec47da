//! STS, as `https://sts.REGION.amazonaws.com` and `https://sts.amazonaws.com`: the query protocol.
//!
//! | method, path | auth | response |
//! | --- | --- | --- |
//! | `GET` or `POST /?Action=GetCallerIdentity` | SigV4, header or presigned | the caller |
//! | `AssumeRole` | SigV4, `sts:AssumeRole` and the role's trust | credentials of a session |
//! | `AssumeRoleWithWebIdentity` | a service account's token, unsigned | credentials of a session |
//! | any other action | - | 501 `NotEmulated` |
//!
//! Responses are JSON if `Accept` requests it. Real: both kinds of signatures, `x-k8s-aws-id` included; as on AWS, no
//! policy can deny GetCallerIdentity; a session's credentials sign, with its role's policies. Faked: for a web
//! identity's token, the fake checks issuer, audience and expiry but not the signature, because the issuer's key
//! belongs to a control plane.

mod assume;
mod web_identity;

use nodejoin_core::plan::fault::Service;
use nodejoin_core::vocabulary::operation::{ApiOperation as _, StsOperation as Operation};
use serde_json::{Map, Value, json};

use super::{ServiceRequest, authorize};
use crate::credentials::request_id;
use crate::http::{Request, Response, ServiceError};
use crate::instance::Instance;
use crate::not_emulated;
use crate::operation::RequestTarget;
use crate::wire::xml::Xml;
use crate::wire::{WireFormat, accepts_json};

pub(crate) const WIRE_FORMAT: WireFormat = WireFormat::Query(NAMESPACE);
const NAMESPACE: &str = "https://sts.amazonaws.com/doc/2011-06-15/";

/// The role of the request.
fn subject(operation: Operation, request: &Request) -> Option<String> {
    match operation {
        Operation::AssumeRole | Operation::AssumeRoleWithWebIdentity => {
            request.parameters().get("RoleArn").map(ToOwned::to_owned)
        }
        Operation::GetCallerIdentity => None,
    }
}

pub(crate) fn identify(request: &Request) -> RequestTarget {
    RequestTarget::of_action(Service::Sts, request, |operation: Operation| {
        subject(operation, request)
    })
}

/// Responds to a request.
///
/// # Errors
/// The error that STS returns.
pub(crate) fn respond(instance: &mut Instance, call: ServiceRequest<'_>) -> Result<Response, ServiceError> {
    let ServiceRequest { request, time, .. } = call;
    let action = request.action();
    let operation = Operation::named(&action).ok_or_else(|| unknown(&action))?;
    let mut caller = String::new();
    if let Some(action) = operation.action() {
        let signer = authorize::signature(instance, call, WIRE_FORMAT)?;
        let parameters = request.parameters();
        signer.permit(
            Service::Sts,
            action,
            parameters.get("RoleArn").unwrap_or_default(),
        )?;
        caller = signer.arn();
    }
    let result = match operation {
        Operation::AssumeRole => assume::role(instance, request, &caller, time)?,
        Operation::AssumeRoleWithWebIdentity => web_identity::assume(instance, request, time)?,
        Operation::GetCallerIdentity => {
            let identity = caller_identity(instance, call)?;
            ResultMembers(vec![
                ("Arn", text(&identity.arn)),
                ("UserId", text(&identity.user_id)),
                ("Account", text(&identity.account)),
            ])
        }
    };
    Ok(result.response(operation.name(), accepts_json(request)))
}

/// The response of GetCallerIdentity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerIdentity {
    pub account: String,
    /// ARN of the role's session.
    pub arn: String,
    /// User id: the role's unique id and the session's name.
    pub user_id: String,
}

/// The caller that signed a request.
///
/// # Errors
/// The signature is invalid.
pub(crate) fn caller_identity(
    instance: &Instance,
    call: ServiceRequest<'_>,
) -> Result<CallerIdentity, ServiceError> {
    let signer = authorize::signature(instance, call, WIRE_FORMAT)?;
    Ok(CallerIdentity {
        account: instance.world.account.to_string(),
        arn: signer.arn(),
        user_id: signer.user_id(),
    })
}

fn unknown(action: &str) -> ServiceError {
    if action.is_empty() {
        return ServiceError::missing_action();
    }
    not_emulated::error(Service::Sts.word(), action)
}

/// The members of a result, in the order of the XML elements.
struct ResultMembers(Vec<(&'static str, ResultMember)>);

enum ResultMember {
    Text(String),
    Group(ResultMembers),
}

fn text(value: &str) -> ResultMember {
    ResultMember::Text(value.to_owned())
}

impl ResultMembers {
    fn response(&self, operation: &str, as_json: bool) -> Response {
        let (id, response, result) = (
            request_id(),
            format!("{operation}Response"),
            format!("{operation}Result"),
        );
        if as_json {
            let body =
                json!({ &response: { &result: self.json(), "ResponseMetadata": { "RequestId": id } } });
            return Response::new(200, "application/json", body.to_string())
                .with_header("x-amzn-requestid", id);
        }
        let body = Xml::new()
            .element(&result, |xml| self.xml(xml))
            .element("ResponseMetadata", |metadata| metadata.text("RequestId", &id))
            .document(&response, Some(NAMESPACE));
        Response::new(200, "text/xml", body).with_header("x-amzn-requestid", id)
    }

    fn xml(&self, xml: Xml) -> Xml {
        self.0.iter().fold(xml, |xml, (name, member)| match member {
            ResultMember::Text(value) => xml.text(name, value),
            ResultMember::Group(members) => xml.element(name, |inner| members.xml(inner)),
        })
    }

    fn json(&self) -> Value {
        let members = self.0.iter().map(|(name, member)| {
            let value = match member {
                ResultMember::Text(value) => json!(value),
                ResultMember::Group(members) => members.json(),
            };
            ((*name).to_owned(), value)
        });
        Value::Object(members.collect::<Map<_, _>>())
    }
}
