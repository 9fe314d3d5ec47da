//! The keeper's side: accepts connections of its own user, runs their scenarios, and ends when it is idle.

use std::fs::File;
use std::future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nodejoin_core::plan::ids::RunId;
use nodejoin_core::run::event::RunEvent;
use nodejoin_docker::{Engine, ImageSettings};
use nodejoin_net::serve_connections;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::address::{KeeperAddress, this_user};
use super::error::KeeperError;
use super::protocol::{
    KeeperReply, KeeperRequest, KeeperStatus, LeaseRequest, LeaseSettings, SessionRequest, read_line,
    write_line,
};
use super::serve_session::serve_session;
use crate::context::{EnvironmentSource, RunContext};
use crate::environment_pool::EnvironmentPool;
use crate::events::Events;
use crate::runner::{Runner, run_all};
use crate::trace_log::TraceLog;

/// Until a connected client has sent its request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// A keeper that listens.
pub struct BoundKeeper {
    listener: UnixListener,
    socket: PathBuf,
    /// Held until everything is removed: the next keeper starts then.
    _lock: File,
}

impl BoundKeeper {
    /// Listens at the address; `None` if another keeper has it.
    ///
    /// # Errors
    /// When its files cannot be created.
    pub fn bind(address: &KeeperAddress) -> Result<Option<Self>, KeeperError> {
        let bound = address.listen()?;
        Ok(bound.map(|(listener, lock)| Self {
            listener,
            socket: address.socket(),
            _lock: lock,
        }))
    }
}

/// Keeps environments and runs the scenarios of clients in them.
#[derive(Clone)]
pub struct Keeper {
    engine: Engine,
    images: ImageSettings,
    idle: Duration,
    started: Instant,
    pool: Arc<EnvironmentPool>,
    /// Number of runs.
    runs: watch::Sender<usize>,
    connections: TaskTracker,
    stop: CancellationToken,
    /// Clients that wait for the end of the keeper. Their connections close when everything is removed.
    waiting: Arc<Mutex<Vec<OwnedWriteHalf>>>,
}

impl Keeper {
    /// A keeper that stops after `idle` without a run.
    #[must_use]
    pub fn new(engine: Engine, images: ImageSettings, idle: Duration) -> Self {
        Self {
            engine,
            images,
            idle,
            started: Instant::now(),
            pool: Arc::default(),
            runs: watch::channel(0).0,
            connections: TaskTracker::new(),
            stop: CancellationToken::new(),
            waiting: Arc::default(),
        }
    }

    /// Serves until it is idle, stopped, or `cancel` fires. Then cancels all runs and removes everything. Returns what
    /// could not be removed.
    pub async fn serve(self, bound: BoundKeeper, cancel: CancellationToken) -> Vec<String> {
        let accepting = CancellationToken::new();
        let serving = serve_connections(bound.listener, accepting.clone(), |stream| {
            self.connections.spawn(self.clone().connection(stream));
            future::ready(())
        });
        let ending = async {
            tokio::select! {
                () = cancel.cancelled() => {}
                () = self.stop.cancelled() => {}
                () = idle(&self.runs, self.idle) => {}
            }
            // First, so that new clients start another keeper, which waits for the lock.
            let _ = std::fs::remove_file(&bound.socket);
            accepting.cancel();
        };
        tokio::join!(serving, ending);
        self.stop.cancel();
        self.connections.close();
        self.connections.wait().await;
        self.pool.shut_down().await
    }

