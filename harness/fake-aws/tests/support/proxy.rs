//! A proxy that takes `CONNECT` to any host and leads every one to the fakes' TLS port: what the redirection in a
//! node's network does, for a client on the loopback. Host names and signatures stay as they are.

use std::net::SocketAddr;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The proxy; it ends when it is dropped.
pub struct Proxy {
    pub url: String,
    task: JoinHandle<()>,
}

impl Proxy {
    /// A proxy to this address.
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
    // The request line and its headers, up to the empty line; where it wants to go does not matter.
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
