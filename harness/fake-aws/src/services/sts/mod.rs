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
mod result;
mod web_identity;

use nodejoin_core::plan::fault::Service;
use nodejoin_core::vocabulary::operation::{ApiOperation as _, StsOperation as Operation};

use self::result::{NAMESPACE, ResultMembers, text};
use super::{ServiceRequest, authorize};
use crate::http::{Request, Response, ServiceError};
use crate::instance::Instance;
use crate::not_emulated;
use crate::operation::RequestTarget;
use crate::wire::{WireFormat, accepts_json};

pub(crate) const WIRE_FORMAT: WireFormat = WireFormat::Query(NAMESPACE);

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
