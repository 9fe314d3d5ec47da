//! The client's side: leases a keeper for one run, and receives its events.

use std::io;

use nodejoin_core::run::event::{RunEvent, Summary};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

use super::address::{KeeperAddress, this_user};
use super::error::KeeperError;
use super::protocol::{KeeperReply, KeeperRequest, KeeperStatus, LeaseRequest, read_line, write_line};
use crate::events::Events;
use crate::trace_log::TraceLog;

/// Connects to the keeper at this address; `None` if none listens.
///
/// # Errors
/// When the process that listens belongs to another user.
pub async fn connect(address: &KeeperAddress) -> Result<Option<UnixStream>, KeeperError> {
    let Ok(stream) = UnixStream::connect(address.socket()).await else {
        return Ok(None);
    };
    let user = stream.peer_cred().map(|peer| peer.uid());
    match (user, this_user()) {
        (Ok(peer), Ok(own)) if peer == own => Ok(Some(stream)),
        _ => Err(KeeperError::OtherUser {
            path: address.socket(),
        }),
    }
}

/// Runs scenarios in a keeper and passes their events on, and what traced plans run to `traces`. When `cancel` fires,
/// the keeper ends the run and removes what it created, as a run without a keeper does.
///
/// # Errors
/// [`KeeperError::NotAccepted`] when the keeper was about to end: nothing has started. Otherwise when it ends before
/// the run does.
pub async fn lease(
    address: &KeeperAddress,
    stream: UnixStream,
    request: LeaseRequest,
    events: &Events,
    traces: &TraceLog,
    cancel: &CancellationToken,
) -> Result<Summary, KeeperError> {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    let request = KeeperRequest::Run(Box::new(request));
    write_line(&mut write, &request)
        .await
        .map_err(|_| KeeperError::NotAccepted)?;
    match read_line(&mut read).await {
        Ok(Some(KeeperReply::Accepted)) => {}
        _ => return Err(KeeperError::NotAccepted),
    }
    let mut is_cancelled = false;
    let receive = async {
        loop {
            match next(address, &mut read).await? {
                KeeperReply::Event(event) => match *event {
                    RunEvent::RunFinished(summary) => {
                        events.send(RunEvent::RunFinished(summary.clone()));
                        return Ok(summary);
                    }
                    event => events.send(event),
                },
                KeeperReply::Traces(entries) => traces.extend(entries),
                KeeperReply::Accepted
                | KeeperReply::Answer(_)
                | KeeperReply::Status(_)
                | KeeperReply::Stopping => {}
            }
        }
    };
    tokio::pin!(receive);
    loop {
        tokio::select! {
            received = &mut receive => return received,
            () = cancel.cancelled(), if !is_cancelled => {
                is_cancelled = true;
                // The keeper takes the end of the stream as the request to cancel.
                let _ = write.shutdown().await;
            }
        }
    }
}

pub(super) async fn next(
    address: &KeeperAddress,
    read: &mut BufReader<tokio::net::unix::OwnedReadHalf>,
) -> Result<KeeperReply, KeeperError> {
    let ended = || KeeperError::Ended { log: address.log() };
    match read_line(read).await {
        Ok(Some(reply)) => Ok(reply),
        Ok(None) => Err(ended()),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(KeeperError::Unreadable(error)),
        Err(_) => Err(ended()),
    }
}

/// The state of the keeper at this address; `None` if none answers.
///
/// # Errors
/// When the process that listens belongs to another user.
pub async fn status(address: &KeeperAddress) -> Result<Option<KeeperStatus>, KeeperError> {
    match request(address, &KeeperRequest::Status).await? {
        Some((KeeperReply::Status(status), _)) => Ok(Some(status)),
        _ => Ok(None),
    }
}

/// Stops the keeper at this address. Returns whether one was running; it has removed everything when this returns.
///
/// # Errors
/// When the process that listens belongs to another user.
pub async fn stop(address: &KeeperAddress) -> Result<bool, KeeperError> {
    stopped(address, &KeeperRequest::Stop).await
}

/// Stops the keeper at this address unless another client has a run in it. Returns whether it stopped.
///
/// # Errors
/// When the process that listens belongs to another user.
pub async fn stop_if_unused(address: &KeeperAddress) -> Result<bool, KeeperError> {
    stopped(address, &KeeperRequest::StopIfUnused).await
}

async fn stopped(address: &KeeperAddress, stop: &KeeperRequest) -> Result<bool, KeeperError> {
    let Some((KeeperReply::Stopping, mut stream)) = request(address, stop).await? else {
        return Ok(false);
    };
    // It sends nothing more, and closes the connection at its end.
    let _ = stream.read_to_end(&mut Vec::new()).await;
    Ok(true)
}

async fn request(
    address: &KeeperAddress,
    request: &KeeperRequest,
) -> Result<Option<(KeeperReply, BufReader<UnixStream>)>, KeeperError> {
    let Some(mut stream) = connect(address).await? else {
        return Ok(None);
    };
    if write_line(&mut stream, request).await.is_err() {
        return Ok(None);
    }
    let mut stream = BufReader::new(stream);
    let reply = read_line(&mut stream).await.ok().flatten();
    Ok(reply.map(|reply| (reply, stream)))
}
