//! Runs many plans, several at once, until the last one or a cancellation, and then removes everything.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use futures::{StreamExt, future, stream};
use nodejoin_core::judge::blame;
use nodejoin_core::judge::verdict::{Outcome, Verdict};
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::ids::RunId;
use nodejoin_core::run::concurrency;
use nodejoin_core::run::event::{RunEvent, Summary};
use nodejoin_docker::doctor::inotify_instances;
use nodejoin_docker::{Engine, TearDown};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::complete::complete;
use crate::context::{EnvironmentSource, RunContext};
use crate::events::Events;
use crate::evidence::EvidenceFolder;
use crate::name_locks::NameLocks;
use crate::probe::{self, ProbeEnd};
use crate::scenario;
use crate::scenario::result::ScenarioResult;
use crate::settings::Settings;
use crate::trace_log::TraceLog;

/// Runs scenarios that share one run on the container engine, each on a thread of its own: one whose node writes
/// without end delays the events of no other.
pub struct Runner {
    shared: Arc<SharedRun>,
    /// Scenarios and probes that run.
    threads: TaskTracker,
}

/// What the scenarios of a run share.
struct SharedRun {
    context: RunContext,
    locks: NameLocks,
}

impl Runner {
    /// Creates a run on this engine. Nothing starts before the first scenario.
    #[must_use]
    pub fn new(engine: Engine, id: RunId, settings: Settings, events: Events) -> Self {
        let source = EnvironmentSource::OwnRun;
        Self::of(RunContext::new(engine, id, settings, events, source))
    }

    pub(crate) fn of(context: RunContext) -> Self {
        let locks = NameLocks::default();
        Self {
            shared: Arc::new(SharedRun { context, locks }),
            threads: TaskTracker::new(),
        }
    }

    /// Notes what traced plans run in this log. Call it before the first of them.
    #[must_use]
    pub fn with_traces(mut self, log: TraceLog) -> Self {
        let shared = Arc::get_mut(&mut self.shared).expect("nothing runs yet");
        shared.context.traces = log;
        self
    }

    /// Runs one scenario and reports its result. A cancelled scenario returns everything that it acquired, too.
    pub async fn run(&self, plan: &Plan, cancel: &CancellationToken) -> Verdict {
        let plan = plan.clone();
        self.on_a_thread(cancel, async move |shared, cancel| {
            shared.run(&plan, &cancel).await
        })
        .await
    }

    /// Runs one plan up to the start of the kubelet, and reads the state of its machine.
    pub async fn probe(&self, plan: &Plan, cancel: &CancellationToken) -> ProbeEnd {
        let plan = plan.clone();
        self.on_a_thread(cancel, async move |shared, cancel| {
            shared.probe(&plan, &cancel).await
        })
        .await
    }

    /// Cancels the work when the future is dropped; [`Runner::tear_down`] waits for its end.
    async fn on_a_thread<T, W>(&self, cancel: &CancellationToken, work: W) -> T
    where
        T: Send + 'static,
        W: AsyncFnOnce(Arc<SharedRun>, CancellationToken) -> T + Send + 'static,
    {
        let (shared, runtime) = (Arc::clone(&self.shared), Handle::current());
        let cancel = cancel.child_token();
        let _cancelled_with_this = cancel.clone().drop_guard();
        let thread = self
            .threads
            .spawn_blocking(move || runtime.block_on(work(shared, cancel)));
        thread
            .await
            .unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
    }

    /// Announces the plans that will run, in their order, `jobs` at a time: the nodes of the next ones boot ahead while
    /// the host has inotify instances for them.
    pub async fn announce<'a>(&self, plans: impl IntoIterator<Item = &'a Plan>, jobs: usize) {
        let factor = self.shared.context.run.engine().time_factor();
        let plans: Vec<Plan> = plans.into_iter().map(|plan| factor.plan(plan)).collect();
        let instances =
            inotify_instances(self.shared.context.run.engine(), &self.shared.context.images).await;
        let allowed = instances.map_or(0, concurrency::nodes_allowed);
        let running = concurrency::max_concurrent_nodes(&plans, jobs);
        let spare = usize::try_from(allowed)
            .unwrap_or(usize::MAX)
            .saturating_sub(running);
        self.shared.context.ahead.announce(plans, jobs.min(spare));
    }

    /// The folder for the evidence of a plan that does not pass.
    #[must_use]
    pub fn evidence_folder(&self, plan: &Plan) -> PathBuf {
        EvidenceFolder::path_for(&self.shared.context.folder.path, plan)
    }

    /// Shuts down this process' tasks, then removes everything that the run created, newest first.
    pub async fn tear_down(self) -> TearDown {
        self.threads.close();
        self.threads.wait().await;
        let shared = Arc::into_inner(self.shared).expect("a thread that has ended shares the run no longer");
        shared.context.tear_down().await
    }
}

