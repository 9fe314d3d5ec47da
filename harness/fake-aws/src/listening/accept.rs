//! Connections: accepted, served each by its own task, and all of them ended together.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use nodejoin_net::serve_connections;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::line::Line;
use super::worlds::Worlds;
use super::{front, resolver, serve};

/// A client that does not finish its handshake or its headers within this time is let go.
const PATIENCE: Duration = Duration::from_secs(30);
/// What is spoken on a port.
#[derive(Clone)]
pub(super) enum Door {
    /// HTTP: the metadata service.
    Metadata,
    /// HTTPS: every other service, by host name.
    Tls(TlsAcceptor),
    /// The same, and `CONNECT` before it.
    Front(TlsAcceptor),
    /// DNS.
    Dns,
}

/// Serves a port until `stop` is cancelled.
pub(super) async fn run(listener: TcpListener, door: Door, worlds: Arc<Worlds>, stop: CancellationToken) {
    serve_connections(listener, stop, |(stream, peer)| {
        connection(stream, peer.ip(), door.clone(), Arc::clone(&worlds))
    })
    .await;
}

#[tracing::instrument(level = "debug", skip_all, fields(%source))]
async fn connection(stream: TcpStream, source: IpAddr, door: Door, worlds: Arc<Worlds>) {
    match door {
        Door::Metadata => {
            let line = Line::new(stream);
            http(line.clone(), line, source, serve::Port::Metadata, worlds).await;
        }
        Door::Dns => resolver::serve_tcp(Line::new(stream), source, worlds).await,
        Door::Tls(acceptor) => tls(Line::new(stream), acceptor, source, worlds).await,
        Door::Front(acceptor) => {
            let patience = worlds.time_factor.limit(PATIENCE);
            match tokio::time::timeout(patience, front::is_tls_next(stream)).await {
                Ok(Ok(Some(line))) => tls(line, acceptor, source, worlds).await,
                Ok(Ok(None)) => {}
                Ok(Err(error)) => tracing::debug!(%error, "a connection ended before it began"),
                Err(_) => tracing::debug!("a client said nothing"),
            }
        }
    }
}

async fn tls(line: Line, acceptor: TlsAcceptor, source: IpAddr, worlds: Arc<Worlds>) {
    let patience = worlds.time_factor.limit(PATIENCE);
    match tokio::time::timeout(patience, acceptor.accept(line.clone())).await {
        Ok(Ok(stream)) => http(stream, line, source, serve::Port::Services, worlds).await,
        Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
        Err(_) => tracing::debug!("TLS handshake took too long"),
    }
}

async fn http(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    line: Line,
    source: IpAddr,
    port: serve::Port,
    worlds: Arc<Worlds>,
) {
    let patience = worlds.time_factor.limit(PATIENCE);
    let service =
        service_fn(move |request| serve::request(Arc::clone(&worlds), source, port, line.clone(), request));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience)
        .title_case_headers(true)
        // A client may close its side once it has sent its request.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "connection ended");
    }
}
