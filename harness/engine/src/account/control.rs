//! The control socket: one line of JSON asks for a change, one line says what became of it.
//!
//! It is a Unix socket with an abstract name, which ends with its process whatever ends that, and has no path that could be too
//! long. Only the user who serves the account may change it, or root: the kernel says who is at the other end.

use std::fmt;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{SocketAddr, UnixListener as StdListener, UnixStream as StdStream};
use std::path::Path;
use std::time::Duration;

use nodejoin_core::plan::change::{Change, ChangeResult, Refused};
use nodejoin_core::plan::ids::RunId;
use nodejoin_net::serve_connections;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;

use super::error::AccountError;
use super::folder::CONTROL;

/// No change is longer: user data has 16 KiB at most.
const LONGEST: u64 = 1024 * 1024;
/// How long either side waits for the other.
const PATIENCE: Duration = Duration::from_secs(10);

/// The abstract name of a control socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SocketName(String);

impl SocketName {
    pub(super) fn of(run: &RunId) -> Self {
        Self(format!("nodejoin-aws-{run}"))
    }

    fn read(path: &Path) -> io::Result<Self> {
        Ok(Self(fs::read_to_string(path)?.trim().to_owned()))
    }

    fn address(&self) -> io::Result<SocketAddr> {
        SocketAddr::from_abstract_name(&self.0)
    }

    fn connect(&self) -> io::Result<StdStream> {
        StdStream::connect_addr(&self.address()?)
    }
}

impl fmt::Display for SocketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.0)
    }
}

/// Whether somebody listens at the socket that this file names.
pub(super) fn is_served(file: &Path) -> bool {
    SocketName::read(file).and_then(|name| name.connect()).is_ok()
}

/// Asks the account of a folder for a change, and gives what it says.
///
/// # Errors
/// Where nobody serves from the folder, or the change cannot be.
pub fn ask(folder: &Path, change: &Change) -> Result<Vec<String>, AccountError> {
    let nobody = |_| AccountError::Nobody {
        folder: folder.to_owned(),
    };
    let name = SocketName::read(&folder.join(CONTROL)).map_err(nobody)?;
    let stream = name.connect().map_err(nobody)?;
    let answer = exchange(stream, change).map_err(|source| AccountError::Silent {
        folder: folder.to_owned(),
        source,
    })?;
    match answer {
        ChangeResult::Changed(lines) => Ok(lines),
        ChangeResult::Refused(refused) => Err(AccountError::Refused(refused)),
    }
}

fn exchange(mut stream: StdStream, change: &Change) -> io::Result<ChangeResult> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all((serde_json::to_string(change)? + "\n").as_bytes())?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

/// The socket, bound.
#[derive(Debug)]
pub(super) struct Control(UnixListener);

impl Control {
    pub(super) fn bind(name: &SocketName) -> io::Result<Self> {
        let listener = StdListener::bind_addr(&name.address()?)?;
        listener.set_nonblocking(true)?;
        Ok(Self(UnixListener::from_std(listener)?))
    }

    /// Answers changes until it is cancelled.
    pub(super) async fn serve<F>(self, change: F, cancel: CancellationToken)
    where
        F: Fn(&Change) -> Result<Vec<String>, Refused> + Clone + Send + 'static,
    {
        serve_connections(self.0, cancel, |stream| {
            let answered = tokio::time::timeout(PATIENCE, answer(stream, change.clone()));
            async move {
                match answered.await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => tracing::debug!(%error, "a `nodejoin aws set` closed its connection"),
                    Err(_) => tracing::debug!("a `nodejoin aws set` sent nothing before the timeout"),
                }
            }
        })
        .await;
    }
}

async fn answer(
    mut stream: UnixStream,
    change: impl Fn(&Change) -> Result<Vec<String>, Refused>,
) -> io::Result<()> {
    if !is_allowed(&stream)? {
        return Ok(());
    }
    let (read, mut write) = stream.split();
    let mut line = String::new();
    let mut read = tokio::io::BufReader::new(read.take(LONGEST));
    read.read_line(&mut line).await?;
    let answered = match serde_json::from_str::<Change>(&line) {
        Ok(asked) => change(&asked),
        Err(error) => Err(Refused::new(
            format!("no change can be read: {error}"),
            "use the `nodejoin` of the version that serves the account",
        )),
    };
    let answer = answered.map_or_else(ChangeResult::Refused, ChangeResult::Changed);
    write
        .write_all((serde_json::to_string(&answer)? + "\n").as_bytes())
        .await
}

fn is_allowed(stream: &UnixStream) -> io::Result<bool> {
    let own = fs::metadata("/proc/self")?.uid();
    let user = stream.peer_cred()?.uid();
    Ok(user == own || user == 0)
}
