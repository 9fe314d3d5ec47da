//! Recorded answers to requests outside: files by URL.

use std::collections::BTreeSet;
use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::plan::Plan;
pub use crate::plan::values::OutsideFiles;
use crate::vocabulary::outside_name;

/// How a client reaches a host outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scheme {
    Http,
    Https,
}

impl Scheme {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The only port on which nodes reach hosts outside by this scheme.
    #[must_use]
    pub fn port(self) -> &'static str {
        match self {
            Self::Http => "80",
            Self::Https => "443",
        }
    }
}

/// A URL of `outside`. URLs that differ in the case of the host or in a default port only are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutsideUrl {
    pub scheme: Scheme,
    /// Host name in lower case, or a public address.
    pub host: String,
    /// Path, or its beginning.
    path: String,
    is_prefix: bool,
    query: Option<String>,
}

/// A request to a host outside.
#[derive(Debug, Clone, Copy)]
pub struct OutsideRequest<'a> {
    pub scheme: Scheme,
    /// Host name in lower case.
    pub host: &'a str,
    /// Path as the client sent it, without the query.
    pub path: &'a str,
    /// Query without its `?`; empty without one.
    pub query: &'a str,
}

/// A text that is not a URL of `outside`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid URL `{url}`: {why}")]
pub struct InvalidOutsideUrl {
    url: String,
    why: String,
}

impl OutsideUrl {
    #[must_use]
    fn matches(&self, request: OutsideRequest<'_>) -> bool {
        let path = match self.is_prefix {
            true => request.path.starts_with(&self.path),
            false => request.path == self.path,
        };
        let query = match &self.query {
            Some(query) => request.query == query,
            None => self.is_prefix || request.query.is_empty(),
        };
        self.scheme == request.scheme && self.host == request.host && path && query
    }

    /// Which of several URLs that match a request applies: the largest.
    fn precision(&self) -> (bool, usize, bool) {
        (!self.is_prefix, self.path.len(), self.query.is_some())
    }
}

impl FromStr for OutsideUrl {
    type Err = InvalidOutsideUrl;

    fn from_str(text: &str) -> Result<Self, InvalidOutsideUrl> {
        parsed(text).map_err(|why| InvalidOutsideUrl {
            url: text.to_owned(),
            why,
        })
    }
}

fn parsed(text: &str) -> Result<OutsideUrl, String> {
    let (scheme, rest) = text
        .split_once("://")
        .ok_or("expected `https://` or `http://`, a host and a path")?;
    let scheme = match scheme.to_ascii_lowercase().as_str() {
        "https" => Scheme::Https,
        "http" => Scheme::Http,
        other => return Err(format!("scheme `{other}`, expected `https` or `http`")),
    };
    if rest.contains(['#', ' ']) {
        return Err("a request has no `#` and no blank".to_owned());
    }
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (host, port) = authority.split_once(':').unwrap_or((authority, scheme.port()));
    if port != scheme.port() {
        let (word, own) = (scheme.word(), scheme.port());
        return Err(format!("port {port}, expected {own}, the port of `{word}`"));
    }
    let host = host.to_ascii_lowercase();
    if !outside_name::is_public_address(&host) && !outside_name::is_host(&host) {
        return Err(format!(
            "expected a host name or a public address, found `{host}`"
        ));
    }
    let (path, query) = match path.split_once('?') {
        Some((path, query)) => (path, Some(query.to_owned())),
        None => (path, None),
    };
    let path = if path.is_empty() { "/" } else { path };
    let prefix = path.strip_suffix('*');
    Ok(OutsideUrl {
        scheme,
        host,
        path: prefix.unwrap_or(path).to_owned(),
        is_prefix: prefix.is_some(),
        query,
    })
}

impl fmt::Display for OutsideUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.is_prefix { "*" } else { "" };
        write!(f, "{}://{}{}{end}", self.scheme.word(), self.host, self.path)?;
        match &self.query {
            Some(query) => write!(f, "?{query}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for OutsideRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme.word(), self.host, self.path)?;
        match self.query {
            "" => Ok(()),
            query => write!(f, "?{query}"),
        }
    }
}

/// The file that answers a request. A URL without `*` comes before one with it, and a longer one before a shorter one.
#[must_use]
pub fn file_of<'a>(files: &'a OutsideFiles, request: OutsideRequest<'_>) -> Option<&'a str> {
    let urls = files
        .iter()
        .filter_map(|(url, file)| Some((url.parse::<OutsideUrl>().ok()?, file)));
    let matching = urls.filter(|(url, _)| url.matches(request));
    let (_, file) = matching.max_by_key(|(url, _)| url.precision())?;
    Some(file)
}

/// Whether a URL has this host, in lower case.
#[must_use]
pub fn is_host_of(files: &OutsideFiles, host: &str) -> bool {
    files
        .keys()
        .filter_map(|url| url.parse::<OutsideUrl>().ok())
        .any(|url| url.host == host)
}

