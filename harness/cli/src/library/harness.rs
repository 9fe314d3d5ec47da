//! A running harness: runs plans, and removes everything when it ends.

use std::sync::Arc;

use nodejoin_core::plan::Plan;
use nodejoin_engine::Runner;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::error::LibraryError;
use super::kept::KeptRuns;
use super::report::{self, ScenarioReport};
use crate::process;

/// A running harness: its scenarios share one network, one fake AWS and one control plane, which start with the first.
///
/// Dropping it cancels what still runs and removes everything, also while a panic unwinds.
///
/// ```no_run
/// # async fn example() -> Result<(), nodejoin::LibraryError> {
/// let nodejoin = nodejoin::Nodejoin::builder().start().await?;
/// nodejoin.scenario("nodes/web.yaml").run().await?.assert_joined();
/// nodejoin
///     .user_data("#!/bin/bash\n/etc/eks/bootstrap.sh {{ cluster.name }}\n")
///     .key("instance", "{ type: m5.large }")
///     .run()
///     .await?
///     .assert_joined();
/// # Ok(())
/// # }
/// ```
pub struct Nodejoin {
    pub(super) running: Option<RunningHarness>,
}

/// What a run on another thread needs.
pub(super) struct RunningHarness {
    pub(super) runtime: Runtime,
    pub(super) runner: Arc<Runner>,
    /// Takes precedence over the runner.
    pub(super) kept: Option<Arc<KeptRuns>>,
    pub(super) cancel: CancellationToken,
    pub(super) runs: TaskTracker,
}

impl Nodejoin {
    /// Runs a plan. Dropping the future cancels the run.
    pub(crate) async fn run(&self, plan: Plan) -> ScenarioReport {
        let cancel = self.running().cancel.child_token();
        let _cancelled_with_this: DropGuard = cancel.clone().drop_guard();
        let ran = self.spawn(plan, cancel).await;
        ran.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
    }

    /// As [`Nodejoin::run`], for a thread without a runtime.
    pub(crate) fn run_and_wait(&self, plan: Plan) -> ScenarioReport {
        let running = self.running();
        let ran = running.runtime.block_on(self.spawn(plan, running.cancel.clone()));
        ran.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
    }

    /// On a thread of its own: a run stays on one thread, the caller may have any executor, and the thread of a test
    /// has a small stack.
    fn spawn(&self, plan: Plan, cancel: CancellationToken) -> JoinHandle<ScenarioReport> {
        let running = self.running();
        let (runner, handle) = (Arc::clone(&running.runner), running.runtime.handle().clone());
        let kept = running.kept.clone();
        let work = move || handle.block_on(report::of(&runner, kept.as_deref(), plan, &cancel));
        running.runs.spawn_blocking_on(work, running.runtime.handle())
    }

    /// Cancels what still runs and removes everything. Returns what could not be removed.
    pub async fn stop(mut self) -> Vec<String> {
        match self.running.take() {
            Some(running) => on_a_thread(move || running.stop()).await,
            None => Vec::new(),
        }
    }

    /// As [`Nodejoin::stop`], for a thread without a runtime.
    pub(super) fn stop_and_wait(mut self) -> Vec<String> {
        self.running.take().map(RunningHarness::stop).unwrap_or_default()
    }

    /// Cancels all runs at the first signal that ends a process, and exits at a later one.
    pub(super) fn cancel_on_signals(&self) -> Result<(), LibraryError> {
        let running = self.running();
        let _entered = running.runtime.enter();
        let signalled = process::cancel_on_signals().map_err(|source| LibraryError::Host {
            what: "listen for signals",
            source,
        })?;
        let cancel = running.cancel.clone();
        running.runtime.spawn(async move {
            signalled.cancelled().await;
            cancel.cancel();
        });
        Ok(())
    }

    fn running(&self) -> &RunningHarness {
        self.running
            .as_ref()
            .expect("only `stop` and the destructor take it")
    }
}

/// Runs blocking work on a thread of its own. The caller may have any executor.
pub(super) async fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, ended) = tokio::sync::oneshot::channel();
    let thread = std::thread::spawn(move || {
        let _ = sender.send(work());
    });
    match ended.await {
        Ok(done) => done,
        Err(_) => std::panic::resume_unwind(thread.join().expect_err("it ended without a result")),
    }
}

impl RunningHarness {
    fn stop(self) -> Vec<String> {
        self.cancel.cancel();
        self.runs.close();
        self.runtime.block_on(self.runs.wait());
        match Arc::into_inner(self.runner) {
            Some(runner) => self.runtime.block_on(runner.tear_down()).left,
            None => vec!["everything: a scenario still runs".to_owned()],
        }
    }
}

impl Drop for Nodejoin {
    fn drop(&mut self) {
        let Some(running) = self.running.take() else {
            return;
        };
        // On a thread of its own: this one may be a worker of another runtime, which must not block on this one's.
        let left = std::thread::spawn(move || running.stop())
            .join()
            .unwrap_or_default();
        for object in left {
            note!("could not remove: {object}; `nodejoin sweep` tries again");
        }
    }
}
