//! A request and its response without sockets: every service of the fake is a function from one to the other.

use std::borrow::Cow;
use std::io::Read as _;

use bytes::Bytes;
use flate2::read::GzDecoder;
use http::{HeaderMap, Method};
use url::form_urlencoded;

use crate::content::Content;

/// Limit of a decompressed body. CloudWatch Logs accepts 1 MiB.
const MAX_DECODED: u64 = 8 * 1024 * 1024;

/// A request with its complete body.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub method: Method,
    /// `Host` as the client sent it, with its port: signatures cover it.
    pub host: String,
    /// Path as the client sent it, still percent-encoded.
    pub path: String,
    /// Query as the client sent it, without the `?`.
    pub query: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Request {
    /// A header's value, if it is text.
    #[must_use]
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The host in lower case and without its port.
    #[must_use]
    pub(crate) fn host_name(&self) -> String {
        let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
        let host = match self.host.rsplit_once(':') {
            Some((name, port)) if is_port(port) => name,
            _ => self.host.as_str(),
        };
        host.trim_end_matches('.').to_ascii_lowercase()
    }

    /// The parameters of the query string.
    #[must_use]
    pub(crate) fn query_parameters(&self) -> QueryParameters {
        QueryParameters::parse(self.query.as_bytes())
    }

    /// The action of a request in an AWS query protocol; empty without one.
    pub(crate) fn action(&self) -> String {
        self.parameters().get("Action").unwrap_or_default().to_owned()
    }

    /// The operation of a request in a JSON protocol, `SERVICE.OPERATION`; empty without one.
    pub(crate) fn target_name(&self) -> &str {
        let target = self.header("x-amz-target").unwrap_or_default();
        target.rsplit_once('.').map_or("", |(_, name)| name)
    }

    /// The body of a request in a JSON protocol; null for another text.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.decoded_body()).unwrap_or_default()
    }

    /// The body, decompressed if the client compressed it, as SDKs do with large requests to CloudWatch.
    pub(crate) fn decoded_body(&self) -> Cow<'_, [u8]> {
        if self.header("content-encoding") != Some("gzip") {
            return Cow::Borrowed(&self.body);
        }
        let mut decoded = Vec::new();
        let decoder = GzDecoder::new(self.body.as_ref());
        match decoder.take(MAX_DECODED).read_to_end(&mut decoded) {
            Ok(_) => Cow::Owned(decoded),
            // A body that is not compressed has no valid form either.
            Err(_) => Cow::Borrowed(&[]),
        }
    }

    /// The parameters of a request in an AWS query protocol: those of the query string, then those of the form.
    #[must_use]
    pub(crate) fn parameters(&self) -> QueryParameters {
        let mut parameters = self.query_parameters();
        if self.method == Method::POST {
            parameters
                .0
                .extend(QueryParameters::parse(&self.decoded_body()).0);
        }
        parameters
    }
}

/// Decoded parameters, in the order of the request.
#[derive(Debug, Clone, Default)]
pub(crate) struct QueryParameters(pub Vec<(String, String)>);

impl QueryParameters {
    pub(crate) fn parse(encoded: &[u8]) -> Self {
        Self(form_urlencoded::parse(encoded).into_owned().collect())
    }

    /// The first value of a parameter.
    #[must_use]
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// The members of a flattened list, `NAME.1`, `NAME.2`, in order of their numbers.
    #[must_use]
    pub(crate) fn list(&self, name: &str) -> Vec<&str> {
        let mut members: Vec<(u32, &str)> = self
            .0
            .iter()
            .filter_map(|(key, value)| Some((number(key, name)?, value.as_str())))
            .collect();
        members.sort_by_key(|(number, _)| *number);
        members.into_iter().map(|(_, value)| value).collect()
    }
}

fn number(key: &str, name: &str) -> Option<u32> {
    key.strip_prefix(name)?.strip_prefix('.')?.parse().ok()
}

#[derive(Debug, Clone)]
pub(crate) struct Response {
    pub status: u16,
    /// Headers, without `Content-Length` and `Date`.
    pub headers: Vec<(Cow<'static, str>, String)>,
    pub body: Content,
    /// The error that the response reports.
    pub error: Option<ServiceError>,
    /// The caller, for the transcript. Never a credential.
    pub authorization: Option<String>,
    /// Hop limit of the response; `None` for the default of the system.
    pub hop_limit: Option<u8>,
    /// The reason phrase, if it is not the usual one of the status.
    pub reason: Option<&'static str>,
}

impl Response {
    #[must_use]
    pub(crate) fn new(status: u16, content_type: &str, body: impl Into<Content>) -> Self {
        Self {
            status,
            headers: vec![("content-type".into(), content_type.to_owned())],
            body: body.into(),
            error: None,
            authorization: None,
            hop_limit: None,
            reason: None,
        }
    }

    #[must_use]
    pub(crate) fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}

/// A service's error, before it is written in the service's wire format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceError {
    pub status: u16,
    /// For example `ResourceNotFoundException`.
    pub code: String,
    pub message: String,
    /// Further members of a typed error. All are null.
    pub null_members: &'static [&'static str],
}

impl ServiceError {
    #[must_use]
    pub fn new(status: u16, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            status,
            code: code.into(),
            message: message.into(),
            null_members: &[],
        }
    }

    /// The error of a query protocol for a request without an action.
    pub(crate) fn missing_action() -> Self {
        Self::new(
            400,
            "MissingAction",
            "The request must contain the parameter Action",
        )
    }
}

/// Decodes percent-encoding. Replaces invalid UTF-8, so that the path is not found. `+` is literal in a path.
pub(crate) fn decode_path(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = (*first == b'%')
            .then(|| tail.get(..2).and_then(|hex| hex::decode(hex).ok()))
            .flatten();
        match escaped {
            Some(decoded) => {
                bytes.extend(decoded);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_members_are_sorted_by_number() {
        let parameters = QueryParameters::parse(
            b"InstanceId.2=b&InstanceId.1=a&InstanceId.10=c&Other=%20x+y&InstanceId.x=no",
        );
        assert_eq!(parameters.list("InstanceId"), ["a", "b", "c"]);
        assert_eq!(parameters.get("Other"), Some(" x y"));
    }
}