/// The public addresses of the URLs.
#[must_use]
pub fn recorded_addresses(files: &OutsideFiles) -> BTreeSet<Ipv4Addr> {
    let urls = files.keys().filter_map(|url| url.parse::<OutsideUrl>().ok());
    urls.filter_map(|url| url.host.parse().ok()).collect()
}

/// The public addresses that a text names with `https://`. A client of TLS names no address, so its certificate must
/// have all that a node may request.
#[must_use]
pub fn https_addresses(text: &str) -> BTreeSet<Ipv4Addr> {
    let after = text
        .match_indices("https://")
        .map(|(start, found)| &text[start + found.len()..]);
    let hosts = after.map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (host, rest) = rest.split_at(end.unwrap_or(rest.len()));
        match rest.strip_prefix(':') {
            // Another port leads nowhere.
            Some(port) if !port.starts_with("443") => "",
            _ => host,
        }
    });
    hosts
        .filter(|host| outside_name::is_public_address(host))
        .filter_map(|host| host.parse().ok())
        .collect()
}

/// The addresses that the user data of a plan names with `https://`.
#[must_use]
pub fn named_addresses(plan: &Plan) -> BTreeSet<Ipv4Addr> {
    let data = plan.user_data.as_ref();
    let bytes = data.and_then(|data| STANDARD.decode(&data.base64).ok());
    https_addresses(&String::from_utf8_lossy(&bytes.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_https_are_read_from_a_text() {
        let text = "curl https://203.0.113.7/a.tgz; curl https://10.0.0.7/ https://1.1.1.1:443 'https://9.9.9.9:8443/'\n\
                    url=https://8.8.8.8\nhttps://a.example.com/ http://198.51.100.1/ https://203.0.113.7/b";
        let found: Vec<String> = https_addresses(text).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["1.1.1.1", "8.8.8.8", "203.0.113.7"]);
        let files = ["https://203.0.113.7/x", "http://198.51.100.1/", "https://a.b/"];
        let files = files.map(|url| (url.to_owned(), String::new())).into();
        let found: Vec<String> = recorded_addresses(&files)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, ["198.51.100.1", "203.0.113.7"]);
    }

    #[test]
    fn the_most_precise_url_answers() {
        let urls = [
            "https://a.example.com/x",
            "https://a.example.com/x?v=1",
            "https://a.example.com/x*",
            "https://a.example.com/x/y/*",
            "https://A.example.com:443/x/y/*?z",
            "http://a.example.com",
        ];
        let files: OutsideFiles = urls
            .iter()
            .enumerate()
            .map(|(index, url)| ((*url).to_owned(), index.to_string()))
            .collect();
        let table = [
            ("https://a.example.com/x", Some("0")),
            ("https://a.example.com/x?v=1", Some("1")),
            ("https://a.example.com/x?v=2", Some("2")),
            ("https://a.example.com/xy", Some("2")),
            ("https://a.example.com/x/y/z", Some("3")),
            ("https://a.example.com/x/y/z?z", Some("4")),
            ("https://a.example.com/", None),
            ("https://b.example.com/x", None),
            ("http://a.example.com/", Some("5")),
            ("http://a.example.com/?q", None),
            ("http://a.example.com/x", None),
        ];
        for (text, expected) in table {
            let url: OutsideUrl = text.parse().unwrap();
            let request = OutsideRequest {
                scheme: url.scheme,
                host: &url.host,
                path: &url.path,
                query: url.query.as_deref().unwrap_or_default(),
            };
            assert_eq!(file_of(&files, request), expected, "{text}");
            assert_eq!(request.to_string(), text);
        }
        assert!(is_host_of(&files, "a.example.com") && !is_host_of(&files, "example.com"));
    }

    #[test]
    fn equal_urls_have_one_form() {
        let form = |text: &str| text.parse::<OutsideUrl>().map(|url| url.to_string());
        assert_eq!(
            form("HTTPS://A.Example.com:443?q").unwrap(),
            "https://a.example.com/?q"
        );
        assert_eq!(form("http://a.b:80/x*").unwrap(), "http://a.b/x*");
        assert_eq!(form("http://203.0.113.7:80").unwrap(), "http://203.0.113.7/");
        assert_eq!(
            form("https://203.0.113.7:443/x").unwrap(),
            "https://203.0.113.7/x"
        );
    }

    #[test]
    fn other_texts_are_refused() {
        for (text, why) in [
            ("downloads.example.com/x", "expected `https://`"),
            ("ftp://a.b/x", "scheme `ftp`"),
            ("https://a.b:8443/x", "port 8443, expected 443"),
            ("http://a.b:443/x", "port 443, expected 80"),
            ("https://10.0.0.7/x", "or a public address, found `10.0.0.7`"),
            ("http://10.0.0.7/x", "or a public address, found `10.0.0.7`"),
            ("https://[::1]/x", "port :1]"),
            ("https:///x", "expected a host name"),
            ("https://me@a.b/x", "expected a host name"),
            ("https://a.b/x#y", "no `#`"),
        ] {
            let error = text.parse::<OutsideUrl>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("invalid URL `{text}`: ")) && error.contains(why),
                "{error}"
            );
        }
    }
}