    async fn connection(self, stream: UnixStream) {
        match is_this_user(&stream) {
            Ok(true) => {}
            Ok(false) | Err(_) => return,
        }
        let (read, mut write) = stream.into_split();
        let mut read = BufReader::new(read);
        let timeout = self.engine.time_factor().scale(REQUEST_TIMEOUT);
        let request = tokio::time::timeout(timeout, read_line(&mut read)).await;
        let written = match request {
            Ok(Ok(Some(KeeperRequest::Run(request)))) => return self.lease(*request, read, write).await,
            Ok(Ok(Some(KeeperRequest::Session(request)))) => {
                return self.session(*request, read, write).await;
            }
            Ok(Ok(Some(KeeperRequest::Status))) => {
                write_line(&mut write, &KeeperReply::Status(self.status())).await
            }
            Ok(Ok(Some(KeeperRequest::Stop))) => self.stop(write).await,
            Ok(Ok(Some(KeeperRequest::StopIfUnused))) => match stop_if_unused(&self.runs, &self.stop) {
                true => self.stop(write).await,
                false => write_line(&mut write, &KeeperReply::Status(self.status())).await,
            },
            Ok(Ok(None)) | Err(_) => Ok(()),
            Ok(Err(error)) => Err(error),
        };
        if let Err(error) = written {
            tracing::debug!(%error, "a client closed its connection");
        }
    }

    /// Ends the keeper. The client learns of the end by that of its connection.
    async fn stop(&self, mut write: OwnedWriteHalf) -> std::io::Result<()> {
        let written = write_line(&mut write, &KeeperReply::Stopping).await;
        self.waiting.lock().push(write);
        self.stop.cancel();
        written
    }

    /// Runs scenarios until they have a verdict, or the client closes its connection.
    async fn lease(&self, request: LeaseRequest, read: BufReader<OwnedReadHalf>, mut write: OwnedWriteHalf) {
        // Counted before the check, so that no client stops the keeper as unused from here on.
        let _counted = CountedRun::new(&self.runs);
        if self.stop.is_cancelled() || write_line(&mut write, &KeeperReply::Accepted).await.is_err() {
            return;
        }
        let cancel = self.stop.child_token();
        let (runner, stream) = self.runner(request.run, request.settings);
        let traces = TraceLog::default();
        let runner = runner.with_traces(traces.clone());
        let (runtime, token) = (Handle::current(), cancel.clone());
        // On a thread of its own: a run stays on one thread.
        let run = tokio::task::spawn_blocking(move || {
            runtime.block_on(run_all(runner, &request.plans, &token));
        });
        let work = async {
            let (run, ()) = tokio::join!(run, forward(stream, &traces, write, &cancel));
            if let Err(error) = run {
                tracing::error!(%error, "a run ended early");
            }
        };
        tokio::select! {
            () = work => {}
            never = cancel_at_end(read, &cancel) => match never {},
        }
    }

    /// Runs the plans that a client sends one by one, until it ends the session or closes its connection.
    async fn session(
        &self,
        request: SessionRequest,
        read: BufReader<OwnedReadHalf>,
        mut write: OwnedWriteHalf,
    ) {
        // Counted before the check, as a lease.
        let _counted = CountedRun::new(&self.runs);
        if self.stop.is_cancelled() || write_line(&mut write, &KeeperReply::Accepted).await.is_err() {
            return;
        }
        let cancel = self.stop.child_token();
        let (runner, stream) = self.runner(request.run, request.settings);
        serve_session(runner, stream, read, write, &cancel).await;
    }

    /// A run in environments of the pool, and its events.
    fn runner(&self, run: RunId, settings: LeaseSettings) -> (Runner, UnboundedReceiver<RunEvent>) {
        let (events, stream) = Events::stream();
        let context = RunContext::new(
            self.engine.clone(),
            run,
            settings.into_settings(self.images.clone()),
            events,
            EnvironmentSource::Pool(Arc::clone(&self.pool)),
        );
        (Runner::of(context), stream)
    }

    fn status(&self) -> KeeperStatus {
        KeeperStatus {
            pid: std::process::id(),
            folder: std::env::current_dir().unwrap_or_default(),
            seconds: self.started.elapsed().as_secs(),
            idle_seconds: self.idle.as_secs(),
            runs: *self.runs.borrow(),
            environments: self.pool.describe(),
            last_removal: self.pool.last_removal(),
        }
    }
}

