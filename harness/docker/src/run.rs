//! A run: makes networks and containers under its label, and knows everything it made.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bollard::models::{
    Ipam, IpamConfig, Mount, MountType, MountVolumeOptions, NetworkCreateRequest, NetworkCreateResponse,
    NetworkInspect,
};
use bollard::query_parameters::{InspectNetworkOptions, LogsOptionsBuilder, RenameContainerOptionsBuilder};
use futures::StreamExt as _;
use nodejoin_core::plan::ids::RunId;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::engine::Engine;
use crate::error::DockerError;
use crate::labels;
use crate::ledger::{Kind, Ledger};
use crate::owner::Owner;
use crate::subnet;

/// One run of the harness. Clones are the same run.
///
/// Call [`Run::tear_down`] at the end. A run that is dropped without it warns and removes its objects as well as it can,
/// blocking the thread until that is done.
#[derive(Clone)]
pub struct Run {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) engine: Engine,
    pub(crate) id: RunId,
    owner: Owner,
    ledger: Mutex<Ledger>,
    /// Starts go on in tasks of their own when their caller is dropped, so that no container is half made. The tear-down waits for them.
    pub(crate) starts: TaskTracker,
    /// Ends starts that wait for something; fired by the tear-down.
    pub(crate) ending: CancellationToken,
}

/// A network of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunNetwork {
    /// The engine's id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its subnet, such as `172.18.0.0/16`.
    pub subnet: String,
    /// The host's address on it; the fakes listen there.
    pub gateway: Ipv4Addr,
}

/// A container that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// The engine's id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its address on the network of the run.
    pub ip: Ipv4Addr,
}

impl Run {
    /// Begins a run; nothing is made yet.
    #[must_use]
    pub fn begin(engine: Engine, id: RunId) -> Self {
        Self {
            inner: Arc::new(Inner {
                engine,
                id,
                owner: Owner::current(),
                ledger: Mutex::default(),
                starts: TaskTracker::new(),
                ending: CancellationToken::new(),
            }),
        }
    }

    /// The run's id.
    #[must_use]
    pub fn id(&self) -> &RunId {
        &self.inner.id
    }

    /// The engine it runs on.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// The labels of an object with this role.
    #[must_use]
    pub fn labels(&self, role: &str) -> HashMap<String, String> {
        labels::of(self.inner.id.as_str(), role, &self.inner.owner, SystemTime::now())
    }

    /// The label of an object that has files in a folder of this machine: a sweep removes the folder with it. Only folders below
    /// the cache folder are ever removed so.
    #[must_use]
    pub fn folder_label(&self, folder: &Path) -> (String, String) {
        (labels::FOLDER.to_owned(), folder.display().to_string())
    }

    /// A mount of an anonymous volume that carries the run's labels and goes with its container.
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

    /// Makes a network with a free subnet. From an internal one nothing but its own containers and the host's
    /// address on it can be reached.
    ///
    /// # Errors
    /// When the engine refuses, for example because it has no subnet left.
    pub async fn network(&self, role: &str, internal: bool) -> Result<RunNetwork, DockerError> {
        let name = self.record(Kind::Network, role)?;
        let run = self.clone();
        let role = role.to_owned();
        // A task of its own, so that the network cannot come to be after its caller and the tear-down are gone.
        let task = self
            .inner
            .starts
            .spawn(async move { run.make_network(name, &role, internal).await });
        task.await
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }

    async fn make_network(
        &self,
        name: String,
        role: &str,
        internal: bool,
    ) -> Result<RunNetwork, DockerError> {
        let ask = NetworkCreateRequest {
            name: name.clone(),
            driver: Some("bridge".to_owned()),
            internal: Some(internal),
            labels: Some(self.labels(role)),
            ..NetworkCreateRequest::default()
        };
        let docker = self.engine().docker();
        let made = self
            .create_with_subnet(ask)
            .await
            .map_err(DockerError::engine("make network", &name))?;
        if let Some(entry) = self.ledger().entry(&name) {
            entry.id = Some(made.id.clone());
        }
        let seen = docker
            .inspect_network(&made.id, None::<InspectNetworkOptions>)
            .await;
        read_network(
            name.clone(),
            &seen.map_err(DockerError::engine("inspect network", &name))?,
        )
    }

