//! The end of a run: removes everything the run created in reverse order and reports what is left.

use std::collections::HashMap;
use std::time::Duration;

use bollard::Docker;
use bollard::query_parameters::{
    ListContainersOptionsBuilder, ListNetworksOptionsBuilder, ListVolumesOptionsBuilder,
};
use futures::{StreamExt as _, stream};
use nodejoin_core::run::error_chain::chain;
use nodejoin_core::run::time_factor::TimeFactor;
use tokio::time::timeout;

use crate::blocking;
use crate::engine::REQUEST_TIMEOUT;
use crate::error::DockerError;
use crate::labels;
use crate::ledger::LedgerEntry;
use crate::object::ObjectKind;
use crate::removal::Remover;
use crate::run::{Run, RunState};

/// Timeout for the whole tear-down.
const TEAR_DOWN_TIMEOUT: Duration = Duration::from_secs(60);
/// Grace period for starts in progress, so that the engine is not left with a half-created container.
const START_GRACE: Duration = Duration::from_secs(3);
/// Number of further attempts to remove what could not be removed: an engine may refuse to remove a container whose
/// files another process still has open, or that it could not kill in time.
const MORE_ROUNDS: u32 = 10;
const ROUND_INTERVAL: Duration = Duration::from_secs(1);
/// Number of containers that are removed concurrently.
const CONCURRENT_REMOVALS: usize = 4;

/// The result of tearing down a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TearDown {
    /// The objects that were removed.
    pub removed: Vec<String>,
    /// Objects that exist or may exist, each with the reason.
    pub left: Vec<String>,
}

impl TearDown {
    /// Whether every object was removed.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.left.is_empty()
    }

    fn record(&mut self, kind: ObjectKind, name: &str, result: Result<(), DockerError>) {
        match result {
            Ok(()) => self.removed.push(format!("{kind} {name}")),
            Err(error) => self.left.push(format!("{kind} {name}: {}", chain(&error))),
        }
    }

    /// The listed objects. Without a list, objects may be left.
    fn listed<T>(&mut self, kind: ObjectKind, listed: Result<Vec<T>, bollard::errors::Error>) -> Vec<T> {
        listed.unwrap_or_else(|error| {
            let reason = chain(&error);
            self.left
                .push(format!("each {kind} of the run: could not list them: {reason}"));
            Vec::new()
        })
    }
}

impl Run {
    /// Removes everything that the run created, newest first: containers (with SIGKILL), then networks, then volumes;
    /// kept containers stay. Continues after errors, and searches by label for objects that the ledger does not list. A
    /// second call finds nothing.
    pub async fn tear_down(&self) -> TearDown {
        self.ledger().close();
        self.inner.starts.close();
        let factor = self.engine().time_factor();
        if timeout(factor.scale(START_GRACE), self.inner.starts.wait())
            .await
            .is_err()
        {
            self.inner.ending.cancel();
            self.inner.starts.wait().await;
        }
        let mut done = TearDown::default();
        let limit = factor.scale(TEAR_DOWN_TIMEOUT);
        if timeout(limit, self.remove_all(&mut done)).await.is_err() {
            done.left.push(format!(
                "objects with the label {}={}: not all removed within {} s",
                labels::RUN,
                self.id(),
                limit.as_secs()
            ));
        }
        done
    }

    async fn remove_all(&self, done: &mut TearDown) {
        let entries = self.ledger().end();
        let (networks, containers): (Vec<_>, Vec<_>) = entries
            .into_iter()
            .partition(|entry| entry.kind == ObjectKind::Network);
        let removals = containers.into_iter().map(|entry| async {
            let name = entry.name.clone();
            (name, self.remove_entry(entry).await)
        });
        let mut removals = stream::iter(removals).buffered(CONCURRENT_REMOVALS);
        while let Some((name, result)) = removals.next().await {
            done.record(ObjectKind::Container, &name, result);
        }
        for entry in networks {
            let result = self.engine().remove(ObjectKind::Network, &entry.name).await;
            done.record(ObjectKind::Network, &entry.name, result);
        }
        let kept = self.ledger().kept();
        let (docker, factor) = (self.engine().docker(), self.engine().time_factor());
        for round in 0..=MORE_ROUNDS {
            if round > 0 {
                tokio::time::sleep(factor.scale(ROUND_INTERVAL)).await;
            }
            // Finds the objects of the failures above too: all of them have the label.
            done.left.clear();
            remove_by_label(docker, factor, self.id().as_str(), &kept, done).await;
            if done.is_clean() {
                return;
            }
        }
    }

