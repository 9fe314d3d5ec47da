//! The URL of an HTTP proxy.

use std::borrow::Cow;
use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::outside_name;

/// Port of a URL that names none.
const DEFAULT_PORT: u16 = 80;

/// The URL of an HTTP proxy: `http://`, a host name or an IPv4 address, and optionally a port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HttpProxyUrl {
    host: String,
    port: u16,
}

/// A text that is not the URL of an HTTP proxy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid HTTP proxy `{text}`: expected `http://`, a host name or an IPv4 address, and optionally a port"
)]
pub struct InvalidHttpProxy {
    text: String,
}

impl HttpProxyUrl {
    /// The host name in lower case, or the address.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address, if the URL has no host name.
    #[must_use]
    pub fn address(&self) -> Option<Ipv4Addr> {
        self.host.parse().ok()
    }
}

impl FromStr for HttpProxyUrl {
    type Err = InvalidHttpProxy;

    fn from_str(text: &str) -> Result<Self, InvalidHttpProxy> {
        let read = || {
            let rest = text.strip_prefix("http://")?;
            let rest = rest.strip_suffix('/').unwrap_or(rest);
            let (host, port) = match rest.split_once(':') {
                Some((host, port)) => (host, port.parse().ok().filter(|port| *port != 0)?),
                None => (rest, DEFAULT_PORT),
            };
            let host = host.to_ascii_lowercase();
            let is_valid = outside_name::is_host(&host) || host.parse::<Ipv4Addr>().is_ok();
            is_valid.then_some(Self { host, port })
        };
        read().ok_or_else(|| InvalidHttpProxy {
            text: text.to_owned(),
        })
    }
}

impl TryFrom<String> for HttpProxyUrl {
    type Error = InvalidHttpProxy;

    fn try_from(text: String) -> Result<Self, InvalidHttpProxy> {
        text.parse()
    }
}

impl From<HttpProxyUrl> for String {
    fn from(proxy: HttpProxyUrl) -> Self {
        proxy.to_string()
    }
}

impl fmt::Display for HttpProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}:{}", self.host, self.port)
    }
}

impl JsonSchema for HttpProxyUrl {
    fn schema_name() -> Cow<'static, str> {
        "HttpProxyUrl".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "http-proxy" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_host_or_an_address_and_a_port() {
        let form = |text: &str| text.parse::<HttpProxyUrl>().map(|proxy| proxy.to_string());
        for (text, expected) in [
            (
                "http://proxy.corp.internal:3128",
                "http://proxy.corp.internal:3128",
            ),
            ("http://Proxy:8080/", "http://proxy:8080"),
            ("http://10.0.0.4", "http://10.0.0.4:80"),
        ] {
            assert_eq!(form(text).unwrap(), expected);
        }
        let address = |text: &str| text.parse::<HttpProxyUrl>().unwrap().address();
        assert_eq!(address("http://10.0.0.4:1"), Some(Ipv4Addr::new(10, 0, 0, 4)));
        assert_eq!(address("http://proxy:1"), None);
        for text in [
            "proxy:3128",
            "https://proxy:3128",
            "http://proxy:0",
            "http://proxy:port",
            "http://me:secret@proxy:3128",
            "http://proxy:3128/path",
            "http://[::1]:3128",
            "http://",
        ] {
            let error = form(text).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("invalid HTTP proxy `{text}`: ")),
                "{error}"
            );
        }
    }
}
