//! The HTTP proxies that user data names, and those that expect TLS.

use std::fmt;
use std::net::Ipv4Addr;

use crate::vocabulary::http_proxy::HttpProxyUrl;

const SCHEME: &str = "http://";
const TLS_SCHEME: &str = "https://";
/// The port of a proxy that expects TLS, without one in its URL.
const TLS_PORT: u16 = 443;

/// The values of variables and settings whose name contains `proxy`, as far as they are URLs of HTTP proxies, without
/// credentials and in the order of the text. Those on the node itself are programs that the user data starts.
#[must_use]
pub fn http_proxies(text: &str) -> Vec<HttpProxyUrl> {
    let places = places(text, SCHEME).into_iter();
    places
        .filter_map(|place| format!("{SCHEME}{place}").parse().ok())
        .fold(Vec::new(), with_new)
}

/// The same values that are URLs of proxies which expect TLS: programs encrypt their requests to such a proxy, too.
#[must_use]
pub fn tls_proxies(text: &str) -> Vec<TlsProxy> {
    let places = places(text, TLS_SCHEME).into_iter();
    let proxies = places.filter_map(|place| {
        let place = place.trim_end_matches('/');
        let with_port = match place.contains(':') {
            true => place.to_owned(),
            false => format!("{place}:{TLS_PORT}"),
        };
        format!("{SCHEME}{with_port}").parse().ok()
    });
    let proxies: Vec<HttpProxyUrl> = proxies.fold(Vec::new(), with_new);
    proxies.into_iter().map(TlsProxy).collect()
}

/// A proxy that expects TLS. Its `Display` is the URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsProxy(HttpProxyUrl);

impl TlsProxy {
    /// The URL of a proxy at the same place that expects no TLS.
    #[must_use]
    pub fn without_tls(&self) -> &HttpProxyUrl {
        &self.0
    }

    /// The host name in lower case, or the address.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.host()
    }
}

impl fmt::Display for TlsProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{TLS_SCHEME}{}:{}", self.0.host(), self.0.port())
    }
}

fn with_new(mut found: Vec<HttpProxyUrl>, proxy: HttpProxyUrl) -> Vec<HttpProxyUrl> {
    if !is_on_the_node(&proxy) && !found.contains(&proxy) {
        found.push(proxy);
    }
    found
}

/// What follows a scheme in the values of proxies, without credentials.
fn places(text: &str, scheme: &str) -> Vec<String> {
    let mut found = Vec::new();
    let variables = variables(text);
    for line in text.lines() {
        let line = &filled(line, &variables);
        let schemes = line.match_indices(scheme);
        let values = schemes.filter(|(start, _)| is_value_of_a_proxy(&line[..*start]));
        let mut starts: Vec<usize> = values.map(|(start, _)| start + scheme.len()).collect();
        if scheme == SCHEME {
            starts.extend(without_scheme(line));
            starts.sort_unstable();
        }
        found.extend(starts.into_iter().map(|start| place(&line[start..]).to_owned()));
    }
    found
}

/// The host and the port at the beginning of a text, without credentials.
fn place(text: &str) -> &str {
    let is_end = |c: char| c.is_whitespace() || "\"'`,;)}|&\\<>".contains(c);
    let url = text.split(is_end).next().unwrap_or_default();
    url.rsplit_once('@').map_or(url, |(_, place)| place)
}

/// Where values without a scheme begin, such as `proxy:3128`: programs take them for URLs of HTTP.
fn without_scheme(line: &str) -> Vec<usize> {
    const VARIABLES: [&str; 2] = ["http_proxy=", "https_proxy="];
    let lower = line.to_ascii_lowercase();
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_place = |text: &str| {
        let parts = place(text).trim_end_matches('/').rsplit_once(':');
        parts.is_some_and(|(host, port)| {
            let is_of_host = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
            let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
            is_port && !host.is_empty() && host.chars().all(is_of_host)
        })
    };
    let mut starts = Vec::new();
    for variable in VARIABLES {
        for (at, _) in lower.match_indices(variable) {
            let value = &line[at + variable.len()..];
            let start = line.len() - value.trim_start_matches(['"', '\'']).len();
            if !lower[..at].ends_with(is_of_name) && is_place(&line[start..]) {
                starts.push(start);
            }
        }
    }
    starts
}

/// Variables of a shell that get plain words.
fn variables(text: &str) -> Vec<(&str, &str)> {
    let assigned = text.lines().filter_map(|line| {
        let (name, value) = line.trim().trim_start_matches("export ").split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        let is_name = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let is_word = !value.is_empty() && !value.contains(['$', ' ', '"', '\'', '`', ';']);
        (is_name && is_word).then_some((name, value))
    });
    let mut variables: Vec<_> = assigned.collect();
    // `$HOST` is the beginning of `$HOST_NAME`.
    variables.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    variables
}

