//! A TCP relay on an address of this machine, from the isolated network of the nodes to the API server of a user's
//! cluster. TLS passes through unchanged.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use nodejoin_net::serve_connections;
use parking_lot::Mutex;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::ClusterError;
use crate::tasks::resume_panic;

/// A running relay. Dropping it stops it; [`Relay::shut_down`] also waits.
pub(crate) struct Relay {
    pub(crate) address: SocketAddrV4,
    cancel: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Relay {
    /// Listens on a free port of this address and relays to the first upstream address that accepts a connection.
    pub(crate) async fn start(address: Ipv4Addr, upstream: Vec<SocketAddr>) -> Result<Self, ClusterError> {
        let failed = |source| ClusterError::Listen {
            address: SocketAddrV4::new(address, 0).into(),
            source,
        };
        let listener = TcpListener::bind((address, 0)).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let cancel = CancellationToken::new();
        let serve = serve_connections(listener, cancel.clone(), move |(stream, _)| {
            relay(stream, upstream.clone())
        });
        Ok(Self {
            address: SocketAddrV4::new(address, port),
            cancel,
            task: Mutex::new(Some(tokio::spawn(serve))),
        })
    }

    /// Closes all connections and waits for the task.
    pub(crate) async fn shut_down(&self) {
        self.cancel.cancel();
        let task = self.task.lock().take();
        if let Some(task) = task {
            resume_panic(task.await);
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

async fn relay(mut node: TcpStream, upstream: Vec<SocketAddr>) {
    let mut server = match TcpStream::connect(&*upstream).await {
        Ok(server) => server,
        Err(error) => return tracing::warn!(%error, ?upstream, "could not connect a node to the API server"),
    };
    let _ = (node.set_nodelay(true), server.set_nodelay(true));
    // An abrupt end concerns the node and the API server only.
    let _ = copy_bidirectional(&mut node, &mut server).await;
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn bytes_are_relayed_both_ways_until_shutdown() {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let relay = Relay::start(Ipv4Addr::LOCALHOST, vec![server.local_addr().unwrap()])
            .await
            .unwrap();
        let mut node = TcpStream::connect(relay.address).await.unwrap();
        node.write_all(b"ping").await.unwrap();
        let (mut accepted, _) = server.accept().await.unwrap();
        let mut read = [0; 4];
        accepted.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"ping");
        accepted.write_all(b"pong").await.unwrap();
        node.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"pong");
        relay.shut_down().await;
        assert!(matches!(node.read(&mut read).await, Ok(0) | Err(_)));
    }
}
