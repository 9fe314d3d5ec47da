//! Errors in the shape of the service that answers them.

use serde_json::{Map, Value, json};

use super::Shape;
use super::xml::Xml;
use crate::credentials::request_id;
use crate::exchange::{Answer, ServiceError};
use crate::services::imds::pages;

/// An error as the service writes it.
#[must_use]
pub fn answer(shape: Shape, error: ServiceError, as_json: bool) -> Answer {
    let mut answer = match shape {
        Shape::RestJson => rest_json(&error),
        Shape::Json11 => json11(&error),
        Shape::Query(_) if as_json => query_json(&error),
        Shape::Query(namespace) => query(&error, namespace),
        Shape::Ec2 => ec2(&error),
        Shape::Metadata => pages::error(error.status),
        Shape::Registry => registry(&error),
    };
    answer.error = Some(error);
    answer
}

fn rest_json(error: &ServiceError) -> Answer {
    let mut body: Map<String, Value> = error
        .null_members
        .iter()
        .map(|name| ((*name).to_owned(), Value::Null))
        .collect();
    body.insert("message".to_owned(), json!(error.message));
    Answer::new(error.status, "application/json", Value::Object(body).to_string())
        .with_header("x-amzn-errortype", error.code.clone())
        .with_header("x-amzn-requestid", request_id())
}

fn json11(error: &ServiceError) -> Answer {
    let body = json!({ "__type": error.code, "message": error.message });
    Answer::new(error.status, "application/x-amz-json-1.1", body.to_string())
        .with_header("x-amzn-requestid", request_id())
}

/// Whose fault it is, in the query protocol's words.
fn blame(status: u16) -> &'static str {
    if status < 500 { "Sender" } else { "Receiver" }
}

fn query(error: &ServiceError, namespace: &str) -> Answer {
    let id = request_id();
    let body = Xml::new()
        .element("Error", |e| {
            e.text("Type", blame(error.status))
                .text("Code", &error.code)
                .text("Message", &error.message)
        })
        .text("RequestId", &id)
        .document("ErrorResponse", Some(namespace));
    Answer::new(error.status, "text/xml", body).with_header("x-amzn-requestid", id)
}

fn query_json(error: &ServiceError) -> Answer {
    let id = request_id();
    let body = json!({
        "Error": { "Code": error.code, "Message": error.message, "Type": blame(error.status) },
        "RequestId": id,
    });
    Answer::new(error.status, "application/json", body.to_string()).with_header("x-amzn-requestid", id)
}

fn ec2(error: &ServiceError) -> Answer {
    let body = Xml::new()
        .element("Errors", |all| {
            all.element("Error", |e| {
                e.text("Code", &error.code).text("Message", &error.message)
            })
        })
        // EC2 alone writes `RequestID` here.
        .text("RequestID", request_id())
        .document("Response", None);
    Answer::new(error.status, "text/xml;charset=UTF-8", body)
}

fn registry(error: &ServiceError) -> Answer {
    let body = json!({ "errors": [{ "code": error.code, "message": error.message }] });
    Answer::new(
        error.status,
        "application/json; charset=utf-8",
        format!("{body}\n"),
    )
    .with_header("docker-distribution-api-version", "registry/2.0")
}

#[cfg(test)]
mod tests {
    use super::*;

    const STS: Shape = Shape::Query("https://sts.amazonaws.com/doc/2011-06-15/");

    fn body(shape: Shape, as_json: bool) -> String {
        let error = ServiceError {
            null_members: &["clusterName"],
            ..ServiceError::new(404, "NotThere", "No <such> thing")
        };
        String::from_utf8(answer(shape, error, as_json).body.here().to_vec()).unwrap()
    }

    #[test]
    fn each_service_has_its_own_shape() {
        assert_eq!(
            body(Shape::RestJson, false),
            r#"{"clusterName":null,"message":"No <such> thing"}"#
        );
        assert_eq!(
            body(Shape::Json11, false),
            r#"{"__type":"NotThere","message":"No <such> thing"}"#
        );
        assert!(body(STS, false).contains(
            "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error><Type>Sender</Type>"
        ));
        assert!(body(STS, true).starts_with(
            r#"{"Error":{"Code":"NotThere","Message":"No <such> thing","Type":"Sender"},"RequestId":""#
        ));
        assert!(
            body(Shape::Ec2, false)
                .contains("<Message>No &lt;such&gt; thing</Message></Error></Errors><RequestID>")
        );
        assert_eq!(
            body(Shape::Registry, false),
            "{\"errors\":[{\"code\":\"NotThere\",\"message\":\"No <such> thing\"}]}\n"
        );
    }
}
