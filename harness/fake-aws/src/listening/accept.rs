//! Connections: accepted, served each by its own task, and all of them ended together.

use std::any::Any;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinError, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::line::Line;
use super::worlds::Worlds;
use super::{front, resolver, serve};

/// A client that does not finish its handshake or its headers within this time is let go.
const PATIENCE: Duration = Duration::from_secs(30);
/// Pause after a failed accept: the one common reason, no free file descriptor, passes only as connections end.
const BREATH: Duration = Duration::from_millis(20);

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

/// Serves a port until it is stopped. Connections are tasks of this loop's own: when it ends, they end. The panic of one does
/// not disturb the others; the first is raised at the end.
pub(super) async fn run(listener: TcpListener, door: Door, worlds: Arc<Worlds>, stop: CancellationToken) {
    let mut connections = JoinSet::new();
    let mut panic = None;
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    connections.spawn(connection(stream, peer.ip(), door.clone(), Arc::clone(&worlds)));
                }
                Err(error) => {
                    tracing::warn!(%error, "accepting a connection failed");
                    tokio::time::sleep(BREATH).await;
                }
            },
            // Reaps tasks as they end, so that the set does not grow with the number of connections ever served.
            Some(ended) = connections.join_next() => keep_panic(&mut panic, ended),
        }
    }
    connections.abort_all();
    while let Some(ended) = connections.join_next().await {
        keep_panic(&mut panic, ended);
    }
    if let Some(panic) = panic {
        std::panic::resume_unwind(panic);
    }
}

fn keep_panic(kept: &mut Option<Box<dyn Any + Send>>, ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        kept.get_or_insert(error.into_panic());
    }
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
