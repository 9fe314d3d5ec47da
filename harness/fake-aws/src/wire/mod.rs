//! The wire protocols of AWS: responses and errors in each format.

pub(crate) mod cbor;
pub(crate) mod defaults;
pub(crate) mod errors;
pub(crate) mod pages;
pub(crate) mod xml;

use self::xml::Xml;
use crate::credentials::request_id;
use crate::http::{Request, Response};

/// The format of a service's responses and errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WireFormat {
    /// REST JSON: EKS.
    RestJson,
    /// JSON 1.0, which differs from 1.1 in the content type.
    Json10,
    /// JSON 1.1: ECR.
    Json11,
    /// Smithy's RPC protocol with CBOR: CloudWatch.
    Cbor,
    /// S3's XML.
    S3,
    /// The query protocol with this XML namespace: STS, CloudFormation.
    Query(&'static str),
    /// EC2's variant of the query protocol.
    Ec2,
    /// The metadata service's pages.
    Metadata,
    /// The registry protocol.
    Registry,
}

/// A response of a REST JSON service.
#[must_use]
pub(crate) fn rest_json(body: &serde_json::Value) -> Response {
    Response::new(200, "application/json", body.to_string())
}

/// A response of a JSON 1.1 service.
#[must_use]
pub(crate) fn json11(body: &serde_json::Value) -> Response {
    Response::new(200, "application/x-amz-json-1.1", body.to_string())
}

/// A response of a query protocol: the members of the result, if it has any, and the id of the request.
#[must_use]
pub(crate) fn query(namespace: &str, operation: &str, result: Xml) -> Response {
    let id = request_id();
    let body = result
        .element("ResponseMetadata", |metadata| metadata.text("RequestId", &id))
        .document(&format!("{operation}Response"), Some(namespace));
    Response::new(200, "text/xml", body).with_header("x-amzn-requestid", id)
}

/// The message of a query or JSON protocol for a missing parameter.
#[must_use]
pub(crate) fn null_member(name: &str) -> String {
    let member = format!("{}{}", name[..1].to_ascii_lowercase(), &name[1..]);
    let constraint = "failed to satisfy constraint: Member must not be null";
    format!("1 validation error detected: Value null at '{member}' {constraint}")
}

/// Whether a client of a query protocol requests JSON, as the IAM authenticator does.
pub(crate) fn accepts_json(request: &Request) -> bool {
    request
        .header("accept")
        .is_some_and(|accept| accept.contains("application/json"))
        || request.parameters().get("ContentType") == Some("JSON")
}
