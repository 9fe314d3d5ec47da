//! Requests that the fake does not emulate: the operation in the words of the client, and an error in the format that
//! it reads.

use nodejoin_core::observation::CalledService;

use crate::http::{Request, ServiceError};
use crate::operation::RequestTarget;
use crate::wire::WireFormat;

/// The error code in such a response.
pub(crate) const CODE: &str = "NotEmulated";
/// The namespace of faults that no service of its own defines.
const FAULTS: &str = "http://webservices.amazon.com/AWSFault/2005-15-09";

/// The target of a request to a service that is not emulated.
pub(crate) fn identify(service: CalledService, request: &Request) -> RequestTarget {
    RequestTarget::unknown(service, operation(request))
}

/// The operation: AWS' name where the protocol has one, else method and path.
fn operation(request: &Request) -> String {
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
    } else if ["cloudfront", "route53", "s3-control"].contains(&service) || !request.action().is_empty() {
        WireFormat::Query(FAULTS)
    } else {
        WireFormat::RestJson
    }
}

/// The error for a request with a parameter that the fake does not read.
pub(crate) fn parameter(service: &str, operation: &str, name: &str) -> ServiceError {
    let message = format!(
        "nodejoin does not emulate the parameter {name} of {operation} of {service}: add its answer to `aws.answers`, or \
         list `{service}.{operation}` in `aws.allow` if the call may fail"
    );
    ServiceError::new(501, CODE, message)
}

/// The error. No SDK retries status 501.
pub(crate) fn error(service: &str, operation: &str) -> ServiceError {
    let message = format!(
        "nodejoin does not emulate {operation} of {service}: add its answer to `aws.answers`, or list `{service}.{operation}` \
         in `aws.allow` if the call may fail"
    );
    ServiceError::new(501, CODE, message)
}