/// A line whose variables have their values.
fn filled(line: &str, variables: &[(&str, &str)]) -> String {
    let mut line = line.to_owned();
    for (name, value) in variables
        .iter()
        .filter(|_| line.contains('$'))
        .collect::<Vec<_>>()
    {
        line = line
            .replace(&format!("${{{name}}}"), value)
            .replace(&format!("${name}"), value);
    }
    line
}

fn is_on_the_node(proxy: &HttpProxyUrl) -> bool {
    let is_own = |address: Ipv4Addr| address.is_loopback() || address.is_link_local();
    proxy.host() == "localhost" || proxy.address().is_some_and(is_own)
}

/// Whether a text ends with a name that contains `proxy`, and what assigns to it.
fn is_value_of_a_proxy(before: &str) -> bool {
    let assigned = before.trim_end_matches(|c: char| c.is_whitespace() || "\"'".contains(c));
    let Some(name) = assigned
        .strip_suffix(['=', ':'])
        .or_else(|| assigned.strip_suffix(":-"))
    else {
        return false;
    };
    let name = name.trim_end_matches(|c: char| c.is_whitespace() || "\"'".contains(c));
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.' || c == '-';
    let name = name.rsplit(|c: char| !is_part(c)).next().unwrap_or_default();
    name.to_ascii_lowercase().contains("proxy")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_proxy_variables_are_found_without_credentials() {
        let found = |text: &str| {
            let urls = http_proxies(text).into_iter();
            urls.map(|url| url.to_string()).collect::<Vec<_>>().join(" ")
        };
        for (text, expected) in [
            (
                "export HTTPS_PROXY=http://proxy.corp:3128",
                "http://proxy.corp:3128",
            ),
            ("PROXY='http://me:secret@10.0.0.4:8080/'", "http://10.0.0.4:8080"),
            ("        HTTP_PROXY: \"http://proxy:80\"", "http://proxy:80"),
            ("Environment=\"https_proxy=http://proxy:1\"", "http://proxy:1"),
            ("p=${HTTP_PROXY:-http://proxy:2}", "http://proxy:2"),
            ("\"httpProxy\": \"http://proxy:3\",", "http://proxy:3"),
            (
                "HTTP_PROXY=http://a:1 HTTPS_PROXY=http://b:2\nhttp_proxy=http://a:1",
                "http://a:1 http://b:2",
            ),
            ("curl http://proxy.corp/install.sh", ""),
            ("HTTPS_PROXY=https://proxy:3128", ""),
            ("export HTTPS_PROXY=proxy.corp:3128", "http://proxy.corp:3128"),
            (
                "Environment=\"https_proxy=me:secret@10.0.0.4:1\" \"HTTP_PROXY=http://b:2\"",
                "http://10.0.0.4:1 http://b:2",
            ),
            (
                "P=proxy.corp:3128\nhttp_proxy=\"$P\" curl x",
                "http://proxy.corp:3128",
            ),
            ("HTTPS_PROXY=proxy.corp", ""),
            ("NO_PROXY=proxy.corp:3128", ""),
            ("USE_HTTP_PROXY=proxy:3128", ""),
            ("HTTPS_PROXY=localhost:3128", ""),
            ("HTTPS_PROXY=$HOST:3128", ""),
            ("HTTP_PROXY=http://$HOST:3128", ""),
            (
                "PLACE=proxy.corp:3128\nPLACE_TWO=b:1\nexport HTTPS_PROXY=\"http://$PLACE\"\nHTTP_PROXY=http://${PLACE_TWO}",
                "http://proxy.corp:3128 http://b:1",
            ),
            ("proxy http://proxy:3128", ""),
            ("HTTP_PROXY=http://127.0.0.1:3128", ""),
            ("HTTP_PROXY=http://localhost:3128", ""),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn proxies_that_expect_tls_are_found_apart() {
        let found = |text: &str| {
            let urls = tls_proxies(text).into_iter();
            urls.map(|url| url.to_string()).collect::<Vec<_>>().join(" ")
        };
        for (text, expected) in [
            (
                "export HTTPS_PROXY=https://me:secret@Proxy.corp:3128/",
                "https://proxy.corp:3128",
            ),
            (
                "        HTTP_PROXY: \"https://proxy\"\n        HTTPS_PROXY: \"https://proxy:443\"",
                "https://proxy:443",
            ),
            ("HTTPS_PROXY=http://proxy:3128", ""),
            ("curl https://proxy.corp/install.sh", ""),
            ("HTTPS_PROXY=https://localhost:3128", ""),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }
}
