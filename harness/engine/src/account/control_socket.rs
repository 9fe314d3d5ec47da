//! The control socket: a request is one line of JSON with a change, the response one line with the new state.
//!
//! It is a Unix socket with an abstract name: it ends with its process, however that ends, and its name cannot be too
//! long for a path. Only the user who runs the account, or root, can change it: the kernel identifies the peer.

use std::fmt;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{SocketAddr, UnixListener as StdListener, UnixStream as StdStream};
use std::path::Path;
use std::time::Duration;

use nodejoin_core::plan::change::{ChangeRequest, ChangeResult, Refused};
use nodejoin_core::plan::ids::RunId;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_net::serve_connections;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;

use super::error::AccountError;

/// The file with the name of the control socket, in the folder of its account.
pub(super) const CONTROL_FILE: &str = "control";
/// Names of control sockets start so.
const PREFIX: &str = "nodejoin-aws-";
/// Maximum size of a change. The largest is user data, of at most 16 KiB.
const MAX_CHANGE_BYTES: u64 = 1024 * 1024;
/// Timeout of either side for the other.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The abstract name of a control socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SocketName(String);

impl SocketName {
    pub(super) fn of(run: &RunId) -> Self {
        Self(format!("{PREFIX}{run}"))
    }

    fn read(path: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(path)?;
        Ok(Self(text.lines().next().unwrap_or_default().to_owned()))
    }

