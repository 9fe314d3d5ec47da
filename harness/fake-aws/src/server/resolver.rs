//! DNS over UDP and TCP.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UdpSocket;
use tokio_util::sync::CancellationToken;

use super::shared_socket::SharedSocket;
use crate::dns;
use crate::world::AwsEventKind;
use crate::world_registry::WorldRegistry;

/// Timeout for the next query of a connection.
const QUERY_TIMEOUT: Duration = Duration::from_secs(10);
/// Limit of a datagram; every query is shorter.
const MAX_QUERY: usize = 4096;

/// Serves datagrams until `stop` is cancelled. A response takes microseconds, so that one loop serves every client.
pub(super) async fn serve_udp(socket: UdpSocket, worlds: Arc<WorldRegistry>, stop: CancellationToken) {
    let mut query = [0; MAX_QUERY];
    loop {
        let received = tokio::select! {
            () = stop.cancelled() => return,
            received = socket.recv_from(&mut query) => received,
        };
        // The error belongs to an earlier datagram whose client has closed its socket.
        let Ok((length, peer)) = received else { continue };
        if let Some(response) = respond(&worlds, peer.ip(), &query[..length]) {
            let _gone = socket.send_to(&response, peer).await;
        }
    }
}

/// Serves the queries of a connection.
pub(super) async fn serve_tcp(mut stream: SharedSocket, source: IpAddr, worlds: Arc<WorldRegistry>) {
    let timeout = worlds.time_factor.scale(QUERY_TIMEOUT);
    loop {
        match tokio::time::timeout(timeout, serve_query(&mut stream, source, &worlds)).await {
            Ok(Ok(true)) => {}
            Ok(Ok(false)) | Ok(Err(_)) | Err(_) => return,
        }
    }
}

/// Serves one query; returns whether another may follow.
async fn serve_query(stream: &mut SharedSocket, source: IpAddr, worlds: &WorldRegistry) -> io::Result<bool> {
    let mut query = vec![0; usize::from(stream.read_u16().await?)];
    stream.read_exact(&mut query).await?;
    let Some(response) = respond(worlds, source, &query) else {
        return Ok(false);
    };
    let Ok(length) = u16::try_from(response.len()) else {
        return Ok(false);
    };
    stream
        .write_all(&[&length.to_be_bytes()[..], &response].concat())
        .await?;
    Ok(true)
}

fn respond(worlds: &WorldRegistry, source: IpAddr, query: &[u8]) -> Option<Vec<u8>> {
    let Some(shared) = worlds.at(source) else {
        return dns::refuse(query);
    };
    let mut guard = shared.lock();
    let instance = &mut *guard;
    let now = worlds.now();
    let reply = dns::respond(&instance.world, query, |name| instance.dns_faults.fire(name, now))?;
    if let Some(event) = reply.event {
        instance.record(now, AwsEventKind::Dns(event));
    }
    reply.response
}