/// Waits until there was no run for this time.
async fn idle(runs: &watch::Sender<usize>, time: Duration) {
    let mut runs = runs.subscribe();
    loop {
        // The keeper holds the sender while this waits.
        let _ = runs.wait_for(|count| *count == 0).await;
        tokio::select! {
            () = tokio::time::sleep(time) => return,
            _ = runs.wait_for(|count| *count > 0) => {}
        }
    }
}

/// Cancels `stop` if there is no run. A run that is counted later finds it cancelled.
fn stop_if_unused(runs: &watch::Sender<usize>, stop: &CancellationToken) -> bool {
    let mut is_unused = false;
    // Locks the counter meanwhile.
    runs.send_if_modified(|count| {
        is_unused = *count == 0;
        if is_unused {
            stop.cancel();
        }
        false
    });
    is_unused
}

/// Counts a run until it is dropped.
struct CountedRun<'a>(&'a watch::Sender<usize>);

impl<'a> CountedRun<'a> {
    fn new(runs: &'a watch::Sender<usize>) -> Self {
        runs.send_modify(|count| *count += 1);
        Self(runs)
    }
}

impl Drop for CountedRun<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// Sends the events of a run to its client, and what its traced plans ran. Cancels the run of a client that is gone.
async fn forward(
    mut events: UnboundedReceiver<RunEvent>,
    traces: &TraceLog,
    mut write: OwnedWriteHalf,
    cancel: &CancellationToken,
) {
    while let Some(event) = events.recv().await {
        let is_last = matches!(event, RunEvent::RunFinished(_));
        // All of them are noted before the last event.
        let traced = traces.take();
        let traced = (!traced.is_empty()).then_some(KeeperReply::Traces(traced));
        for reply in traced.into_iter().chain([KeeperReply::Event(Box::new(event))]) {
            if write_line(&mut write, &reply).await.is_err() {
                cancel.cancel();
                return;
            }
        }
        if is_last {
            return;
        }
    }
}

/// Cancels the run once the client has closed its side, also by its death.
async fn cancel_at_end(
    mut read: BufReader<OwnedReadHalf>,
    cancel: &CancellationToken,
) -> std::convert::Infallible {
    while matches!(read.read(&mut [0; 64]).await, Ok(1..)) {}
    cancel.cancel();
    future::pending().await
}

fn is_this_user(stream: &UnixStream) -> std::io::Result<bool> {
    Ok(stream.peer_cred()?.uid() == this_user()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_keeper_is_idle_after_its_time_without_a_run() {
        let runs = watch::channel(0).0;
        let start = tokio::time::Instant::now();
        let run = async {
            tokio::time::sleep(Duration::from_secs(40)).await;
            let _counted = CountedRun::new(&runs);
            tokio::time::sleep(Duration::from_secs(100)).await;
        };
        tokio::join!(run, idle(&runs, Duration::from_secs(60)));
        assert_eq!(start.elapsed(), Duration::from_secs(200));
    }

    #[test]
    fn a_keeper_with_a_run_is_not_unused() {
        let (runs, stop) = (watch::channel(0).0, CancellationToken::new());
        let counted = CountedRun::new(&runs);
        assert!(!stop_if_unused(&runs, &stop));
        assert!(!stop.is_cancelled());
        drop(counted);
        assert!(stop_if_unused(&runs, &stop));
        assert!(stop.is_cancelled());
    }

    #[tokio::test]
    async fn a_client_that_closes_its_connection_cancels_its_run() {
        let (client, server) = UnixStream::pair().unwrap();
        assert!(is_this_user(&server).unwrap());
        let (read, write) = server.into_split();
        let (events, stream) = Events::stream();
        let cancel = CancellationToken::new();
        drop(client);
        tokio::select! {
            () = cancel.cancelled() => {}
            never = cancel_at_end(BufReader::new(read), &cancel) => match never {},
        }
        let cancel = CancellationToken::new();
        events.send(RunEvent::Cancelling);
        forward(stream, &TraceLog::default(), write, &cancel).await;
        assert!(cancel.is_cancelled(), "writing fails as well");
    }
}
