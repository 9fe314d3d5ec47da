//! The ports of a server.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::{TcpListener, TcpSocket};

use crate::error::FakeAwsError;

/// Attempts to find a port that is free for both TCP and UDP.
const PORT_TRIES: u32 = 32;
/// Limit of connections that wait to be accepted: room for a burst of 1,000 clients.
pub(super) const BACKLOG: u32 = 1024;

/// Binds a port without listening on it: until a server listens, a connection is refused as by a service that is down.
pub(super) fn tcp(what: &'static str, address: SocketAddr) -> Result<(TcpSocket, SocketAddr), FakeAwsError> {
    take(address).map_err(|source| FakeAwsError::Bind {
        what,
        address,
        source,
    })
}

fn take(address: SocketAddr) -> io::Result<(TcpSocket, SocketAddr)> {
    let socket = socket(address)?;
    socket.bind(address)?;
    let address = socket.local_addr()?;
    Ok((socket, address))
}

/// Binds a port that is free for both UDP and TCP.
pub(super) fn both(ip: Ipv4Addr) -> Result<(TcpSocket, std::net::UdpSocket, SocketAddr), FakeAwsError> {
    for _ in 0..PORT_TRIES {
        let (socket, address) = tcp("dns", SocketAddr::from((ip, 0)))?;
        let Ok(udp) = std::net::UdpSocket::bind(address) else {
            continue;
        };
        udp.set_nonblocking(true).map_err(|source| FakeAwsError::Bind {
            what: "dns",
            address,
            source,
        })?;
        return Ok((socket, udp, address));
    }
    Err(FakeAwsError::NoSharedPort {
        ip,
        tried: PORT_TRIES,
    })
}

/// Binds a port and listens on it, with `SO_REUSEADDR`: connections of an earlier server on the port may still be
/// closing.
pub(super) fn listen(
    what: &'static str,
    address: SocketAddr,
) -> Result<(TcpListener, SocketAddr), FakeAwsError> {
    let listen = || {
        let socket = socket(address)?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        let listener = socket.listen(BACKLOG)?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    listen().map_err(|source| FakeAwsError::Bind {
        what,
        address,
        source,
    })
}

/// A socket for the family of an address.
fn socket(address: SocketAddr) -> io::Result<TcpSocket> {
    match address.is_ipv4() {
        true => TcpSocket::new_v4(),
        false => TcpSocket::new_v6(),
    }
}
