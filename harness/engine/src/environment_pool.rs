//! Environments that a keeper keeps: a run takes one, and returns it at its end.
//!
//! ```text
//! take: idle -> checked -> used        none idle: started, in a run of its own
//! give_back: used -> restored -> idle  not restored: removed
//! ```
//!
//! One run at a time has an environment, so that runs meet as little as without a keeper.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use nodejoin_cluster::Provider;
use nodejoin_core::judge::verdict::Outcome;
use nodejoin_core::plan::Plan;
use nodejoin_core::run::error_chain::chain;
use nodejoin_core::run::event::RunEvent;
use nodejoin_docker::{Engine, Run, new_run_id};
use nodejoin_fake_aws::RegistryImage;
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::environment::{Environment, EnvironmentKey, PoolKey, Pooled, report_ready};
use crate::error::EngineError;
use crate::events::Events;

/// Number of environments that wait for a run. A control plane uses some hundred megabytes.
const MOST_IDLE: usize = 3;
/// Age at which an environment is not used again: a sweep removes objects after a day.
const OLDEST: Duration = Duration::from_secs(12 * 3600);

/// The environments of a keeper.
#[derive(Default)]
pub(crate) struct EnvironmentPool {
    state: Mutex<PoolState>,
    /// Changes whenever an environment has been returned or removed.
    returned: watch::Sender<()>,
    tasks: TaskTracker,
    /// Cancelled at the end of the keeper: what is being restored is removed then.
    ending: CancellationToken,
}

#[derive(Default)]
struct PoolState {
    /// Oldest first.
    idle: Vec<Environment>,
    /// Environments that are being restored.
    returning: Vec<PoolKey>,
    /// The runs of all environments, also of those in use.
    runs: Vec<Run>,
    /// Why the last environment that could not be used again was removed.
    last_removal: Option<String>,
    is_closed: bool,
}

/// How an environment starts.
pub(crate) struct EnvironmentStart {
    engine: Engine,
    key: PoolKey,
    provider: Box<dyn Provider>,
    images: Vec<RegistryImage>,
    events: Events,
}

impl EnvironmentStart {
    pub(crate) fn new(
        engine: Engine,
        key: EnvironmentKey,
        provider: Box<dyn Provider>,
        images: Vec<RegistryImage>,
        events: Events,
    ) -> Self {
        let key = PoolKey {
            environment: key,
            image: provider.image().map(str::to_owned),
        };
        Self {
            engine,
            key,
            provider,
            images,
            events,
        }
    }
}

/// Why no other run uses the environment of a scenario: it restarted the API server, or the harness could not tell what
/// happened.
pub(crate) fn why_spent(plan: &Plan, outcome: &Outcome) -> Option<String> {
    if plan.cluster.restart_api_server_after.is_some() {
        return Some(format!("scenario `{}` restarted its API server", plan.id));
    }
    match outcome {
        Outcome::Errored(error) => Some(format!("scenario `{}` errored: {error}", plan.id)),
        _ => None,
    }
}

impl EnvironmentPool {
    /// An idle environment that still works, or a new one.
    pub(crate) async fn take(self: &Arc<Self>, start: EnvironmentStart) -> Result<Environment, EngineError> {
        let asked = Instant::now();
        while let Some(environment) = self.next(&start.key).await {
            match environment.control_plane.check().await {
                Ok(()) => {
                    start.report_kept(&environment, asked);
                    return Ok(environment);
                }
                Err(error) => {
                    self.note_removal(format!("it ended: {}", chain(&error)));
                    self.remove_later(environment);
                }
            }
        }
        let (sender, started) = oneshot::channel();
        let pool = Arc::clone(self);
        // In its own task: a cancelled run does not cancel the start, and the next run finds its environment.
        self.tasks.spawn(async move {
            let result = pool.start(start).await;
            if let Err(Ok(environment)) = sender.send(result) {
                pool.give_back(environment, None);
            }
        });
        started
            .await
            .expect("the task sends unless it panics, which ends the run as well")
    }

