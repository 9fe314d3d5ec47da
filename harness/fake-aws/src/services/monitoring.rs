//! CloudWatch, as `https://monitoring.REGION.amazonaws.com`: the query protocol, JSON 1.0, and Smithy's RPC protocol
//! with CBOR. The client chooses one.
//!
//! | operation | auth | response |
//! | --- | --- | --- |
//! | `PutMetricData` | SigV4, `cloudwatch:PutMetricData` | success; the transcript names the metrics |
//! | any other | - | 501 `NotEmulated` |
//!
//! Real: the three protocols, and missing parameters. Faked: values are not kept.

use ciborium::Value as Cbor;
use nodejoin_core::plan::fault::Service;
use nodejoin_core::vocabulary::operation::{ApiOperation as _, MonitoringOperation as Operation};
use serde_json::{Map, Value, json};

use super::{ServiceRequest, authorize};
use crate::credentials::request_id;
use crate::http::{Request, Response, ServiceError};
use crate::instance::Instance;
use crate::not_emulated;
use crate::operation::RequestTarget;
use crate::wire::xml::Xml;
use crate::wire::{self, WireFormat};

/// The oldest of the protocols.
pub(crate) const QUERY: WireFormat = WireFormat::Query(NAMESPACE);
const NAMESPACE: &str = "http://monitoring.amazonaws.com/doc/2010-08-01/";
/// Limit of nested values in CBOR. The API has four levels.
const MAX_DEPTH: usize = 16;

/// The protocol of a request.
pub(crate) fn wire_format(request: &Request) -> WireFormat {
    match not_emulated::wire_format(Service::Monitoring.word(), request) {
        format @ (WireFormat::Cbor | WireFormat::Json10 | WireFormat::Json11) => format,
        _ => QUERY,
    }
}

pub(crate) fn identify(request: &Request) -> RequestTarget {
    let name = not_emulated::operation(request);
    match Operation::named(&name) {
        Some(operation) => {
            let subject = MetricData::read(request).subject();
            RequestTarget::known(Service::Monitoring, operation.name(), subject)
        }
        None => RequestTarget::unknown(Service::Monitoring, name),
    }
}

/// Responds to a request.
///
/// # Errors
/// The error that CloudWatch returns.
pub(crate) fn respond(instance: &Instance, call: ServiceRequest<'_>) -> Result<Response, ServiceError> {
    let name = not_emulated::operation(call.request);
    let operation =
        Operation::named(&name).ok_or_else(|| not_emulated::error(Service::Monitoring.word(), &name))?;
    let format = wire_format(call.request);
    let signer = authorize::signature(instance, call, format)?;
    if let Some(action) = operation.action() {
        signer.permit(Service::Monitoring, action, "*")?;
    }
    match operation {
        Operation::PutMetricData => MetricData::read(call.request).check(format)?,
    }
    Ok(match format {
        WireFormat::Cbor => Response {
            // An operation without output has no body, and so no content type.
            headers: Vec::new(),
            ..Response::new(200, "", bytes::Bytes::new())
        }
        .with_header("smithy-protocol", "rpc-v2-cbor")
        .with_header("x-amzn-requestid", request_id()),
        WireFormat::Json10 | WireFormat::Json11 => {
            Response::new(200, "application/x-amz-json-1.0", json!({}).to_string())
                .with_header("x-amzn-requestid", request_id())
        }
        _ => wire::query(NAMESPACE, operation.name(), Xml::new()),
    })
}

/// What a PutMetricData contains.
#[derive(Debug, PartialEq, Eq)]
struct MetricData {
    namespace: Option<String>,
    /// Names of the metrics; `None` for one without a name.
    names: Vec<Option<String>>,
}

impl MetricData {
    fn read(request: &Request) -> Self {
        match wire_format(request) {
            WireFormat::Cbor => Self::of_json(&cbor(&request.decoded_body())),
            WireFormat::Json10 | WireFormat::Json11 => Self::of_json(&request.json()),
            _ => Self::of_query(request),
        }
    }

