//! The one accept loop of the workspace.

use std::any::Any;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Pause after the first failed accept; each further failure doubles it.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// Longest pause after a failed accept. The usual cause, no free file descriptor, passes as soon as some connection
/// ends.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Limit of the connections of a listener at a time. Further ones wait in the queue of the kernel: clients that never
/// finish their requests cannot exhaust the memory.
const MAX_CONNECTIONS: usize = 256;

/// A socket that accepts connections.
pub trait Listener: Send + Sync {
    type Connection: Send + 'static;

    /// Accepts the next connection. The future is cancel-safe: dropping it loses no connection.
    fn accept(&self) -> impl Future<Output = io::Result<Self::Connection>> + Send;
}

impl Listener for TcpListener {
    type Connection = (TcpStream, SocketAddr);

    async fn accept(&self) -> io::Result<Self::Connection> {
        Self::accept(self).await
    }
}

impl Listener for UnixListener {
    type Connection = UnixStream;

    async fn accept(&self) -> io::Result<Self::Connection> {
        Ok(Self::accept(self).await?.0)
    }
}

/// Accepts connections until `cancel` fires and runs `handler` for each one in a task. Cancellation aborts the tasks
/// that still run and waits for their end.
///
/// While accepting fails (without free file descriptors it fails at once, every time), the loop pauses between
/// attempts, from 10 ms up to 1 s.
///
/// # Panics
/// With the panic of the first handler that panicked, after cancellation: a panic ends its own connection only.
pub async fn serve_connections<L, H, F>(listener: L, cancel: CancellationToken, mut handler: H)
where
    L: Listener,
    H: FnMut(L::Connection) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    let mut backoff = Backoff::default();
    let mut panic = None;
    loop {
        tokio::select! {
            () = cancel.cancelled() => break,
            // Reaps tasks as they end, so that the set does not grow with the number of connections ever served.
            Some(ended) = connections.join_next() => keep_first_panic(&mut panic, ended),
            accepted = backoff.accept(&listener), if connections.len() < MAX_CONNECTIONS => match accepted {
                Ok(connection) => {
                    backoff.reset();
                    connections.spawn(handler(connection));
                }
                Err(error) if is_of_one_connection(&error) => {
                    tracing::debug!(%error, "a connection ended before it was accepted");
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept connections");
                    backoff.grow();
                }
            },
        }
    }
    connections.abort_all();
    while let Some(ended) = connections.join_next().await {
        keep_first_panic(&mut panic, ended);
    }
    if let Some(panic) = panic {
        std::panic::resume_unwind(panic);
    }
}

/// The pause before the next accept. It is a point in time rather than a sleep because `select!` drops the future that
/// waits for it whenever a connection ends.
#[derive(Default)]
struct Backoff {
    pause: Option<Duration>,
    until: Option<Instant>,
}

impl Backoff {
    async fn accept<L: Listener>(&self, listener: &L) -> io::Result<L::Connection> {
        if let Some(until) = self.until {
            tokio::time::sleep_until(until).await;
        }
        listener.accept().await
    }

    fn grow(&mut self) {
        let pause = self
            .pause
            .map_or(FIRST_PAUSE, |pause| (pause * 2).min(LONGEST_PAUSE));
        self.pause = Some(pause);
        self.until = Some(Instant::now() + pause);
    }

    fn reset(&mut self) {
        *self = Self::default();
    }
}

/// Whether the error concerns the connection that was next in the queue; the next accept may succeed at once.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    )
}

