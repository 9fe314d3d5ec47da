//! Errors at the start of the fakes.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

#[derive(Debug, thiserror::Error)]
pub enum FakeAwsError {
    #[error("cannot bind the {what} port of the fake AWS to {address}")]
    Bind {
        /// `metadata`, `tls`, `services` or `dns`.
        what: &'static str,
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
    #[error("no port of {ip} is free for both UDP and TCP after {tried} attempts")]
    NoSharedPort { ip: Ipv4Addr, tried: u32 },
    #[error("{count} instances need one metadata port each, from {first} on, and ports end at 65535")]
    NoPortLeft { first: SocketAddr, count: usize },
    #[error("cannot create the certificate for `{name}`")]
    Certificate {
        /// Subject of the certificate.
        name: String,
        #[source]
        source: rcgen::Error,
    },
    #[error("cannot configure TLS with the certificates of the fake AWS")]
    Tls(#[source] rustls::Error),
    #[error("cannot pack the image `{repository}`")]
    Image {
        repository: String,
        #[source]
        source: io::Error,
    },
}

impl FakeAwsError {
    /// A way to fix the error, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Bind { address, source, .. } if source.kind() == io::ErrorKind::AddrInUse => Some(format!(
                "another program uses port {}: stop it, or choose another port; 0 selects a free one",
                address.port()
            )),
            Self::Bind { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => Some(
                "only root may use ports below 1024: choose another port; 0 selects a free one".to_owned(),
            ),
            Self::Bind { address, .. } => Some(format!(
                "{} must be an address of this machine: loopback, or the gateway of a Docker bridge",
                address.ip()
            )),
            Self::NoPortLeft { .. } => {
                Some("choose a lower port for `--metadata`; 0 selects free ones".to_owned())
            }
            Self::NoSharedPort { .. } => Some("stop programs that use many ports, and try again".to_owned()),
            Self::Certificate { .. } | Self::Tls(_) | Self::Image { .. } => None,
        }
    }
}
