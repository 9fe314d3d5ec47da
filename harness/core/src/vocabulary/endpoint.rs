//! The URL of an API server's endpoint.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// The endpoint of an API server: `https://` and a host name. Nodes reach it on port 443.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EndpointUrl {
    host: String,
}

/// A text that is not an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid endpoint `{text}`: expected `https://` and a host name, on port 443")]
pub struct InvalidEndpoint {
    text: String,
}

impl EndpointUrl {
    /// The host name.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }
}

impl FromStr for EndpointUrl {
    type Err = InvalidEndpoint;

    fn from_str(text: &str) -> Result<Self, InvalidEndpoint> {
        let rest = text.strip_prefix("https://").unwrap_or_default();
        let rest = rest.trim_end_matches('/');
        let host = rest.strip_suffix(":443").unwrap_or(rest);
        let is_label = |label: &str| {
            !label.is_empty()
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        if host.split('.').all(is_label) && host.len() <= 253 && host.parse::<IpAddr>().is_err() {
            Ok(Self {
                host: host.to_owned(),
            })
        } else {
            Err(InvalidEndpoint {
                text: text.to_owned(),
            })
        }
    }
}

impl TryFrom<String> for EndpointUrl {
    type Error = InvalidEndpoint;

    fn try_from(text: String) -> Result<Self, InvalidEndpoint> {
        text.parse()
    }
}

impl From<EndpointUrl> for String {
    fn from(endpoint: EndpointUrl) -> Self {
        endpoint.to_string()
    }
}

impl fmt::Display for EndpointUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "https://{}", self.host)
    }
}

impl JsonSchema for EndpointUrl {
    fn schema_name() -> Cow<'static, str> {
        "EndpointUrl".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "eks-endpoint" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_host_name_on_port_443() {
        for text in [
            "https://test-cluster",
            "https://A.gr7.eu-west-1.eks.amazonaws.com:443/",
        ] {
            assert!(text.parse::<EndpointUrl>().is_ok(), "{text}");
        }
        for text in [
            "",
            "test",
            "http://a.b",
            "https://",
            "https://10.0.0.1",
            "https://a:6443",
            "https://a_b",
            "https://a/x",
        ] {
            assert!(text.parse::<EndpointUrl>().is_err(), "{text}");
        }
        let endpoint: EndpointUrl = "https://a.b:443/".parse().unwrap();
        assert_eq!(
            (endpoint.host(), endpoint.to_string().as_str()),
            ("a.b", "https://a.b")
        );
    }
}
