//! A proxy that leads `CONNECT` to any host to the fakes' TLS port, as a node's network does. Host names and signatures
//! stay unchanged.

use std::net::SocketAddr;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The proxy. Dropping it stops it.
pub struct Proxy {
    pub url: String,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Starts a proxy to this address.
    pub async fn start(to: SocketAddr) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(tunnel(stream, to));
            }
        });
        Self { url, task }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn tunnel(client: TcpStream, to: SocketAddr) -> std::io::Result<()> {
    let mut client = BufReader::new(client);
    let mut line = String::new();
    // Skips the request line and the headers: every tunnel leads to the fakes.
    while client.read_line(&mut line).await? > 2 {
        line.clear();
    }
    client
        .get_mut()
        .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
        .await?;
    let mut server = TcpStream::connect(to).await?;
    tokio::io::copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}
