//! DNS over UDP and TCP.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UdpSocket;
use tokio_util::sync::CancellationToken;

use super::line::Line;
use super::worlds::Worlds;
use crate::dns;
use crate::world::AwsEventKind;

/// A connection without a question is let go after this time.
const PATIENCE: Duration = Duration::from_secs(10);
/// More than any question has.
const LARGEST_QUERY: usize = 4096;

/// Answers datagrams until it is stopped. An answer takes microseconds, so one loop serves everybody.
pub(super) async fn serve_udp(socket: UdpSocket, worlds: Arc<Worlds>, stop: CancellationToken) {
    let mut query = [0; LARGEST_QUERY];
    loop {
        let received = tokio::select! {
            () = stop.cancelled() => return,
            received = socket.recv_from(&mut query) => received,
        };
        // An error here belongs to an earlier datagram whose client is gone; there is nobody to tell.
        let Ok((length, peer)) = received else { continue };
        if let Some(answer) = answer(&worlds, peer.ip(), &query[..length]) {
            let _gone = socket.send_to(&answer, peer).await;
        }
    }
}

/// Answers the questions of a connection.
pub(super) async fn serve_tcp(mut stream: Line, source: IpAddr, worlds: Arc<Worlds>) {
    let patience = worlds.time_factor.limit(PATIENCE);
    loop {
        match tokio::time::timeout(patience, exchange(&mut stream, source, &worlds)).await {
            Ok(Ok(true)) => {}
            Ok(Ok(false)) | Ok(Err(_)) | Err(_) => return,
        }
    }
}

/// One question; whether another may follow.
async fn exchange(stream: &mut Line, source: IpAddr, worlds: &Worlds) -> io::Result<bool> {
    let mut query = vec![0; usize::from(stream.read_u16().await?)];
    stream.read_exact(&mut query).await?;
    let Some(answer) = answer(worlds, source, &query) else {
        return Ok(false);
    };
    let Ok(length) = u16::try_from(answer.len()) else {
        return Ok(false);
    };
    stream
        .write_all(&[&length.to_be_bytes()[..], &answer].concat())
        .await?;
    Ok(true)
}

fn answer(worlds: &Worlds, source: IpAddr, query: &[u8]) -> Option<Vec<u8>> {
    let Some(shared) = worlds.at(source) else {
        return dns::refuse(query);
    };
    let instance = shared.lock();
    let (answer, event) = dns::answer(&instance.world, query)?;
    if let Some(event) = event {
        instance.tell(worlds.now(), AwsEventKind::Dns(event));
    }
    Some(answer)
}
