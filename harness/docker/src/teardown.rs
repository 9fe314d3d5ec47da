//! The end of a run: everything it made is removed in reverse, and what could not be is said.

use std::time::Duration;

use bollard::Docker;
use bollard::query_parameters::{
    InspectContainerOptions, ListContainersOptionsBuilder, ListNetworksOptionsBuilder,
    ListVolumesOptionsBuilder, RemoveContainerOptionsBuilder, RemoveVolumeOptionsBuilder,
};
use futures::{StreamExt as _, stream};
use nodejoin_core::run::error_chain::chain;
use tokio::time::timeout;

use crate::apart;
use crate::error::{DockerError, status};
use crate::labels;
use crate::ledger::{Entry, Kind};
use crate::run::{Inner, Run};

/// How long the whole tear-down may take.
const LIMIT: Duration = Duration::from_secs(60);
/// How long starts that are under way may go on, so that the engine is not left with a half-made container.
const GRACE: Duration = Duration::from_secs(3);
/// How many containers are removed at once.
const AT_ONCE: usize = 4;
/// How long the engine may take to remove what somebody else told it to remove.
const IN_PROGRESS: Duration = Duration::from_secs(20);

/// What became of everything that a run made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TearDown {
    /// What is gone.
    pub removed: Vec<String>,
    /// What is still there or may be, each with the reason.
    pub left: Vec<String>,
}

impl TearDown {
    /// Whether nothing stayed that should not have.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.left.is_empty()
    }

    fn note(&mut self, what: String, result: Result<(), DockerError>) {
        match result {
            Ok(()) => self.removed.push(what),
            Err(error) => self.left.push(format!("{what}: {}", chain(&error))),
        }
    }
}

impl Run {
    /// Removes everything that the run made, newest first, containers at once with SIGKILL, then networks, then volumes; what is
    /// kept stays. Goes on after errors, and looks again by label for what the ledger does not know. A second call finds nothing.
    pub async fn tear_down(&self) -> TearDown {
        self.ledger().close();
        self.inner.starts.close();
        let factor = self.engine().time_factor();
        if timeout(factor.limit(GRACE), self.inner.starts.wait())
            .await
            .is_err()
        {
            self.inner.ending.cancel();
            self.inner.starts.wait().await;
        }
        let mut done = TearDown::default();
        let limit = factor.limit(LIMIT);
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
        let (networks, containers): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|entry| entry.kind == Kind::Network);
        let removals = containers.into_iter().map(|entry| async {
            let name = format!("container {}", entry.name);
            (name, self.remove_container(entry).await)
        });
        let mut removals = stream::iter(removals).buffered(AT_ONCE);
        while let Some((name, result)) = removals.next().await {
            done.note(name, result);
        }
        for entry in networks {
            let result = remove_network(self.engine().docker(), &entry.name).await;
            done.note(format!("network {}", entry.name), result);
        }
        let kept = self.ledger().kept();
        remove_by_label(self.engine().docker(), self.id().as_str(), &kept, done).await;
    }

    /// Removes one container of the run, with its anonymous volumes. One that is gone already is no error.
    ///
    /// # Errors
    /// When the engine refuses.
    pub async fn remove(&self, container: &str) -> Result<(), DockerError> {
        let entry = self.ledger().take(container);
        match entry {
            Some(entry) => self.remove_container(entry).await,
            None => remove_container(self.engine().docker(), container).await,
        }
    }

    pub(crate) async fn remove_quietly(&self, name: &str) {
        if let Err(error) = self.remove(name).await {
            tracing::warn!(container = name, error = %chain(&error), "could not be removed");
            // Back into the ledger: the tear-down tries again.
            let _ = self.ledger().record(Kind::Container, |_| name.to_owned());
        }
    }

    async fn remove_container(&self, mut entry: Entry) -> Result<(), DockerError> {
        if let Some(guard) = entry.guard.take() {
            // In a task of its own: a guard that is dropped while it removes would start over and block this thread.
            let removal = tokio::spawn(guard.rm());
            if matches!(removal.await, Ok(Ok(()))) {
                return Ok(());
            }
        }
        remove_container(self.engine().docker(), &entry.name).await
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let entries = self.ledger().end();
        if entries.is_empty() {
            return;
        }
        tracing::warn!(run = %self.id, objects = entries.len(), "a run was dropped without being torn down; removing what it made");
        // The guards of testcontainers want a runtime to fall in, which may be the one that is ending.
        entries
            .into_iter()
            .filter_map(|entry| entry.guard)
            .for_each(std::mem::forget);
        let (id, kept) = (self.id.to_string(), self.ledger().kept());
        let limit = self.engine.time_factor().limit(LIMIT);
        let removal = apart::block_on(move |docker| async move {
            let mut done = TearDown::default();
            let removal = timeout(limit, remove_by_label(&docker, &id, &kept, &mut done)).await;
            removal.is_ok_and(|()| done.is_clean())
        });
        if removal != Some(true) {
            tracing::warn!(run = %self.id, "objects may be left; `nodejoin sweep` removes them");
        }
    }
}