    /// Removes one container of the run with its anonymous volumes. A container that is already gone is not an error.
    ///
    /// # Errors
    /// When the engine refuses the removal.
    pub async fn remove(&self, container: &str) -> Result<(), DockerError> {
        let entry = self.ledger().take(container);
        match entry {
            Some(entry) => self.remove_entry(entry).await,
            None => self.engine().remove(ObjectKind::Container, container).await,
        }
    }

    pub(crate) async fn remove_quietly(&self, name: &str) {
        if let Err(error) = self.remove(name).await {
            tracing::warn!(container = name, error = %chain(&error), "could not remove the container");
            // The tear-down tries again.
            let _ = self.ledger().record(ObjectKind::Container, |_| name.to_owned());
        }
    }

    async fn remove_entry(&self, mut entry: LedgerEntry) -> Result<(), DockerError> {
        if let Some(guard) = entry.guard.take() {
            // Runs in its own task: a guard that is dropped during its removal starts over and blocks this thread.
            let removal = tokio::spawn(guard.rm());
            if matches!(removal.await, Ok(Ok(()))) {
                return Ok(());
            }
        }
        self.engine().remove(entry.kind, &entry.name).await
    }
}

impl Drop for RunState {
    fn drop(&mut self) {
        let entries = self.ledger().end();
        if entries.is_empty() {
            return;
        }
        tracing::warn!(run = %self.id, objects = entries.len(), "the run was dropped without tear-down; removing its objects");
        // A guard of testcontainers needs a runtime when it is dropped, and that runtime may be shutting down.
        entries
            .into_iter()
            .filter_map(|entry| entry.guard)
            .for_each(std::mem::forget);
        let (id, kept) = (self.id.to_string(), self.ledger().kept());
        let factor = self.engine.time_factor();
        let removal = blocking::block_on(factor.scale(REQUEST_TIMEOUT), move |docker| async move {
            let mut done = TearDown::default();
            let removal = remove_by_label(&docker, factor, &id, &kept, &mut done);
            let removal = timeout(factor.scale(TEAR_DOWN_TIMEOUT), removal).await;
            removal.is_ok_and(|()| done.is_clean())
        });
        if removal != Some(true) {
            tracing::warn!(run = %self.id, "objects may be left; `nodejoin sweep` removes them");
        }
    }
}

/// Removes every object with a run's label, including objects that the ledger does not list.
async fn remove_by_label(
    docker: &Docker,
    factor: TimeFactor,
    run: &str,
    kept: &[String],
    done: &mut TearDown,
) {
    let remover = Remover::new(docker, factor);
    let filter = HashMap::from([("label", vec![format!("{}={run}", labels::RUN)])]);
    let is_kept = |name: &str| kept.iter().any(|kept| kept == name);

    let containers = ListContainersOptionsBuilder::new()
        .all(true)
        .filters(&filter)
        .build();
    let listed = docker.list_containers(Some(containers)).await;
    for container in done.listed(ObjectKind::Container, listed) {
        let id = container.id.unwrap_or_default();
        if !is_kept(&id) {
            let kind = ObjectKind::Container;
            done.record(kind, &id, remover.remove(kind, &id).await);
        }
    }
    let networks = ListNetworksOptionsBuilder::new().filters(&filter).build();
    let listed = docker.list_networks(Some(networks)).await;
    for network in done.listed(ObjectKind::Network, listed) {
        let name = network.name.unwrap_or_default();
        if !is_kept(&name) {
            let kind = ObjectKind::Network;
            done.record(kind, &name, remover.remove(kind, &name).await);
        }
    }
    let volumes = ListVolumesOptionsBuilder::new().filters(&filter).build();
    let listed = docker.list_volumes(Some(volumes)).await;
    let listed = listed.map(|response| response.volumes.unwrap_or_default());
    for volume in done.listed(ObjectKind::Volume, listed) {
        let kind = ObjectKind::Volume;
        let removed = remover.remove(kind, &volume.name).await;
        // Kept containers use their volumes, so those cannot be removed and stay.
        if kept.is_empty() || removed.is_ok() {
            done.record(kind, &volume.name, removed);
        }
    }
}
