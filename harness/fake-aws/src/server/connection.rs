//! The connection of a request: where it came from, and why it can end without a response.

use std::net::IpAddr;

use nodejoin_core::plan::ids::InstanceId;
use nodejoin_core::plan::outside::Scheme;

use super::shared_socket::SharedSocket;
use crate::http::Request;
use crate::router::Route;
use crate::world_registry::SharedInstance;

/// The port that received a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Port {
    /// The metadata service of the instance whose node has the source address.
    Metadata,
    /// The metadata service of one instance.
    MetadataOf(InstanceId),
    /// All other services, for the clients of an account.
    Services,
    /// All other services and hosts outside, for a node.
    Node(Scheme),
}

impl Port {
    pub(super) fn is_metadata(&self) -> bool {
        match self {
            Self::Metadata | Self::MetadataOf(_) => true,
            Self::Services | Self::Node(_) => false,
        }
    }

    /// The destination of a request that came here.
    pub(super) fn route(&self, request: &Request, shared: &SharedInstance) -> Route {
        match self {
            Self::Metadata | Self::MetadataOf(_) => Route::Metadata,
            Self::Services => Route::of_client(request, &shared.lock().world),
            Self::Node(scheme) => Route::of_node(request, &shared.lock().world, *scheme),
        }
    }
}

/// The connection of a request.
#[derive(Debug)]
pub(super) struct RequestConnection {
    pub(super) source: IpAddr,
    pub(super) port: Port,
    pub(super) socket: SharedSocket,
    /// Whether the request is its first.
    pub(super) opened: bool,
}

/// The connection closes without a response.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectionDropped {
    #[error("a fault of the scenario ends the connection without a response")]
    Fault,
    #[error("the scenario does not answer this request to the outside")]
    Outside,
    #[error("services of AWS serve HTTPS only")]
    PlainHttp,
    #[error("the instance's metadata options disable the IPv6 endpoint")]
    NoIpv6,
    #[error("cannot read the request")]
    Unreadable(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("timeout while reading the body of the request")]
    Timeout,
}
