//! What can go wrong when the fakes start.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

/// The fakes could not be started.
#[derive(Debug, thiserror::Error)]
pub enum FakeAwsError {
    /// An address could not be bound.
    #[error("binding the fake AWS's {what} to {address}")]
    Bind {
        /// `metadata`, `tls` or `dns`.
        what: &'static str,
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// No port was free for UDP and TCP alike.
    #[error("no port of {ip} is free for both UDP and TCP, after {tried} tries")]
    NoSharedPort {
        /// The address.
        ip: Ipv4Addr,
        /// How many ports were tried.
        tried: u32,
    },
    /// A certificate could not be made.
    #[error("making the certificate `{name}`")]
    Certificate {
        /// Its subject.
        name: String,
        /// Why.
        #[source]
        source: rcgen::Error,
    },
    /// The TLS set-up was refused.
    #[error("setting up TLS with the fake AWS's certificates")]
    Tls(#[source] rustls::Error),
    /// An image could not be packed.
    #[error("packing the image `{repository}`")]
    Image {
        /// Its repository.
        repository: String,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl FakeAwsError {
    /// The way out, where one is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Bind { address, source, .. } if source.kind() == io::ErrorKind::AddrInUse => Some(format!(
                "another program has port {}: end it, or take another port; 0 is a free one",
                address.port()
            )),
            Self::Bind { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Some("a port below 1024 is for root: take another one; 0 is a free one".to_owned())
            }
            Self::Bind { address, .. } => Some(format!(
                "the address {} must be one of this machine: loopback, or a Docker bridge's gateway",
                address.ip()
            )),
            Self::NoSharedPort { .. } => Some("end programs that hold many ports, and try again".to_owned()),
            Self::Certificate { .. } | Self::Tls(_) | Self::Image { .. } => None,
        }
    }
}
