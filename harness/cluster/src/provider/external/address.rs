//! Whether an address is one of this machine or of a private network: nodes of a test have no business in a cluster beyond.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::lookup_host;

use crate::ClusterError;

/// The addresses of an API server's URL, and its host.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) addresses: Vec<SocketAddr>,
}

/// Resolves the URL; refuses one that leads beyond private networks, unless that is allowed.
pub(crate) async fn resolve(url: &str, allow_remote: bool) -> Result<Server, ClusterError> {
    let wrong = |wrong: String| ClusterError::Kubeconfig { wrong };
    let uri: http::Uri = url
        .parse()
        .map_err(|_| wrong(format!("its server `{url}` is no URL")))?;
    if uri.scheme_str() != Some("https") {
        return Err(wrong(format!("its server `{url}` is not https")));
    }
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let port = uri.port_u16().unwrap_or(443);
    let found = lookup_host((host.as_str(), port)).await;
    let addresses: Vec<_> = found
        .map_err(|error| wrong(format!("its server `{url}` has no address: {error}")))?
        .collect();
    if let Some(public) = addresses.iter().find(|address| !is_private(address.ip()))
        && !allow_remote
    {
        return Err(ClusterError::Remote {
            server: url.to_owned(),
            address: public.ip(),
        });
    }
    Ok(Server {
        url: url.to_owned(),
        addresses,
    })
}

/// Loopback, RFC 1918, unique local, link local; and the range for tests of networks (RFC 2544), which the harness's own are in.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(mapped) => is_private_v4(mapped),
            None => is_private_v6(address),
        },
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || (first == 198 && (second == 18 || second == 19))
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_is_what_nobody_outside_reaches() {
        for (address, expected) in [
            ("127.0.0.1", true),
            ("10.1.2.3", true),
            ("172.16.0.1", true),
            ("172.32.0.1", false),
            ("192.168.1.1", true),
            ("169.254.1.1", true),
            ("198.18.0.2", true),
            ("198.20.0.2", false),
            ("100.64.0.1", false),
            ("8.8.8.8", false),
            ("::1", true),
            ("fd00::1", true),
            ("fe80::1", true),
            ("2001:db8::1", false),
            ("::ffff:10.0.0.1", true),
            ("::ffff:8.8.8.8", false),
        ] {
            assert_eq!(is_private(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[tokio::test]
    async fn a_cluster_beyond_private_networks_is_refused_unless_allowed() {
        let error = resolve("https://203.0.113.7:6443", false).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the API server `https://203.0.113.7:6443` is at 203.0.113.7, which is neither loopback nor private"
        );
        assert!(error.hint().unwrap().contains("--allow-remote"));
        let allowed = resolve("https://203.0.113.7", true).await.unwrap();
        assert_eq!(allowed.addresses, ["203.0.113.7:443".parse().unwrap()]);
        assert!(resolve("http://127.0.0.1:8080", false).await.is_err());
        let near = resolve("https://[::1]:6443", false).await.unwrap();
        assert_eq!(near.addresses, ["[::1]:6443".parse().unwrap()]);
    }
}
