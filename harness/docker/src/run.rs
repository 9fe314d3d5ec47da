//! A run: creates networks and containers with its label, and keeps a list of everything it created.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use bollard::models::{
    Ipam, IpamConfig, Mount, MountType, MountVolumeOptions, NetworkCreateRequest, NetworkCreateResponse,
    NetworkInspect,
};
use bollard::query_parameters::{InspectNetworkOptions, LogsOptionsBuilder, RenameContainerOptionsBuilder};
use futures::StreamExt as _;
use nodejoin_core::plan::ids::RunId;
use parking_lot::{Mutex, MutexGuard};
use rand::Rng as _;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::engine::Engine;
use crate::error::DockerError;
use crate::labels;
use crate::ledger::Ledger;
use crate::object::ObjectKind;
use crate::owner::Owner;
use crate::subnet;

/// Suffix of the name of a kept container.
pub(crate) const KEPT: &str = "-kept";

/// One run of the harness. Clones refer to the same run.
///
/// Call [`Run::tear_down`] at the end. A run that is dropped without tear-down logs a warning and removes its objects,
/// which blocks the thread.
#[derive(Clone)]
pub struct Run {
    pub(crate) inner: Arc<RunState>,
}

pub(crate) struct RunState {
    pub(crate) engine: Engine,
    pub(crate) id: RunId,
    owner: Owner,
    ledger: Mutex<Ledger>,
    /// Starts run in their own tasks, so that dropping the caller leaves no half-created container. The tear-down waits
    /// for them.
    pub(crate) starts: TaskTracker,
    /// Cancels starts that wait; triggered by the tear-down.
    pub(crate) ending: CancellationToken,
}

/// A network of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunNetwork {
    /// The id that the engine assigned.
    pub id: String,
    /// Name of the network.
    pub name: String,
    /// IPv4 subnet, such as `172.18.0.0/16`.
    pub subnet: String,
    /// The host's address on the network, where the fakes listen.
    pub gateway: Ipv4Addr,
}

/// A running container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartedContainer {
    /// The id that the engine assigned.
    pub id: String,
    /// Name of the container.
    pub name: String,
    /// Address on the network of the run.
    pub ip: Ipv4Addr,
}

impl Run {
    /// A new run; nothing is created yet.
    #[must_use]
    pub fn begin(engine: Engine, id: RunId) -> Self {
        Self {
            inner: Arc::new(RunState {
                engine,
                id,
                owner: Owner::current(),
                ledger: Mutex::default(),
                starts: TaskTracker::new(),
                ending: CancellationToken::new(),
            }),
        }
    }

    /// The id of the run.
    #[must_use]
    pub fn id(&self) -> &RunId {
        &self.inner.id
    }

    /// The engine of the run.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// The labels for an object with this role.
    #[must_use]
    pub fn labels(&self, role: &str) -> HashMap<String, String> {
        labels::of(self.inner.id.as_str(), role, &self.inner.owner, SystemTime::now())
    }

    /// The label of an object with files in a folder on this machine: a sweep removes the folder with the object. A
    /// sweep removes only folders below the cache folder.
    #[must_use]
    pub fn folder_label(&self, folder: &Path) -> (String, String) {
        (labels::FOLDER.to_owned(), folder.display().to_string())
    }

    /// A mount of an anonymous volume with the run's labels, which is removed with its container.
    #[must_use]
    pub fn volume_mount(&self, target: &str) -> Mount {
        let options = MountVolumeOptions {
            labels: Some(self.labels("volume")),
            ..MountVolumeOptions::default()
        };
        Mount {
            target: Some(target.to_owned()),
            typ: Some(MountType::VOLUME),
            volume_options: Some(options),
            ..Mount::default()
        }
    }

    /// Creates a network with a free subnet. Containers on an internal network reach only each other and the host's
    /// address on that network.
    ///
    /// # Errors
    /// When the engine refuses, for example because no subnet is free.
    pub async fn network(&self, role: &str, internal: bool) -> Result<RunNetwork, DockerError> {
        let name = self.record(ObjectKind::Network, role)?;
        let run = self.clone();
        let role = role.to_owned();
        // Runs in its own task, so that the network is not created after the caller and the tear-down have ended.
        let task = self
            .inner
            .starts
            .spawn(async move { run.create_network(name, &role, internal).await });
        task.await
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }

    async fn create_network(
        &self,
        name: String,
        role: &str,
        internal: bool,
    ) -> Result<RunNetwork, DockerError> {
        let request = NetworkCreateRequest {
            name: name.clone(),
            driver: Some("bridge".to_owned()),
            internal: Some(internal),
            labels: Some(self.labels(role)),
            ..NetworkCreateRequest::default()
        };
        let docker = self.engine().docker();
        let created = self
            .create_with_subnet(request)
            .await
            .map_err(DockerError::engine("create network", &name))?;
        if let Some(entry) = self.ledger().entry(&name) {
            entry.id = Some(created.id.clone());
        }
        let inspected = docker
            .inspect_network(&created.id, None::<InspectNetworkOptions>)
            .await;
        read_network(
            name.clone(),
            &inspected.map_err(DockerError::engine("inspect network", &name))?,
        )
    }

    /// Tries free subnets of the test range, then lets the engine choose.
    async fn create_with_subnet(
        &self,
        request: NetworkCreateRequest,
    ) -> Result<NetworkCreateResponse, bollard::errors::Error> {
        let docker = self.engine().docker();
        let start = usize::from(rand::random::<u16>());
        for seed in start..start + subnet::TRIES {
            let config = IpamConfig {
                subnet: Some(subnet::candidate(seed)),
                ..IpamConfig::default()
            };
            let ipam = Ipam {
                config: Some(vec![config]),
                ..Ipam::default()
            };
            let request = NetworkCreateRequest {
                ipam: Some(ipam),
                ..request.clone()
            };
            match docker.create_network(request).await {
                Err(error) if subnet::is_taken(&error) => {}
                other => return other,
            }
        }
        docker.create_network(request).await
    }

    /// The complete output of a container.
    ///
    /// # Errors
    /// When the container does not exist.
    pub async fn logs(&self, container: &str) -> Result<String, DockerError> {
        self.last_lines(container, "all").await
    }

