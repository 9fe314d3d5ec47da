//! Checks that an API server is on this machine or a private network: nodes of a test must not join a remote cluster by
//! accident.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::lookup_host;

use crate::ClusterError;

/// An API server's URL and its addresses.
#[derive(Debug, Clone)]
pub(crate) struct ServerAddress {
    pub(crate) url: String,
    pub(crate) addresses: Vec<SocketAddr>,
}

/// Resolves the URL. Rejects an address beyond private networks unless `allow_remote` is set.
pub(crate) async fn resolve(url: &str, allow_remote: bool) -> Result<ServerAddress, ClusterError> {
    let invalid = |reason: String| ClusterError::Kubeconfig { reason };
    let uri: http::Uri = url
        .parse()
        .map_err(|_| invalid(format!("invalid server `{url}`: expected a URL")))?;
    if uri.scheme_str() != Some("https") {
        return Err(invalid(format!("invalid server `{url}`: expected an https URL")));
    }
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let port = uri.port_u16().unwrap_or(443);
    let found = lookup_host((host.as_str(), port)).await;
    let addresses: Vec<_> = found
        .map_err(|error| invalid(format!("could not resolve the server `{url}`: {error}")))?
        .collect();
    if let Some(public) = addresses.iter().find(|address| !is_private(address.ip()))
        && !allow_remote
    {
        return Err(ClusterError::Remote {
            server: url.to_owned(),
            address: public.ip(),
        });
    }
    Ok(ServerAddress {
        url: url.to_owned(),
        addresses,
    })
}

/// Loopback, RFC 1918, unique local, link local, and the range for network tests (RFC 2544), which the harness uses for
/// its networks.
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
    fn private_and_local_ranges_are_private() {
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
    async fn a_remote_cluster_is_rejected_unless_allowed() {
        let error = resolve("https://203.0.113.7:6443", false).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the API server `https://203.0.113.7:6443` has address 203.0.113.7, which is neither loopback nor private"
        );
        assert!(error.hint().unwrap().contains("--allow-remote"));
        let allowed = resolve("https://203.0.113.7", true).await.unwrap();
        assert_eq!(allowed.addresses, ["203.0.113.7:443".parse().unwrap()]);
        assert!(resolve("http://127.0.0.1:8080", false).await.is_err());
        let near = resolve("https://[::1]:6443", false).await.unwrap();
        assert_eq!(near.addresses, ["[::1]:6443".parse().unwrap()]);
    }
}
