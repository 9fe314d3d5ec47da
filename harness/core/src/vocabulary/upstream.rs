//! The URL of an AWS emulator that answers in place of the fake AWS.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

const HTTP: &str = "http://";
const HTTPS: &str = "https://";

/// Address of an emulator such as moto or LocalStack: `http://` or `https://`, `localhost` or an IP address, and a
/// port. A name would let requests with credentials of a scenario go wherever a resolver says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UpstreamUrl {
    address: SocketAddr,
    is_tls: bool,
}

/// A text that is not such a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid upstream `{text}`: expected `http://` or `https://`, an IP address or `localhost`, and a port"
)]
pub struct InvalidUpstream {
    text: String,
}

impl UpstreamUrl {
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether the emulator speaks HTTPS.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.is_tls
    }

    fn scheme(self) -> &'static str {
        if self.is_tls { HTTPS } else { HTTP }
    }
}

impl FromStr for UpstreamUrl {
    type Err = InvalidUpstream;

    fn from_str(text: &str) -> Result<Self, InvalidUpstream> {
        let (is_tls, rest) = match (text.strip_prefix(HTTPS), text.strip_prefix(HTTP)) {
            (Some(rest), _) => (true, rest),
            (None, rest) => (false, rest.unwrap_or_default()),
        };
        let default_port = if is_tls { 443 } else { 80 };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let of_name = || {
            let port = rest.strip_prefix("localhost")?;
            let port = match port.strip_prefix(':') {
                Some(port) => port.parse().ok()?,
                None if port.is_empty() => default_port,
                None => return None,
            };
            Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
        };
        let of_address = || {
            let ip: IpAddr = rest.trim_matches(['[', ']']).parse().ok()?;
            Some(SocketAddr::new(ip, default_port))
        };
        let address = rest.parse().ok().or_else(of_name).or_else(of_address);
        let address = address.filter(|address: &SocketAddr| address.port() != 0);
        address
            .map(|address| Self { address, is_tls })
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
        write!(f, "{}{}", self.scheme(), self.address)
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
            ("https://127.0.0.1:5000", Some("https://127.0.0.1:5000")),
            ("https://localhost/", Some("https://127.0.0.1:443")),
            ("https://moto:5000", None),
            ("http://https://127.0.0.1:5000", None),
            ("ftp://127.0.0.1:5000", None),
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