fn keep_first_panic(first: &mut Option<Box<dyn Any + Send>>, ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        first.get_or_insert(error.into_panic());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::sync::Mutex;
    use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

    use super::*;

    /// Too many open files.
    const EMFILE: i32 = 24;

    /// Fails `failures` times, then accepts what the channel delivers.
    struct Flaky {
        failures: AtomicU32,
        error: fn() -> io::Error,
        attempts: Arc<AtomicU32>,
        connections: Mutex<UnboundedReceiver<u32>>,
    }

    impl Flaky {
        fn new(failures: u32, error: fn() -> io::Error) -> (Self, Arc<AtomicU32>, UnboundedSender<u32>) {
            let (sender, receiver) = mpsc::unbounded_channel();
            let attempts = Arc::new(AtomicU32::new(0));
            let listener = Self {
                failures: AtomicU32::new(failures),
                error,
                attempts: Arc::clone(&attempts),
                connections: Mutex::new(receiver),
            };
            (listener, attempts, sender)
        }
    }

    impl Listener for Flaky {
        type Connection = u32;

        async fn accept(&self) -> io::Result<u32> {
            if self.failures.load(Ordering::Relaxed) > 0 {
                self.failures.fetch_sub(1, Ordering::Relaxed);
                self.attempts.fetch_add(1, Ordering::Relaxed);
                return Err((self.error)());
            }
            match self.connections.lock().await.recv().await {
                Some(connection) => Ok(connection),
                None => std::future::pending().await,
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn failed_accepts_back_off_up_to_a_second() {
        let (listener, attempts, _sender) = Flaky::new(u32::MAX, || io::Error::from_raw_os_error(EMFILE));
        let cancel = CancellationToken::new();
        let server = tokio::spawn(serve_connections(listener, cancel.clone(), async |_| {}));
        tokio::time::sleep(Duration::from_secs(60)).await;
        // 10 + 20 + ... + 640 ms are seven attempts in 1.27 s; then one attempt each second.
        let attempts = attempts.load(Ordering::Relaxed);
        assert!((60..=70).contains(&attempts), "{attempts} attempts in a minute");
        cancel.cancel();
        server.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_after_failures_is_served() {
        let (listener, _, sender) = Flaky::new(3, || io::Error::from_raw_os_error(EMFILE));
        let (served, mut seen) = mpsc::unbounded_channel();
        let cancel = CancellationToken::new();
        let started = Instant::now();
        let server = tokio::spawn(serve_connections(listener, cancel.clone(), move |connection| {
            let served = served.clone();
            async move { served.send(connection).unwrap() }
        }));
        sender.send(7).unwrap();
        assert_eq!(seen.recv().await, Some(7));
        assert_eq!(started.elapsed().as_millis(), 10 + 20 + 40);
        cancel.cancel();
        server.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn an_aborted_connection_does_not_delay_the_next() {
        let (listener, _, sender) = Flaky::new(3, || io::ErrorKind::ConnectionAborted.into());
        let (served, mut seen) = mpsc::unbounded_channel();
        let cancel = CancellationToken::new();
        let started = Instant::now();
        let server = tokio::spawn(serve_connections(listener, cancel.clone(), move |connection| {
            let served = served.clone();
            async move { served.send(connection).unwrap() }
        }));
        sender.send(7).unwrap();
        assert_eq!(seen.recv().await, Some(7));
        assert_eq!(started.elapsed(), Duration::ZERO);
        cancel.cancel();
        server.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn connections_beyond_the_limit_wait_until_one_ends() {
        let (listener, _, sender) = Flaky::new(0, || io::ErrorKind::Other.into());
        let cancel = CancellationToken::new();
        let (opened, mut seen) = mpsc::unbounded_channel();
        let ended = CancellationToken::new();
        let first = ended.clone();
        let server = tokio::spawn(serve_connections(listener, cancel.clone(), move |connection| {
            let (opened, first) = (opened.clone(), first.clone());
            async move {
                opened.send(connection).unwrap();
                match connection {
                    0 => first.cancelled().await,
                    _ => std::future::pending().await,
                }
            }
        }));
        let limit = u32::try_from(MAX_CONNECTIONS).unwrap();
        for connection in 0..=limit {
            sender.send(connection).unwrap();
        }
        for connection in 0..limit {
            assert_eq!(seen.recv().await, Some(connection));
        }
        // The clock is paused: it moves on only when nothing else can.
        let next = tokio::time::timeout(Duration::from_secs(60), seen.recv()).await;
        assert!(next.is_err(), "connection {next:?} exceeds the limit");
        ended.cancel();
        assert_eq!(seen.recv().await, Some(limit));
        cancel.cancel();
        server.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn cancellation_ends_open_connections_and_a_pause() {
        let (listener, _, sender) = Flaky::new(0, || io::ErrorKind::Other.into());
        let cancel = CancellationToken::new();
        let (alive, mut opened) = mpsc::unbounded_channel();
        let server = tokio::spawn(serve_connections(listener, cancel.clone(), move |connection| {
            let alive = alive.clone();
            async move {
                alive.send(connection).unwrap();
                std::future::pending().await
            }
        }));
        sender.send(1).unwrap();
        assert_eq!(opened.recv().await, Some(1));
        cancel.cancel();
        server.await.unwrap();
        assert_eq!(opened.recv().await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_leaves_other_connections_alone_and_is_raised_at_the_end() {
        let (listener, _, sender) = Flaky::new(0, || io::ErrorKind::Other.into());
        let (served, mut seen) = mpsc::unbounded_channel();
        let cancel = CancellationToken::new();
        let server = tokio::spawn(serve_connections(listener, cancel.clone(), move |connection| {
            let served = served.clone();
            async move {
                assert_ne!(connection, 1, "the first connection panics");
                served.send(connection).unwrap();
            }
        }));
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        assert_eq!(seen.recv().await, Some(2));
        cancel.cancel();
        assert!(server.await.unwrap_err().is_panic());
    }
}