    pub(crate) async fn last_lines(&self, container: &str, lines: &str) -> Result<String, DockerError> {
        let options = LogsOptionsBuilder::new()
            .stdout(true)
            .stderr(true)
            .tail(lines)
            .build();
        let mut log = self.engine().docker().logs(container, Some(options));
        let mut text = Vec::new();
        while let Some(piece) = log.next().await {
            text.extend_from_slice(
                &piece
                    .map_err(DockerError::engine("read the output of", container))?
                    .into_bytes(),
            );
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Keeps a container and its network after the end of the run, and returns the container's new name, which ends
    /// with `-kept`. `nodejoin sweep` removes it when it expires, or on request.
    ///
    /// # Errors
    /// When the container does not exist.
    pub async fn keep(&self, container: &str) -> Result<String, DockerError> {
        let name = {
            let mut ledger = self.ledger();
            let Some(entry) = ledger.entry(container) else {
                return Ok(container.to_owned());
            };
            if std::mem::replace(&mut entry.kept, true) {
                return Ok(entry.name.clone());
            }
            // The guard of testcontainers removes its container when it is dropped, at the latest at the end of this
            // process.
            if let Some(guard) = entry.guard.take() {
                std::mem::forget(guard);
            }
            entry.name.push_str(KEPT);
            entry.name.clone()
        };
        let rename = RenameContainerOptionsBuilder::new().name(&name).build();
        let renamed = self.engine().docker().rename_container(container, rename).await;
        renamed.map_err(DockerError::engine("keep container", container))?;
        Ok(name)
    }

    /// Records a container that another program is about to create on this network, with the run's labels and its own
    /// name. The tear-down removes it if it exists.
    ///
    /// # Errors
    /// When the run is being torn down.
    pub fn track_external(&self, name: &str, network: &RunNetwork) -> Result<(), DockerError> {
        let ending = || DockerError::Ending {
            object: format!("container `{name}`"),
            run: self.inner.id.to_string(),
        };
        let mut ledger = self.ledger();
        let name = ledger.record(ObjectKind::Container, |_| name.to_owned());
        if let Some(entry) = ledger.entry(&name.ok_or_else(ending)?) {
            entry.network = Some(network.name.clone());
        }
        Ok(())
    }

    /// Runs `work`, which creates an external container, in its own task so that dropping the caller does not cancel
    /// it: Docker would finish creating the container after teardown had looked for it.
    ///
    /// The tear-down waits for the work, and triggers the token after a grace period; the work then ends as soon as
    /// possible.
    pub async fn run_uncancelled<T, W>(&self, work: impl FnOnce(CancellationToken) -> W) -> T
    where
        T: Send + 'static,
        W: Future<Output = T> + Send + 'static,
    {
        let task = self.inner.starts.spawn(work(self.inner.ending.clone()));
        task.await
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }

    pub(crate) fn record(&self, kind: ObjectKind, hint: &str) -> Result<String, DockerError> {
        let name = |number| format!("nodejoin-{}-{}-{number}", self.inner.id, to_name(hint));
        let ending = || DockerError::Ending {
            object: format!("`{hint}`"),
            run: self.inner.id.to_string(),
        };
        self.ledger().record(kind, name).ok_or_else(ending)
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.inner.ledger()
    }
}

impl RunState {
    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock()
    }
}

/// Replaces the characters that the engine does not allow in names.
fn to_name(hint: &str) -> String {
    let allowed = |c: char| {
        if c.is_ascii_alphanumeric() || "_.-".contains(c) {
            c
        } else {
            '-'
        }
    };
    hint.chars().map(allowed).take(64).collect()
}

/// Creates a random id for a run: ten lower-case letters and digits.
///
/// Objects of a run are found by this id, so two runs of one process must not share it.
#[must_use]
pub fn new_run_id() -> RunId {
    const LETTERS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut random = rand::rng();
    let id: String = (0..10)
        .map(|_| char::from(LETTERS[random.random_range(0..LETTERS.len())]))
        .collect();
    id.parse()
        .expect("ten lower-case letters and digits are a run id")
}

fn read_network(name: String, inspected: &NetworkInspect) -> Result<RunNetwork, DockerError> {
    let config = inspected
        .ipam
        .as_ref()
        .and_then(|ipam| ipam.config.as_ref())
        .and_then(|all| {
            all.iter()
                .find(|config| config.subnet.as_ref().is_some_and(|subnet| !subnet.contains(':')))
        });
    let subnet = config.and_then(|config| config.subnet.clone());
    // An engine may omit the gateway of an internal network; the host has the first address.
    let stated = config
        .and_then(|config| config.gateway.as_ref())
        .and_then(|gateway| gateway.split('/').next()?.parse().ok());
    let first = subnet
        .as_ref()
        .and_then(|subnet| subnet.split('/').next()?.parse().ok())
        .map(|base: Ipv4Addr| Ipv4Addr::from(u32::from(base) + 1));
    match (subnet, stated.or(first)) {
        (Some(subnet), Some(gateway)) => Ok(RunNetwork {
            id: inspected.id.clone().unwrap_or_default(),
            name,
            subnet,
            gateway,
        }),
        _ => Err(DockerError::Unexpected {
            object: format!("network `{name}`"),
            problem: "has no IPv4 subnet".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bollard::models::{Ipam, IpamConfig};

    #[test]
    fn run_ids_of_one_process_differ() {
        assert_ne!(new_run_id(), new_run_id());
    }

    #[test]
    fn any_hint_becomes_a_valid_name() {
        assert_eq!(to_name("a node: x/y"), "a-node--x-y");
    }

    #[test]
    fn a_network_without_a_gateway_uses_the_first_address() {
        let config = IpamConfig {
            subnet: Some("172.20.0.0/16".to_owned()),
            ..IpamConfig::default()
        };
        let ipam = Ipam {
            config: Some(vec![config]),
            ..Ipam::default()
        };
        let inspected = NetworkInspect {
            ipam: Some(ipam),
            ..NetworkInspect::default()
        };
        assert_eq!(
            read_network("n".to_owned(), &inspected).unwrap().gateway,
            Ipv4Addr::new(172, 20, 0, 1)
        );
        assert!(read_network("n".to_owned(), &NetworkInspect::default()).is_err());
    }
}
