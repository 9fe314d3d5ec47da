//! Errors in the wire format of their service.

use serde_json::{Map, Value, json};

use super::xml::Xml;
use super::{WireFormat, cbor, pages};
use crate::credentials::request_id;
use crate::http::{Response, ServiceError};

/// Writes an error. `as_json` selects JSON in a query protocol that offers both.
#[must_use]
pub(crate) fn response(wire_format: WireFormat, error: ServiceError, as_json: bool) -> Response {
    let mut response = match wire_format {
        WireFormat::RestJson => rest_json(&error),
        WireFormat::Json10 => json(&error, "application/x-amz-json-1.0"),
        WireFormat::Json11 => json(&error, "application/x-amz-json-1.1"),
        WireFormat::Cbor => rpc_cbor(&error),
        WireFormat::S3 => s3(&error),
        WireFormat::Query(_) if as_json => query_json(&error),
        WireFormat::Query(namespace) => query(&error, namespace),
        WireFormat::Ec2 => ec2(&error),
        WireFormat::Metadata => pages::error(error.status),
        WireFormat::Registry => registry(&error),
    };
    response.error = Some(error);
    response
}

fn rest_json(error: &ServiceError) -> Response {
    let mut body: Map<String, Value> = error
        .null_members
        .iter()
        .map(|name| ((*name).to_owned(), Value::Null))
        .collect();
    body.insert("message".to_owned(), json!(error.message));
    Response::new(error.status, "application/json", Value::Object(body).to_string())
        .with_header("x-amzn-errortype", error.code.clone())
        .with_header("x-amzn-requestid", request_id())
}

fn json(error: &ServiceError, content_type: &str) -> Response {
    let body = json!({ "__type": error.code, "message": error.message });
    Response::new(error.status, content_type, body.to_string()).with_header("x-amzn-requestid", request_id())
}

fn rpc_cbor(error: &ServiceError) -> Response {
    let body = cbor::text_map(&[("__type", &error.code), ("message", &error.message)]);
    Response::new(error.status, "application/cbor", body)
        .with_header("smithy-protocol", "rpc-v2-cbor")
        .with_header("x-amzn-requestid", request_id())
}

/// S3 alone has neither a root element with the word response nor a type.
fn s3(error: &ServiceError) -> Response {
    let id = request_id();
    let body = Xml::new()
        .text("Code", &error.code)
        .text("Message", &error.message)
        .text("RequestId", &id)
        .document("Error", None);
    Response::new(error.status, "application/xml", body).with_header("x-amz-request-id", id)
}

/// The `Type` of an error in the query protocol.
fn error_type(status: u16) -> &'static str {
    if status < 500 { "Sender" } else { "Receiver" }
}

fn query(error: &ServiceError, namespace: &str) -> Response {
    let id = request_id();
    let body = Xml::new()
        .element("Error", |e| {
            e.text("Type", error_type(error.status))
                .text("Code", &error.code)
                .text("Message", &error.message)
        })
        .text("RequestId", &id)
        .document("ErrorResponse", Some(namespace));
    Response::new(error.status, "text/xml", body).with_header("x-amzn-requestid", id)
}

fn query_json(error: &ServiceError) -> Response {
    let id = request_id();
    let body = query_json_body(error, &id);
    Response::new(error.status, "application/json", body).with_header("x-amzn-requestid", id)
}

/// The body of an error of the query protocol for a client that accepts JSON.
pub(crate) fn query_json_body(error: &ServiceError, request_id: &str) -> String {
    let body = json!({
        "Error": { "Code": error.code, "Message": error.message, "Type": error_type(error.status) },
        "RequestId": request_id,
    });
    body.to_string()
}

fn ec2(error: &ServiceError) -> Response {
    let body = Xml::new()
        .element("Errors", |all| {
            all.element("Error", |e| {
                e.text("Code", &error.code).text("Message", &error.message)
            })
        })
        // EC2 alone writes `RequestID` here.
        .text("RequestID", request_id())
        .document("Response", None);
    Response::new(error.status, "text/xml;charset=UTF-8", body)
}

fn registry(error: &ServiceError) -> Response {
    let body = json!({ "errors": [{ "code": error.code, "message": error.message }] });
    Response::new(
        error.status,
        "application/json; charset=utf-8",
        format!("{body}\n"),
    )
    .with_header("docker-distribution-api-version", "registry/2.0")
}

#[cfg(test)]
mod tests {
    use super::*;

    const STS: WireFormat = WireFormat::Query("https://sts.amazonaws.com/doc/2011-06-15/");

    fn body(wire_format: WireFormat, as_json: bool) -> String {
        let error = ServiceError {
            null_members: &["clusterName"],
            ..ServiceError::new(404, "NotThere", "No <such> thing")
        };
        String::from_utf8(response(wire_format, error, as_json).body.in_memory().to_vec()).unwrap()
    }

    #[test]
    fn each_wire_format_has_its_own_errors() {
        assert_eq!(
            body(WireFormat::RestJson, false),
            r#"{"clusterName":null,"message":"No <such> thing"}"#
        );
        assert_eq!(
            body(WireFormat::Json11, false),
            r#"{"__type":"NotThere","message":"No <such> thing"}"#
        );
        assert!(body(STS, false).contains(
            "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error><Type>Sender</Type>"
        ));
        assert!(body(STS, true).starts_with(
            r#"{"Error":{"Code":"NotThere","Message":"No <such> thing","Type":"Sender"},"RequestId":""#
        ));
        assert!(
            body(WireFormat::Ec2, false)
                .contains("<Message>No &lt;such&gt; thing</Message></Error></Errors><RequestID>")
        );
        assert_eq!(
            body(WireFormat::Registry, false),
            "{\"errors\":[{\"code\":\"NotThere\",\"message\":\"No <such> thing\"}]}\n"
        );
    }
}
