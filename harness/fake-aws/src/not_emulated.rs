//! Requests that the fake does not emulate: the operation in the words of the client, and an error in the format that
//! it reads.

use nodejoin_core::observation::CalledService;
pub(crate) use nodejoin_core::vocabulary::not_emulated::CODE;
use nodejoin_core::vocabulary::not_emulated::{operation_message, parameter_message, resource_message};
use serde_json::Value;

use crate::http::{QueryParameters, Request, ServiceError};
use crate::operation::RequestTarget;
use crate::wire::WireFormat;

/// Parameters of every request; those of signatures start with `X-Amz-`.
const COMMON: [&str; 2] = ["Action", "Version"];
const SIGNATURE: &str = "X-Amz-";
/// The namespace of faults that no service of its own defines.
const FAULTS: &str = "http://webservices.amazon.com/AWSFault/2005-15-09";

/// The target of a request to a service that is not emulated.
pub(crate) fn identify(service: CalledService, request: &Request) -> RequestTarget {
    RequestTarget::unknown(service, operation(request))
}

/// The operation: AWS' name where the protocol has one, else method and path.
pub(crate) fn operation(request: &Request) -> String {
    let target = request.header("x-amz-target").unwrap_or_default();
    let of_cbor = || request.path.rsplit_once("/operation/").map(|(_, name)| name);
    let of_target = || target.rsplit_once('.').map(|(_, name)| name);
    match of_target().or_else(of_cbor) {
        Some(name) => name.to_owned(),
        None => match request.action() {
            action if action.is_empty() => format!("{} {}", request.method, request.path),
            action => action,
        },
    }
}

/// The format in which the client reads errors.
pub(crate) fn wire_format(service: &str, request: &Request) -> WireFormat {
    let has = |name: &str| request.header(name).is_some();
    if has("smithy-protocol") {
        WireFormat::Cbor
    } else if has("x-amz-target") {
        let content_type = request.header("content-type").unwrap_or_default();
        match content_type.contains("json-1.0") {
            true => WireFormat::Json10,
            false => WireFormat::Json11,
        }
    } else if ["s3-accesspoint", "s3-object-lambda"].contains(&service) {
        WireFormat::S3
    } else if ["cloudfront", "route53", "s3-control"].contains(&service) || !request.action().is_empty() {
        WireFormat::Query(FAULTS)
    } else {
        WireFormat::RestJson
    }
}

/// The error for a request with a parameter that the fake does not read.
pub(crate) fn parameter(service: &str, operation: &str, name: &str) -> ServiceError {
    ServiceError::new(501, CODE, parameter_message(service, operation, name))
}

/// Checks that an operation reads every parameter of a request. `accepted` has their names without numbers and members.
///
/// # Errors
/// A parameter is not emulated.
pub(crate) fn check_parameters(
    service: &str,
    operation: &str,
    parameters: &QueryParameters,
    accepted: &[&str],
) -> Result<(), ServiceError> {
    let names = parameters.0.iter();
    let mut names = names.map(|(key, _)| key.split('.').next().unwrap_or_default());
    let is_read =
        |name: &str| COMMON.contains(&name) || accepted.contains(&name) || name.starts_with(SIGNATURE);
    match names.find(|name| !is_read(name)) {
        None => Ok(()),
        Some(name) => Err(parameter(service, operation, name)),
    }
}

/// Checks that an operation reads every member of a JSON request.
///
/// # Errors
/// A member is not emulated.
pub(crate) fn check_members(
    service: &str,
    operation: &str,
    body: &Value,
    accepted: &[&str],
) -> Result<(), ServiceError> {
    let mut names = body.as_object().into_iter().flat_map(|members| members.keys());
    match names.find(|name| !accepted.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(parameter(service, operation, name)),
    }
}

/// The error for a change of an instance other than the caller's own.
pub(crate) fn other_instance(id: &str) -> ServiceError {
    let message =
        format!("nodejoin cannot change the instance '{id}': only the instance that sends the request");
    ServiceError::new(501, CODE, message)
}

/// The error for a request to a customer's resource.
pub(crate) fn resource(host: &str, service: &str, operation: &str) -> ServiceError {
    ServiceError::new(501, CODE, resource_message(host, service, operation))
}

/// The error. No SDK retries status 501.
pub(crate) fn error(service: &str, operation: &str) -> ServiceError {
    ServiceError::new(501, CODE, operation_message(service, operation))
}
