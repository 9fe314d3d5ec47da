//! The HTTP proxy of a scenario, for its nodes.
//!
//! | request | response |
//! | --- | --- |
//! | `CONNECT` to the API server, port 443 | a tunnel to the control plane |
//! | `CONNECT` to a host name of AWS or outside, port 443 or 80 | a tunnel to the fakes |
//! | `CONNECT` to another port | 403, as proxies do with their usual rules |
//! | any request to an address, such as the metadata service's, or to a name that the proxy does not know | 502 |
//! | `GET http://host/path` to a host outside | as without the proxy |
//!
//! The transcript has each `CONNECT`, and each request with the status 502, as a request to the outside. Credentials of
//! the proxy are ignored: every user has access.

use std::io;
use std::net::{IpAddr, SocketAddrV4};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use nodejoin_core::observation::{AwsCall, CalledService};
use nodejoin_core::plan::outside::Scheme;
use nodejoin_core::vocabulary::outside_name;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::connect_proxy::{self, ESTABLISHED, Target};
use super::shared_socket::SharedSocket;
use crate::endpoint::HostName;
use crate::http::Request;
use crate::world::{AwsEventKind, World};
use crate::world_registry::{SharedInstance, WorldRegistry};

/// The first bytes of a request for a tunnel.
const CONNECT: &[u8] = b"CONNECT ";

/// What a tunnel leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Destination {
    ControlPlane(SocketAddrV4),
    Fakes(Scheme),
    /// No tunnel, with status and reason.
    Nothing(u16, &'static str),
}

impl Destination {
    fn of(world: &World, target: &Target) -> Self {
        let host = target.host.as_str();
        let scheme = match target.port {
            443 => Scheme::Https,
            80 => Scheme::Http,
            _ => return Self::Nothing(403, "Forbidden"),
        };
        if scheme == Scheme::Https && world.is_endpoint(host) {
            return Self::ControlPlane(world.control_plane);
        }
        let is_reachable =
            HostName::parse(host).is_some() || outside_name::is_outside(host) || world.answers_host(host);
        match is_reachable {
            true => Self::Fakes(scheme),
            false => Self::Nothing(502, "Bad Gateway"),
        }
    }
}

/// Whether a connection of a node starts with a request for a tunnel, in a scenario with a proxy.
pub(super) async fn is_tunnel(
    stream: &TcpStream,
    source: IpAddr,
    worlds: &WorldRegistry,
) -> io::Result<bool> {
    let has_proxy = || {
        let shared = worlds.at(source);
        shared.is_some_and(|shared| shared.lock().world.http_proxy.is_some())
    };
    let mut first = [0; CONNECT.len()];
    let length = stream.peek(&mut first).await?;
    Ok(&first[..length] == CONNECT && has_proxy())
}

/// Opens a tunnel. Returns the socket and the protocol in it if the fakes are at its end; any other tunnel has ended by
/// then.
pub(super) async fn open(
    stream: TcpStream,
    source: IpAddr,
    worlds: &Arc<WorldRegistry>,
    timeout: Duration,
) -> io::Result<Option<(SharedSocket, Scheme)>> {
    let mut socket = SharedSocket::new(stream);
    let read = tokio::time::timeout(timeout, connect_proxy::read_head(&mut socket)).await;
    let head = read.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    let at = worlds.now();
    let (Some(target), Some(shared)) = (Target::of(&head), worlds.at(source)) else {
        refuse(&mut socket, 400, "Bad Request").await?;
        return Ok(None);
    };
    let destination = Destination::of(&shared.lock().world, &target);
    let record = |status| {
        shared
            .lock()
            .record(at, AwsEventKind::Aws(connect_call(&target, status)))
    };
    match destination {
        Destination::Fakes(scheme) => {
            record(200);
            socket.write_all(ESTABLISHED.as_bytes()).await?;
            return Ok(Some((socket, scheme)));
        }
        Destination::ControlPlane(address) => match TcpStream::connect(address).await {
            Ok(mut control_plane) => {
                record(200);
                socket.write_all(ESTABLISHED.as_bytes()).await?;
                tokio::io::copy_bidirectional(&mut socket, &mut control_plane).await?;
            }
            Err(error) => {
                tracing::debug!(%error, %address, "the control plane does not accept a connection of the proxy");
                record(502);
                refuse(&mut socket, 502, "Bad Gateway").await?;
            }
        },
        Destination::Nothing(status, reason) => {
            record(status);
            refuse(&mut socket, status, reason).await?;
        }
    }
    Ok(None)
}

async fn refuse(socket: &mut SharedSocket, status: u16, reason: &str) -> io::Result<()> {
    let response = connect_proxy::refusal(
        &format!("{status} {reason}"),
        "no tunnel of this proxy leads there",
    );
    socket.write_all(response.as_bytes()).await?;
    socket.shutdown().await
}

fn connect_call(target: &Target, status: u16) -> AwsCall {
    AwsCall {
        method: "CONNECT".to_owned(),
        host: target.host.clone(),
        ..answered_call(format!("CONNECT {}:{}", target.host, target.port), status)
    }
}

/// Records a request to an address or to a name that the proxy does not know. Its response has the status 502.
pub(super) fn record_unreachable(shared: &SharedInstance, at: SystemTime, request: &Request) {
    let host = request.host_name();
    let call = AwsCall {
        method: request.method.to_string(),
        path: request.path.clone(),
        ..answered_call(format!("{} http://{host}{}", request.method, request.path), 502)
    };
    let call = AwsCall { host, ..call };
    shared.lock().record(at, AwsEventKind::Aws(call));
}

fn answered_call(operation: String, status: u16) -> AwsCall {
    AwsCall {
        service: CalledService::Outside,
        operation,
        method: String::new(),
        host: String::new(),
        path: String::new(),
        status,
        error: None,
        message: None,
        subject: None,
        known: true,
        fault: None,
        answer: None,
        upstream: false,
        authorization: None,
        took_ms: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tunnel_leads_to_the_control_plane_to_the_fakes_or_nowhere() {
        let (world, _) = crate::testing::world();
        let endpoint = world.cluster.endpoint_host(&world.region);
        let forbidden = Destination::Nothing(403, "Forbidden");
        let unreachable = Destination::Nothing(502, "Bad Gateway");
        let table = [
            (
                endpoint.as_str(),
                443,
                Destination::ControlPlane(world.control_plane),
            ),
            (endpoint.as_str(), 6443, forbidden),
            (
                "eks.eu-west-1.amazonaws.com",
                443,
                Destination::Fakes(Scheme::Https),
            ),
            ("downloads.example.com", 80, Destination::Fakes(Scheme::Http)),
            ("downloads.example.com", 22, forbidden),
            ("169.254.169.254", 80, unreachable),
            ("mirror.corp.internal", 443, unreachable),
        ];
        for (host, port, expected) in table {
            let target = Target {
                host: host.to_ascii_lowercase(),
                port,
            };
            assert_eq!(Destination::of(&world, &target), expected, "{host}:{port}");
        }
    }
}