    /// Tries free subnets of our own choice, then leaves it to the engine.
    async fn create_with_subnet(
        &self,
        ask: NetworkCreateRequest,
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
            let ask = NetworkCreateRequest {
                ipam: Some(ipam),
                ..ask.clone()
            };
            match docker.create_network(ask).await {
                Err(error) if subnet::is_taken(&error) => {}
                other => return other,
            }
        }
        docker.create_network(ask).await
    }

    /// Everything a container has said so far.
    ///
    /// # Errors
    /// When the container is gone.
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

    /// Lets a container stay when the run ends, with the network it stands on. Its name gets the end `-kept`: `nodejoin sweep`
    /// leaves it until it expires or is asked for kept ones. Gives the name that it has from then on.
    ///
    /// # Errors
    /// When the container is gone.
    pub async fn keep(&self, container: &str) -> Result<String, DockerError> {
        let name = {
            let mut ledger = self.ledger();
            let Some(entry) = ledger.entry(container) else {
                return Ok(container.to_owned());
            };
            if std::mem::replace(&mut entry.kept, true) {
                return Ok(entry.name.clone());
            }
            // testcontainers' guard removes its container when it is dropped, which the end of this process does.
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

    /// Records a container that another program is about to make with the run's labels on this network, under a name of its
    /// own: it goes with the run, whether or not it came to be.
    ///
    /// # Errors
    /// When the run is being torn down.
    pub fn adopt(&self, name: &str, network: &RunNetwork) -> Result<(), DockerError> {
        let ending = || DockerError::Ending {
            object: format!("container `{name}`"),
            run: self.inner.id.to_string(),
        };
        let mut ledger = self.ledger();
        let name = ledger.record(Kind::Container, |_| name.to_owned());
        if let Some(entry) = ledger.entry(&name.ok_or_else(ending)?) {
            entry.network = Some(network.name.clone());
        }
        Ok(())
    }

    /// Sees work through that makes an adopted container: in a task of its own, which a caller who goes away does not cut off. An
    /// engine that loses its client goes on making the container, and one that is removed meanwhile comes to be all the same.
    ///
    /// The tear-down waits for the work. It fires the token when it has waited a while; the work then ends as soon as it may.
    pub async fn see_through<T, W>(&self, work: impl FnOnce(CancellationToken) -> W) -> T
    where
        T: Send + 'static,
        W: Future<Output = T> + Send + 'static,
    {
        let task = self.inner.starts.spawn(work(self.inner.ending.clone()));
        task.await
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }

    pub(crate) fn record(&self, kind: Kind, hint: &str) -> Result<String, DockerError> {
        let name = |number| format!("nodejoin-{}-{}-{number}", self.inner.id, in_a_name(hint));
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

impl Inner {
    /// The ledger; what a panicking holder left in it is still true.
    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end of a kept container's name.
pub(crate) const KEPT: &str = "-kept";

/// The characters that the engine allows in names.
fn in_a_name(hint: &str) -> String {
    let allowed = |c: char| {
        if c.is_ascii_alphanumeric() || "_.-".contains(c) {
            c
        } else {
            '-'
        }
    };
    hint.chars().map(allowed).take(64).collect()
}

fn read_network(name: String, seen: &NetworkInspect) -> Result<RunNetwork, DockerError> {
    let config = seen
        .ipam
        .as_ref()
        .and_then(|ipam| ipam.config.as_ref())
        .and_then(|all| {
            all.iter()
                .find(|config| config.subnet.as_ref().is_some_and(|subnet| !subnet.contains(':')))
        });
    let subnet = config.and_then(|config| config.subnet.clone());
    // An engine may leave out the gateway of an internal network; the host still has the first address.
    let stated = config
        .and_then(|config| config.gateway.as_ref())
        .and_then(|gateway| gateway.split('/').next()?.parse().ok());
    let first = subnet
        .as_ref()
        .and_then(|subnet| subnet.split('/').next()?.parse().ok())
        .map(|base: Ipv4Addr| Ipv4Addr::from(u32::from(base) + 1));
    match (subnet, stated.or(first)) {
        (Some(subnet), Some(gateway)) => Ok(RunNetwork {
            id: seen.id.clone().unwrap_or_default(),
            name,
            subnet,
            gateway,
        }),
        _ => Err(DockerError::Unexpected {
            object: format!("network `{name}`"),
            wrong: "has no IPv4 subnet".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bollard::models::{Ipam, IpamConfig};

    #[test]
    fn a_hint_may_be_anything() {
        assert_eq!(in_a_name("a node: x/y"), "a-node--x-y");
    }

    #[test]
    fn a_network_without_a_stated_gateway_has_the_first_address() {
        let config = IpamConfig {
            subnet: Some("172.20.0.0/16".to_owned()),
            ..IpamConfig::default()
        };
        let ipam = Ipam {
            config: Some(vec![config]),
            ..Ipam::default()
        };
        let seen = NetworkInspect {
            ipam: Some(ipam),
            ..NetworkInspect::default()
        };
        assert_eq!(
            read_network("n".to_owned(), &seen).unwrap().gateway,
            Ipv4Addr::new(172, 20, 0, 1)
        );
        assert!(read_network("n".to_owned(), &NetworkInspect::default()).is_err());
    }
}