    /// Takes an environment with this key that is idle, or waits for one that is being restored: that takes less time
    /// than a start.
    async fn next(&self, key: &PoolKey) -> Option<Environment> {
        let mut returned = self.returned.subscribe();
        loop {
            returned.borrow_and_update();
            {
                let mut state = self.state.lock();
                let found = state.idle.iter().position(|idle| idle.is_of(key));
                if let Some(index) = found {
                    return Some(state.idle.remove(index));
                }
                if !state.returning.contains(key) {
                    return None;
                }
            }
            returned.changed().await.ok()?;
        }
    }

    /// Starts an environment in a run of its own. After a failure nothing of it remains.
    async fn start(&self, start: EnvironmentStart) -> Result<Environment, EngineError> {
        let run = Run::begin(start.engine, new_run_id());
        self.state.lock().runs.push(run.clone());
        let key = &start.key.environment;
        let started =
            Environment::start(&run, key, &*start.provider, start.images, &start.events, |_| {}).await;
        let mut environment = match started {
            Ok(environment) => environment,
            Err(error) => {
                self.tear_down(&run).await;
                return Err(error);
            }
        };
        let baseline = environment.control_plane.baseline().await;
        environment.pooled = Some(Pooled {
            key: start.key,
            run,
            baseline: baseline.map_err(|error| format!("its objects could not be listed: {}", chain(&error))),
            since: Instant::now(),
        });
        Ok(environment)
    }

    /// Restores an environment for the next run, in the background. One that is `spent` for the given reason, or cannot
    /// be restored, is removed.
    pub(crate) fn give_back(self: &Arc<Self>, environment: Environment, spent: Option<String>) {
        let Some(pooled) = &environment.pooled else { return };
        let key = pooled.key.clone();
        self.state.lock().returning.push(key.clone());
        let pool = Arc::clone(self);
        self.tasks.spawn(async move {
            let restored = match spent {
                Some(why) => Err(why),
                None => tokio::select! {
                    restored = restore(&environment) => restored,
                    // Without an API server, a restore would repeat its requests until its timeout.
                    () = pool.ending.cancelled() => Ok(()),
                },
            };
            let surplus = pool.returned(&key, environment, restored);
            pool.returned.send_replace(());
            for environment in surplus {
                pool.remove(environment).await;
            }
        });
    }

    /// Makes an environment idle, and returns those to remove.
    fn returned(
        &self,
        key: &PoolKey,
        environment: Environment,
        restored: Result<(), String>,
    ) -> Vec<Environment> {
        let is_restored = restored.is_ok();
        if let Err(why) = restored {
            self.note_removal(why);
        }
        let mut state = self.state.lock();
        if let Some(index) = state.returning.iter().position(|returning| returning == key) {
            state.returning.remove(index);
        }
        if !is_restored || state.is_closed {
            return vec![environment];
        }
        state.idle.push(environment);
        let surplus = state.idle.len().saturating_sub(MOST_IDLE);
        state.idle.drain(..surplus).collect()
    }

    fn note_removal(&self, why: String) {
        tracing::warn!(why, "removing a kept control plane");
        self.state.lock().last_removal = Some(why);
    }

    fn remove_later(self: &Arc<Self>, environment: Environment) {
        let pool = Arc::clone(self);
        self.tasks.spawn(async move { pool.remove(environment).await });
    }

    async fn remove(&self, environment: Environment) {
        let run = environment.pooled.as_ref().map(|pooled| pooled.run.clone());
        environment.shut_down().await;
        if let Some(run) = run {
            self.tear_down(&run).await;
        }
    }

    /// Removes the objects of a run. What cannot be removed stays for the end of the keeper.
    async fn tear_down(&self, run: &Run) {
        let left = run.tear_down().await.left;
        if left.is_empty() {
            self.state.lock().runs.retain(|other| other.id() != run.id());
        } else {
            tracing::warn!(?left, "could not remove everything of a kept environment");
        }
    }

    /// Why the last environment that could not be used again was removed.
    pub(crate) fn last_removal(&self) -> Option<String> {
        self.state.lock().last_removal.clone()
    }

