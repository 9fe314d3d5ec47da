//! A plain TCP relay on an address of this machine: nodes stand on a network that reaches nothing else, and the API server of a
//! cluster of the user's is elsewhere. TLS goes through it untouched.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use nodejoin_net::serve_connections;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::ClusterError;

/// A relay that is bound and not yet running.
pub(crate) struct Relay {
    listener: TcpListener,
    pub(crate) address: SocketAddrV4,
    to: Vec<SocketAddr>,
}

impl Relay {
    /// Takes a free port on this address, and leads to the first of the others that answers.
    pub(crate) async fn bind(at: Ipv4Addr, to: Vec<SocketAddr>) -> Result<Self, ClusterError> {
        let failed = |source| ClusterError::Listen {
            address: SocketAddrV4::new(at, 0).into(),
            source,
        };
        let listener = TcpListener::bind((at, 0)).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self {
            listener,
            address: SocketAddrV4::new(at, port),
            to,
        })
    }

    /// Relays until it is cancelled; connections that are open then are cut.
    pub(crate) async fn run(self, cancel: CancellationToken) {
        serve_connections(self.listener, cancel, |(stream, _)| {
            relay(stream, self.to.clone())
        })
        .await;
    }
}

async fn relay(mut node: TcpStream, to: Vec<SocketAddr>) {
    let mut server = match TcpStream::connect(&*to).await {
        Ok(server) => server,
        Err(error) => return tracing::warn!(%error, ?to, "the API server cannot be reached for a node"),
    };
    let _ = (node.set_nodelay(true), server.set_nodelay(true));
    // An end that is not orderly is the affair of the two ends.
    let _ = copy_bidirectional(&mut node, &mut server).await;
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn bytes_go_both_ways_until_the_end() {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let relay = Relay::bind(Ipv4Addr::LOCALHOST, vec![server.local_addr().unwrap()])
            .await
            .unwrap();
        let (address, cancel) = (relay.address, CancellationToken::new());
        let running = tokio::spawn(relay.run(cancel.clone()));
        let mut node = TcpStream::connect(address).await.unwrap();
        node.write_all(b"ping").await.unwrap();
        let (mut accepted, _) = server.accept().await.unwrap();
        let mut read = [0; 4];
        accepted.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"ping");
        accepted.write_all(b"pong").await.unwrap();
        node.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"pong");
        cancel.cancel();
        running.await.unwrap();
        assert!(matches!(node.read(&mut read).await, Ok(0) | Err(_)));
    }
}
