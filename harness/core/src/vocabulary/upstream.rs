//! The URL of an AWS emulator that answers in place of the fake AWS.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

const SCHEME: &str = "http://";
const DEFAULT_PORT: u16 = 80;

/// Address of an emulator such as moto or LocalStack: `http://`, `localhost` or an IP address, and a port. A name would
/// let requests with credentials of a scenario go wherever a resolver says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UpstreamUrl {
    address: SocketAddr,
}

/// A text that is not such a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid upstream `{text}`: expected `http://`, an IP address or `localhost`, and a port")]
pub struct InvalidUpstream {
    text: String,
}

impl UpstreamUrl {
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl FromStr for UpstreamUrl {
    type Err = InvalidUpstream;

    fn from_str(text: &str) -> Result<Self, InvalidUpstream> {
        let rest = text.strip_prefix(SCHEME).unwrap_or_default();
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let of_name = || {
            let port = rest.strip_prefix("localhost")?;
            let port = match port.strip_prefix(':') {
                Some(port) => port.parse().ok()?,
                None if port.is_empty() => DEFAULT_PORT,
                None => return None,
            };
            Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
        };
        let of_address = || {
            let ip: IpAddr = rest.trim_matches(['[', ']']).parse().ok()?;
            Some(SocketAddr::new(ip, DEFAULT_PORT))
        };
        let address = rest.parse().ok().or_else(of_name).or_else(of_address);
        let address = address.filter(|address: &SocketAddr| address.port() != 0);
        address
            .map(|address| Self { address })
            .ok_or_else(|| InvalidUpstream {
                text: text.to_owned(),
            })
    }
}

impl TryFrom<String> for UpstreamUrl {
    type Error = InvalidUpstream;

    fn try_from(text: String) -> Result<Self, InvalidUpstream> {
        text.parse()
    }
}

impl From<UpstreamUrl> for String {
    fn from(url: UpstreamUrl) -> Self {
        url.to_string()
    }
}

impl fmt::Display for UpstreamUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}", self.address)
    }
}

impl JsonSchema for UpstreamUrl {
    fn schema_name() -> Cow<'static, str> {
        "UpstreamUrl".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "upstream-url" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upstream_is_an_address_and_a_port() {
        let table = [
            ("http://127.0.0.1:5000", Some("http://127.0.0.1:5000")),
            ("http://127.0.0.1:5000/", Some("http://127.0.0.1:5000")),
            ("http://localhost:4566", Some("http://127.0.0.1:4566")),
            ("http://localhost", Some("http://127.0.0.1:80")),
            ("http://[::1]:4566", Some("http://[::1]:4566")),
            ("http://172.17.0.1", Some("http://172.17.0.1:80")),
            ("https://127.0.0.1:5000", None),
            ("127.0.0.1:5000", None),
            ("http://moto:5000", None),
            ("http://localhost.localstack.cloud:4566", None),
            ("http://127.0.0.1:5000/path", None),
            ("http://user@127.0.0.1:5000", None),
            ("http://127.0.0.1:0", None),
            ("http://localhost5000", None),
            ("", None),
        ];
        for (text, expected) in table {
            let found = text.parse::<UpstreamUrl>().ok().map(|url| url.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