    fn of_json(body: &Value) -> Self {
        let data = |value: &Value| value["MetricData"].as_array().cloned().unwrap_or_default();
        let of_entities = body["EntityMetricData"].as_array().into_iter().flatten();
        let metrics = data(body).into_iter().chain(of_entities.flat_map(data));
        let names = metrics.map(|metric| metric["MetricName"].as_str().map(str::to_owned));
        Self {
            namespace: body["Namespace"].as_str().map(str::to_owned),
            names: names.collect(),
        }
    }

    fn of_query(request: &Request) -> Self {
        let parameters = request.parameters();
        let names = parameters.0.iter().filter_map(|(key, value)| {
            let is_name = key.contains("MetricData.member.") && key.ends_with(".MetricName");
            is_name.then(|| Some(value.clone()))
        });
        Self {
            namespace: parameters.get("Namespace").map(str::to_owned),
            names: names.collect(),
        }
    }

    /// The namespace with each metric once, and the number of all values.
    fn subject(&self) -> Option<String> {
        let mut names: Vec<&str> = self.names.iter().flatten().map(String::as_str).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        let namespace = self.namespace.as_deref()?;
        Some(format!("{namespace} {} ({count})", names.join(",")))
    }

    fn check(&self, format: WireFormat) -> Result<(), ServiceError> {
        let missing = |name: &str| {
            let code = match format {
                WireFormat::Query(_) => "MissingParameter",
                _ => "MissingRequiredParameterException",
            };
            let message = format!("The parameter {name} is required.");
            Err(ServiceError::new(400, code, message))
        };
        match &self.namespace {
            None => return missing("Namespace"),
            Some(namespace) if namespace.starts_with("AWS/") => {
                let message = format!("The value {namespace} for parameter Namespace is invalid.");
                let code = match format {
                    WireFormat::Query(_) => "InvalidParameterValue",
                    _ => "InvalidParameterValueException",
                };
                return Err(ServiceError::new(400, code, message));
            }
            Some(_) => {}
        }
        if self.names.is_empty() {
            return missing("MetricData");
        }
        match self.names.iter().position(Option::is_none) {
            Some(index) => missing(&format!("MetricData.member.{}.MetricName", index + 1)),
            None => Ok(()),
        }
    }
}

/// The body of a request in CBOR; null for other bytes. Only the members that [`MetricData`] reads have a value.
fn cbor(bytes: &[u8]) -> Value {
    let read = ciborium::de::from_reader_with_recursion_limit::<Cbor, _>(bytes, MAX_DEPTH);
    read.map_or(Value::Null, as_json)
}

fn as_json(value: Cbor) -> Value {
    match value {
        Cbor::Text(text) => Value::String(text),
        Cbor::Array(items) => Value::Array(items.into_iter().map(as_json).collect()),
        Cbor::Map(members) => {
            let members = members.into_iter().filter_map(|(key, value)| {
                let key = key.into_text().ok()?;
                Some((key, as_json(value)))
            });
            Value::Object(members.collect::<Map<_, _>>())
        }
        Cbor::Tag(_, tagged) => as_json(*tagged),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cbor_is_read_with_tags_and_indefinite_lengths() {
        // {_ "Namespace": "n", "MetricData": [_ {"MetricName": "m", "Timestamp": 1(0)}]}
        let bytes =
            b"\xbf\x69Namespace\x61n\x6aMetricData\x9f\xa2\x6aMetricName\x61m\x69Timestamp\xc1\x00\xff\xff";
        let read = MetricData::of_json(&cbor(bytes));
        assert_eq!(read.subject().as_deref(), Some("n m (1)"));
    }

    #[test]
    fn other_bytes_and_deep_nesting_are_null() {
        for bytes in [&b""[..], b"\xff", b"\xbf\x69Name", &[0x81; 1_000]] {
            assert_eq!(cbor(bytes), Value::Null);
        }
    }
}