/// Removes every object with a run's label, whether the ledger knows it or not.
pub(crate) async fn remove_by_label(docker: &Docker, run: &str, kept: &[String], done: &mut TearDown) {
    let filter = std::collections::HashMap::from([("label", vec![format!("{}={run}", labels::RUN)])]);
    let is_kept = |name: &str| kept.iter().any(|kept| kept == name);

    let containers = ListContainersOptionsBuilder::new()
        .all(true)
        .filters(&filter)
        .build();
    for container in docker.list_containers(Some(containers)).await.unwrap_or_default() {
        let id = container.id.unwrap_or_default();
        if !is_kept(&id) {
            done.note(format!("container {id}"), remove_container(docker, &id).await);
        }
    }
    let networks = ListNetworksOptionsBuilder::new().filters(&filter).build();
    for network in docker.list_networks(Some(networks)).await.unwrap_or_default() {
        let name = network.name.unwrap_or_default();
        if !is_kept(&name) {
            done.note(format!("network {name}"), remove_network(docker, &name).await);
        }
    }
    let volumes = ListVolumesOptionsBuilder::new().filters(&filter).build();
    let volumes = docker
        .list_volumes(Some(volumes))
        .await
        .ok()
        .and_then(|answer| answer.volumes)
        .unwrap_or_default();
    for volume in volumes {
        let removed = remove_volume(docker, &volume.name).await;
        // The volumes of kept containers are in use, and stay with them.
        if kept.is_empty() || removed.is_ok() {
            done.note(format!("volume {}", volume.name), removed);
        }
    }
}

/// Removes a container at once, with its anonymous volumes.
pub(crate) async fn remove_container(docker: &Docker, name: &str) -> Result<(), DockerError> {
    let force = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
    match docker.remove_container(name, Some(force)).await {
        Err(error) if status(&error) == Some(404) => Ok(()),
        // Somebody else told the engine to remove it; it says so until it is done.
        Err(error) if status(&error) == Some(409) => await_removal(docker, name, error).await,
        other => other.map_err(DockerError::engine("remove container", name)),
    }
}

async fn await_removal(
    docker: &Docker,
    name: &str,
    refusal: bollard::errors::Error,
) -> Result<(), DockerError> {
    let gone = async {
        while docker
            .inspect_container(name, None::<InspectContainerOptions>)
            .await
            .is_ok()
        {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(IN_PROGRESS, gone)
        .await
        .map_err(|_| DockerError::engine("remove container", name)(refusal))
}

pub(crate) async fn remove_network(docker: &Docker, name: &str) -> Result<(), DockerError> {
    match docker.remove_network(name).await {
        Err(error) if status(&error) == Some(404) => Ok(()),
        other => other.map_err(DockerError::engine("remove network", name)),
    }
}

pub(crate) async fn remove_volume(docker: &Docker, name: &str) -> Result<(), DockerError> {
    let force = RemoveVolumeOptionsBuilder::new().force(true).build();
    match docker.remove_volume(name, Some(force)).await {
        Err(error) if status(&error) == Some(404) => Ok(()),
        other => other.map_err(DockerError::engine("remove volume", name)),
    }
}