impl SharedRun {
    async fn run(&self, plan: &Plan, cancel: &CancellationToken) -> Verdict {
        let _lock = tokio::select! {
            lock = self.locks.acquire(plan) => lock,
            () = cancel.cancelled() => {
                return self.finish(plan, ScenarioResult::without_observation(Outcome::Cancelled), Instant::now());
            }
        };
        let started = Instant::now();
        let plan = &self.context.run.engine().time_factor().plan(plan);
        self.context.ahead.started(plan);
        let result = scenario::run(&self.context, plan, cancel)
            .await
            .unwrap_or_else(|error| scenario::errored_before_start(&self.context, plan, started, &error));
        self.context.ahead.discard(plan);
        self.finish(plan, result, started)
    }

    async fn probe(&self, plan: &Plan, cancel: &CancellationToken) -> ProbeEnd {
        let _lock = tokio::select! {
            lock = self.locks.acquire(plan) => lock,
            () = cancel.cancelled() => return ProbeEnd::Cancelled,
        };
        let plan = &self.context.run.engine().time_factor().plan(plan);
        self.context.ahead.started(plan);
        // Boxed, as a scenario.
        let end = Box::pin(probe::probe(&self.context, plan, cancel)).await;
        self.context.ahead.discard(plan);
        end
    }

    fn finish(&self, plan: &Plan, result: ScenarioResult, started: Instant) -> Verdict {
        self.context.unfinished.fetch_sub(1, Ordering::Relaxed);
        let events = &self.context.events;
        let elapsed = result.started.unwrap_or(started).elapsed();
        let seconds = elapsed.saturating_sub(result.held).as_secs_f64();
        let problems = complete(&self.context, plan, &result, seconds);
        for problem in result.problems.iter().chain(&problems) {
            events.send(RunEvent::Warning {
                text: format!("{}: {problem}", plan.id),
            });
        }
        events.send(RunEvent::ScenarioFinished {
            scenario: plan.id.clone(),
            name: plan.name.clone(),
            file: plan.file.clone(),
            source: blame::locate(plan, &result.verdict),
            verdict: Box::new(result.verdict.clone()),
            seconds,
            evidence: result.evidence.map(|folder| folder.path.display().to_string()),
            kept: result.kept,
        });
        result.verdict
    }
}

/// Runs the plans and tears the run down.
///
/// When `cancel` fires, running scenarios end at once, waiting ones count as cancelled, and the teardown still happens.
pub async fn run_all(runner: Runner, plans: &[Plan], cancel: &CancellationToken) -> Summary {
    let started = Instant::now();
    let context = &runner.shared.context;
    let events = context.events.clone();
    events.send(RunEvent::RunStarted {
        run: context.run.id().clone(),
        scenarios: plans.len(),
        shard: context.settings.shard,
    });
    context.unfinished.store(plans.len(), Ordering::Relaxed);
    // A run that stops at one scenario shows no other.
    let jobs = if context.settings.hold {
        1
    } else {
        context.settings.jobs.max(1)
    };
    if let Some(text) = too_many_nodes(context, plans, jobs).await {
        events.send(RunEvent::Warning { text });
    }
    if !context.settings.hold {
        runner.announce(plans, jobs).await;
    }
    let failed = AtomicBool::new(false);
    let run = async |plan| {
        if context.settings.fail_fast && failed.load(Ordering::Relaxed) {
            return None;
        }
        let verdict = runner.run(plan, cancel).await;
        failed.fetch_or(ends_a_fast_run(&verdict.outcome), Ordering::Relaxed);
        Some(verdict)
    };
    let verdicts: Vec<_> = stream::iter(plans.iter())
        .map(run)
        .buffer_unordered(jobs)
        .filter_map(future::ready)
        .collect()
        .await;
    let mut summary = Summary {
        not_run: plans.len() - verdicts.len(),
        ..Summary::default()
    };
    for verdict in &verdicts {
        summary.count(&verdict.outcome);
    }
    summary.left_behind = runner.tear_down().await.left;
    summary.seconds = started.elapsed().as_secs_f64();
    events.send(RunEvent::RunFinished(summary.clone()));
    summary
}

/// Whether `--fail-fast` starts no scenario after this outcome.
fn ends_a_fast_run(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failed | Outcome::Errored(_))
}

/// A warning when the host has too few inotify instances for the nodes that run at once.
async fn too_many_nodes(context: &RunContext, plans: &[Plan], jobs: usize) -> Option<String> {
    let nodes = concurrency::max_concurrent_nodes(plans, jobs);
    let instances = inotify_instances(context.run.engine(), &context.images).await?;
    concurrency::too_many(nodes, instances)
}
