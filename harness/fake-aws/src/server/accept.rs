//! Connections of every protocol.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use nodejoin_core::plan::ids::InstanceId;
use nodejoin_core::plan::outside::Scheme;
use nodejoin_net::serve_connections;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::connection::{Port, RequestConnection};
use super::shared_socket::SharedSocket;
use super::{connect_proxy, http_proxy, resolver, serve};
use crate::world_registry::WorldRegistry;

/// Timeout for the start of a connection: `CONNECT`, the TLS handshake, and the headers of each request.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// The protocol of a port.
#[derive(Clone)]
pub(super) enum Protocol {
    /// HTTP: the metadata service of the instance with the source address.
    Metadata,
    /// HTTP: the metadata service of one instance.
    MetadataOf(InstanceId),
    /// HTTPS, and HTTP to hosts outside: every other service, by host name, for nodes.
    TlsOrHttp(TlsAcceptor),
    /// HTTPS, optionally after `CONNECT`: every other service, for the clients of an account.
    TlsOrConnect(TlsAcceptor),
    Dns,
}

/// Serves a port until `stop` is cancelled.
pub(super) async fn run(
    listener: TcpListener,
    protocol: Protocol,
    worlds: Arc<WorldRegistry>,
    stop: CancellationToken,
) {
    serve_connections(listener, stop, |(stream, peer)| {
        connection(stream, peer.ip(), protocol.clone(), Arc::clone(&worlds))
    })
    .await;
}

#[tracing::instrument(level = "debug", skip_all, fields(%source))]
async fn connection(stream: TcpStream, source: IpAddr, protocol: Protocol, worlds: Arc<WorldRegistry>) {
    match protocol {
        Protocol::Metadata => {
            let socket = SharedSocket::new(stream);
            http(socket.clone(), socket, source, Port::Metadata, worlds).await;
        }
        Protocol::MetadataOf(instance) => {
            let (socket, port) = (SharedSocket::new(stream), Port::MetadataOf(instance));
            http(socket.clone(), socket, source, port, worlds).await;
        }
        Protocol::Dns => resolver::serve_tcp(SharedSocket::new(stream), source, worlds).await,
        Protocol::TlsOrHttp(acceptor) => tls_or_http(stream, acceptor, source, worlds).await,
        Protocol::TlsOrConnect(acceptor) => {
            let timeout = worlds.time_factor.scale(START_TIMEOUT);
            let is_answered = |host: &str| {
                let shared = worlds.at(source);
                shared.is_some_and(|shared| shared.lock().world.answers_host(host))
            };
            match tokio::time::timeout(timeout, connect_proxy::accept_tunnel(stream, is_answered)).await {
                Ok(Ok(Some(socket))) => tls(socket, acceptor, source, Port::Services, worlds).await,
                Ok(Ok(None)) => {}
                Ok(Err(error)) => tracing::debug!(%error, "a connection ended before its first request"),
                Err(_) => tracing::debug!("timeout while waiting for a TLS handshake or CONNECT"),
            }
        }
    }
}

/// Serves a node, whose rules lead ports 80 and 443 here.
async fn tls_or_http(stream: TcpStream, acceptor: TlsAcceptor, source: IpAddr, worlds: Arc<WorldRegistry>) {
    let timeout = worlds.time_factor.scale(START_TIMEOUT);
    let mut first = [0];
    match tokio::time::timeout(timeout, stream.peek(&mut first)).await {
        Ok(Ok(0)) => {}
        Ok(Ok(_)) if first == [connect_proxy::HANDSHAKE] => {
            let port = Port::Node(Scheme::Https);
            tls(SharedSocket::new(stream), acceptor, source, port, worlds).await;
        }
        Ok(Ok(_)) => match http_proxy::is_tunnel(&stream, source, &worlds).await {
            Ok(true) => tunnel(stream, acceptor, source, worlds).await,
            Ok(false) => {
                let socket = SharedSocket::new(stream);
                let port = Port::Node(Scheme::Http);
                http(socket.clone(), socket, source, port, worlds).await;
            }
            Err(error) => tracing::debug!(%error, "a connection ended before its first request"),
        },
        Ok(Err(error)) => tracing::debug!(%error, "a connection ended before its first request"),
        Err(_) => tracing::debug!("timeout while waiting for the first byte of a connection"),
    }
}

/// Serves a node through the HTTP proxy of its scenario.
async fn tunnel(stream: TcpStream, acceptor: TlsAcceptor, source: IpAddr, worlds: Arc<WorldRegistry>) {
    let timeout = worlds.time_factor.scale(START_TIMEOUT);
    match http_proxy::open(stream, source, &worlds, timeout).await {
        Ok(Some((socket, Scheme::Https))) => {
            let port = Port::Node(Scheme::Https);
            tls(socket, acceptor, source, port, worlds).await;
        }
        Ok(Some((socket, Scheme::Http))) => {
            let port = Port::Node(Scheme::Http);
            http(socket.clone(), socket, source, port, worlds).await;
        }
        Ok(None) => {}
        Err(error) => tracing::debug!(%error, "a tunnel ended"),
    }
}

async fn tls(
    socket: SharedSocket,
    acceptor: TlsAcceptor,
    source: IpAddr,
    port: Port,
    worlds: Arc<WorldRegistry>,
) {
    let timeout = worlds.time_factor.scale(START_TIMEOUT);
    match tokio::time::timeout(timeout, acceptor.accept(socket.clone())).await {
        Ok(Ok(stream)) => http(stream, socket, source, port, worlds).await,
        Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
        Err(_) => tracing::debug!("timeout of a TLS handshake"),
    }
}

async fn http(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    socket: SharedSocket,
    source: IpAddr,
    port: Port,
    worlds: Arc<WorldRegistry>,
) {
    let timeout = worlds.time_factor.scale(START_TIMEOUT);
    let is_open = AtomicBool::new(false);
    let service = service_fn(move |request| {
        let connection = RequestConnection {
            source,
            port: port.clone(),
            socket: socket.clone(),
            opened: !is_open.swap(true, Ordering::Relaxed),
        };
        serve::request(Arc::clone(&worlds), connection, request)
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(timeout)
        .title_case_headers(true)
        // A client may close its side after its request.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "connection ended");
    }
}