    /// A line for each environment that waits for a run, and for each that soon does.
    pub(crate) fn describe(&self) -> Vec<String> {
        let state = self.state.lock();
        let describe = |environment: &Environment| {
            let key = environment.pooled.as_ref().map(|pooled| &pooled.key.environment);
            let provider = key.map(|key| key.provider.as_str()).unwrap_or_default();
            let version = &environment.control_plane.version;
            format!(
                "{provider} control plane, Kubernetes {version}, of run {}",
                environment.id
            )
        };
        let restored = |key: &PoolKey| {
            let provider = key.environment.provider.as_str();
            format!("{provider} control plane, being restored for the next run")
        };
        let idle = state.idle.iter().map(describe);
        idle.chain(state.returning.iter().map(restored)).collect()
    }

    /// Removes all environments, also those that still start. Returns what could not be removed.
    pub(crate) async fn shut_down(&self) -> Vec<String> {
        let (idle, runs) = {
            let mut state = self.state.lock();
            state.is_closed = true;
            self.ending.cancel();
            (std::mem::take(&mut state.idle), state.runs.clone())
        };
        join_all(idle.into_iter().map(Environment::shut_down)).await;
        let torn_down = join_all(runs.iter().map(Run::tear_down)).await;
        self.tasks.close();
        self.tasks.wait().await;
        torn_down.into_iter().flat_map(|done| done.left).collect()
    }
}

impl EnvironmentStart {
    /// Reports a kept environment as one that was ready at once.
    fn report_kept(&self, environment: &Environment, asked: Instant) {
        let provider = self.provider.title();
        self.events.send(RunEvent::ControlPlaneStarting {
            provider: provider.clone(),
        });
        let parts = BTreeMap::from([("check of a kept one".to_owned(), asked.elapsed().as_secs_f64())]);
        report_ready(&environment.control_plane, provider, parts, &self.events);
    }
}

impl Environment {
    fn is_of(&self, key: &PoolKey) -> bool {
        self.pooled.as_ref().is_some_and(|pooled| pooled.key == *key)
    }
}

/// Restores the objects of the control plane, or says why that is not possible.
async fn restore(environment: &Environment) -> Result<(), String> {
    let Some(pooled) = &environment.pooled else {
        return Err("it belongs to its run".to_owned());
    };
    if pooled.since.elapsed() >= OLDEST {
        return Err(format!("it is older than {} hours", OLDEST.as_secs() / 3600));
    }
    let baseline = pooled.baseline.as_ref().map_err(Clone::clone)?;
    let restored = environment.control_plane.restore(baseline).await;
    restored.map_err(|error| format!("it could not be restored: {}", chain(&error)))
}

#[cfg(test)]
mod tests {
    use nodejoin_core::plan::ProviderName;

    use super::*;
    use crate::testing::plan;

    #[test]
    fn a_control_plane_that_is_being_restored_is_described() {
        let pool = EnvironmentPool::default();
        assert!(pool.describe().is_empty());
        let environment = EnvironmentKey {
            provider: ProviderName::Local,
            network: plan("name: x\n").network,
            kubernetes: None,
            endpoint: None,
        };
        pool.state.lock().returning.push(PoolKey {
            environment,
            image: None,
        });
        assert_eq!(
            pool.describe(),
            ["local control plane, being restored for the next run"]
        );
    }

    #[test]
    fn a_restarted_or_unclear_control_plane_is_not_used_again() {
        let mut plan = plan("name: x\n");
        assert_eq!(why_spent(&plan, &Outcome::Failed), None);
        assert_eq!(why_spent(&plan, &Outcome::Cancelled), None);
        let errored = why_spent(&plan, &Outcome::Errored("no image".to_owned()));
        assert_eq!(errored.as_deref(), Some("scenario `scenario` errored: no image"));
        plan.cluster.restart_api_server_after = Some(1);
        let restarted = why_spent(&plan, &Outcome::Passed);
        assert_eq!(
            restarted.as_deref(),
            Some("scenario `scenario` restarted its API server")
        );
    }
}