    /// Whether a text is the name of a control socket.
    pub(super) fn is_valid(text: &str) -> bool {
        text.starts_with(PREFIX)
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

/// Whether a process listens at the socket whose name is in this file.
pub(super) fn is_served(file: &Path) -> bool {
    SocketName::read(file).and_then(|name| name.connect()).is_ok()
}

/// Requests a change of the account that runs in a folder. Returns the lines of its new state.
///
/// # Errors
/// When no account runs in the folder, or the change is invalid.
pub fn request_change(
    folder: &Path,
    change: &ChangeRequest,
    factor: TimeFactor,
) -> Result<Vec<String>, AccountError> {
    let not_running = |_| AccountError::NotRunning {
        folder: folder.to_owned(),
    };
    let name = SocketName::read(&folder.join(CONTROL_FILE)).map_err(not_running)?;
    let stream = name.connect().map_err(not_running)?;
    let result =
        exchange(stream, change, factor.scale(TIMEOUT)).map_err(|source| AccountError::NoResponse {
            folder: folder.to_owned(),
            source,
        })?;
    match result {
        ChangeResult::Changed(lines) => Ok(lines),
        ChangeResult::Refused(refused) => Err(AccountError::Refused(refused)),
    }
}

fn exchange(mut stream: StdStream, change: &ChangeRequest, timeout: Duration) -> io::Result<ChangeResult> {
    stream.set_read_timeout(Some(timeout))?;
    stream.write_all((serde_json::to_string(change)? + "\n").as_bytes())?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

/// The bound socket.
#[derive(Debug)]
pub(super) struct ControlSocket(UnixListener);

impl ControlSocket {
    pub(super) fn bind(name: &SocketName) -> io::Result<Self> {
        let listener = StdListener::bind_addr(&name.address()?)?;
        listener.set_nonblocking(true)?;
        Ok(Self(UnixListener::from_std(listener)?))
    }

    /// Applies changes until cancellation.
    pub(super) async fn serve<F>(self, change: F, factor: TimeFactor, cancel: CancellationToken)
    where
        F: Fn(&ChangeRequest) -> Result<Vec<String>, Refused> + Clone + Send + 'static,
    {
        serve_connections(self.0, cancel, |stream| {
            let responded = tokio::time::timeout(factor.scale(TIMEOUT), respond(stream, change.clone()));
            async move {
                match responded.await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => tracing::debug!(%error, "a `nodejoin aws set` closed its connection"),
                    Err(_) => tracing::debug!("a `nodejoin aws set` sent nothing before the timeout"),
                }
            }
        })
        .await;
    }
}

async fn respond(
    mut stream: UnixStream,
    change: impl Fn(&ChangeRequest) -> Result<Vec<String>, Refused>,
) -> io::Result<()> {
    if !is_allowed(&stream)? {
        return Ok(());
    }
    let (read, mut write) = stream.split();
    let mut line = String::new();
    let mut read = tokio::io::BufReader::new(read.take(MAX_CHANGE_BYTES));
    read.read_line(&mut line).await?;
    let changed = match serde_json::from_str::<ChangeRequest>(&line) {
        Ok(requested) => change(&requested),
        Err(error) => Err(Refused::new(
            format!("invalid change: {error}"),
            "use the same version of `nodejoin` as the running account",
        )),
    };
    let result = changed.map_or_else(ChangeResult::Refused, ChangeResult::Changed);
    write
        .write_all((serde_json::to_string(&result)? + "\n").as_bytes())
        .await
}

fn is_allowed(stream: &UnixStream) -> io::Result<bool> {
    let this_user = fs::metadata("/proc/self")?.uid();
    let user = stream.peer_cred()?.uid();
    Ok(user == this_user || user == 0)
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;
    use nodejoin_core::plan::change::Change;
    use nodejoin_docker::new_run_id;

    /// A client of a socket that returns each change as its debug text.
    async fn client(factor: &str) -> (StdStream, CancellationToken) {
        let name = SocketName::of(&new_run_id());
        let socket = ControlSocket::bind(&name).unwrap();
        let cancel = CancellationToken::new();
        let change = |change: &ChangeRequest| Ok(vec![format!("{change:?}")]);
        tokio::spawn(socket.serve(change, factor.parse().unwrap(), cancel.clone()));
        (name.connect().unwrap(), cancel)
    }

    fn everything() -> ChangeRequest {
        ChangeRequest {
            instance: None,
            change: Change::Everything,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_timeout_of_a_silent_client_follows_the_time_factor() {
        for (factor, seconds) in [("1", 10), ("3", 30)] {
            let (stream, _cancel) = client(factor).await;
            stream.set_nonblocking(true).unwrap();
            let mut stream = UnixStream::from_std(stream).unwrap();
            let start = tokio::time::Instant::now();
            assert_eq!(
                stream.read(&mut [0]).await.unwrap(),
                0,
                "the server closes the connection"
            );
            assert_eq!(start.elapsed().as_secs(), seconds, "factor {factor}");
        }
    }

    /// Sends a change and prints the length of the response.
    const CLIENT: &str = "import socket, sys
client = socket.socket(socket.AF_UNIX)
client.settimeout(60)
client.connect(chr(0) + sys.argv[1])
try:
    client.sendall(sys.argv[2].encode() + bytes([10]))
    print(len(client.recv(1000)))
except ConnectionError:
    print(0)
";

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn another_user_cannot_change_the_account() {
        if fs::metadata("/proc/self").unwrap().uid() != 0 {
            eprintln!("skipped: only root can start a program as another user");
            return;
        }
        let name = SocketName::of(&new_run_id());
        let socket = ControlSocket::bind(&name).unwrap();
        let cancel = CancellationToken::new();
        let (applied, mut seen) = tokio::sync::mpsc::unbounded_channel();
        let change = move |_: &ChangeRequest| {
            applied.send(()).unwrap();
            Ok(vec!["changed".to_owned()])
        };
        tokio::spawn(socket.serve(change, "1".parse().unwrap(), cancel.clone()));
        let request = serde_json::to_string(&everything()).unwrap();
        let send_as = async |user: &str| {
            let user = format!("--reuid={user}");
            let mut client = tokio::process::Command::new("setpriv");
            // The Python of a home folder is not for other users.
            client.env("PATH", "/usr/local/bin:/usr/bin:/bin");
            client.args([user.as_str(), "--clear-groups", "python3", "-c", CLIENT]);
            client.args([name.0.as_str(), request.as_str()]);
            let output = client.output().await.unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        assert_eq!(send_as("65534").await, "0");
        assert!(seen.try_recv().is_err(), "the change of another user was applied");
        assert_ne!(send_as("0").await, "0");
        assert!(seen.try_recv().is_ok());
        cancel.cancel();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_change_returns_the_lines_of_the_new_state() {
        let (stream, cancel) = client("1").await;
        let exchanged =
            tokio::task::spawn_blocking(|| exchange(stream, &everything(), Duration::from_secs(20)));
        let result = exchanged.await.unwrap().unwrap();
        assert!(
            matches!(&result, ChangeResult::Changed(lines) if lines.len() == 1),
            "{result:?}"
        );
        cancel.cancel();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_invalid_change_is_refused_with_a_hint() {
        let (mut stream, _cancel) = client("1").await;
        let read = tokio::task::spawn_blocking(move || {
            stream.write_all(b"{}\n").unwrap();
            let mut line = String::new();
            BufReader::new(stream).read_line(&mut line).unwrap();
            line
        });
        let result: ChangeResult = serde_json::from_str(&read.await.unwrap()).unwrap();
        assert!(
            matches!(&result, ChangeResult::Refused(refused) if refused.what.starts_with("invalid change") && refused.hint.is_some()),
            "{result:?}"
        );
    }
}
