//! A request and its answer, free of sockets: what every service of the fake is a function between.

use bytes::Bytes;
use http::{HeaderMap, Method};
use url::form_urlencoded;

use crate::content::Content;

/// A request with its whole body.
#[derive(Debug, Clone)]
pub struct Request {
    /// Method.
    pub method: Method,
    /// `Host` as it was sent, port included: signatures cover it.
    pub host: String,
    /// Path as it was sent, still percent-encoded.
    pub path: String,
    /// Query as it was sent, without its `?`.
    pub query: String,
    /// Headers.
    pub headers: HeaderMap,
    /// Body.
    pub body: Bytes,
}

impl Request {
    /// A header's value, where it is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The host in lower case and without its port.
    #[must_use]
    pub fn host_name(&self) -> String {
        let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
        let host = match self.host.rsplit_once(':') {
            Some((name, port)) if is_port(port) => name,
            _ => self.host.as_str(),
        };
        host.trim_end_matches('.').to_ascii_lowercase()
    }

    /// The parameters of the query string.
    #[must_use]
    pub fn query_parameters(&self) -> Parameters {
        Parameters::parse(self.query.as_bytes())
    }

    /// The parameters of an AWS query protocol request: the query string's, then the form's.
    #[must_use]
    pub fn parameters(&self) -> Parameters {
        let mut parameters = self.query_parameters();
        if self.method == Method::POST {
            parameters.0.extend(Parameters::parse(&self.body).0);
        }
        parameters
    }
}

/// Decoded parameters, in the order they came.
#[derive(Debug, Clone, Default)]
pub struct Parameters(pub Vec<(String, String)>);

impl Parameters {
    fn parse(encoded: &[u8]) -> Self {
        Self(form_urlencoded::parse(encoded).into_owned().collect())
    }

    /// The first value of a parameter.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// The members of a flattened list, `NAME.1`, `NAME.2`, in order of their numbers.
    #[must_use]
    pub fn list(&self, name: &str) -> Vec<&str> {
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

/// What a service answers.
#[derive(Debug, Clone)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Headers, without `Content-Length` and `Date`.
    pub headers: Vec<(&'static str, String)>,
    /// Body.
    pub body: Content,
    /// The service's error, where it is one.
    pub error: Option<ServiceError>,
    /// Who asked, as the transcript may show it: never a credential.
    pub authorization: Option<String>,
    /// How many hops it survives, where that is not left to the system.
    pub hops: Option<u8>,
}

impl Answer {
    /// An answer with a body of this type.
    #[must_use]
    pub fn new(status: u16, content_type: &str, body: impl Into<Content>) -> Self {
        Self {
            status,
            headers: vec![("content-type", content_type.to_owned())],
            body: body.into(),
            error: None,
            authorization: None,
            hops: None,
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// An error of a service, before it is written in the service's own shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceError {
    /// HTTP status.
    pub status: u16,
    /// Code, such as `ResourceNotFoundException`.
    pub code: String,
    /// Message.
    pub message: String,
    /// Members that a typed error carries beside its message, all null where nothing is known.
    pub null_members: &'static [&'static str],
}

impl ServiceError {
    /// An error without further members.
    #[must_use]
    pub fn new(status: u16, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            status,
            code: code.into(),
            message: message.into(),
            null_members: &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_in_the_order_of_their_numbers() {
        let parameters =
            Parameters::parse(b"InstanceId.2=b&InstanceId.1=a&InstanceId.10=c&Other=%20x+y&InstanceId.x=no");
        assert_eq!(parameters.list("InstanceId"), ["a", "b", "c"]);
        assert_eq!(parameters.get("Other"), Some(" x y"));
    }
}
