//! Starts containers through testcontainers such that a failed or cancelled start leaves nothing behind.

use std::net::Ipv4Addr;
use std::time::Duration;

use bollard::models::{HostConfig, MountType, MountVolumeOptions};
use bollard::query_parameters::{InspectContainerOptions, StartContainerOptions, WaitContainerOptions};
use futures::StreamExt as _;
use testcontainers::core::client::docker_client_instance;
use testcontainers::runners::AsyncRunner as _;
use testcontainers::{ContainerRequest, GenericImage, ImageExt as _};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::error::DockerError;
use crate::object::ObjectKind;
use crate::run::{Run, RunNetwork, StartedContainer};

/// Number of output lines in the error of a container that did not start.
const LAST_LINES: &str = "20";
/// Default timeout for creating and starting a container.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Timeout for the end of a container before it is restarted.
const END_TIMEOUT: Duration = Duration::from_secs(60);
/// Timeout for the negotiation of the API version.
const NEGOTIATION_TIMEOUT: Duration = Duration::from_secs(10);

impl Run {
    /// Starts a container on a network of the run. Its name is recorded before the container is created, so that a
    /// start that fails or is cancelled leaves nothing. The container and its anonymous volumes get the run's labels.
    /// No port is published.
    ///
    /// The host-config modifier of the request runs first. The request must set no network and no name. Its startup
    /// timeout (default: 60 s) is multiplied by the engine's time factor.
    ///
    /// # Errors
    /// When the image is missing (it is not pulled), or the container does not start; the error then contains its last
    /// lines of output, and the container is removed.
    pub async fn start(
        &self,
        role: &str,
        name_hint: &str,
        network: &RunNetwork,
        request: ContainerRequest<GenericImage>,
    ) -> Result<StartedContainer, DockerError> {
        let name = self.record(ObjectKind::Container, name_hint)?;
        if let Some(entry) = self.ledger().entry(&name) {
            entry.network = Some(network.name.clone());
        }
        let request = self.with_run_settings(role, &name, network, request);
        let (sender, receiver) = oneshot::channel();
        let (run, network) = (self.clone(), network.name.clone());
        self.inner.starts.spawn(async move {
            let started = run.start_or_remove(&name, &network, request).await;
            // The caller, which would have removed the container, was dropped.
            if sender.send(started).is_err() {
                run.remove_quietly(&name).await;
            }
        });
        receiver.await.unwrap_or_else(|_| Err(self.is_ending(name_hint)))
    }

    /// The running container that was recorded by [`Run::track_external`].
    ///
    /// # Errors
    /// When the container does not exist, or has ended.
    pub async fn tracked_container(
        &self,
        name: &str,
        network: &RunNetwork,
    ) -> Result<StartedContainer, DockerError> {
        let docker = self.engine().docker();
        let inspected = docker
            .inspect_container(name, None::<InspectContainerOptions>)
            .await;
        let inspected = inspected.map_err(DockerError::engine("inspect container", name))?;
        let id = inspected.id.unwrap_or_default();
        if let Some(entry) = self.ledger().entry(name) {
            entry.id = Some(id.clone());
        }
        self.inspect_started(id, name, &network.name).await
    }

    /// Waits for the end of a container and starts it again with its files, except for those in memory. Its address may
    /// change.
    ///
    /// # Errors
    /// When the container does not end in time, or does not start.
    pub async fn restart(
        &self,
        started: &StartedContainer,
        network: &RunNetwork,
    ) -> Result<StartedContainer, DockerError> {
        let docker = self.engine().docker();
        let limit = self.engine().time_factor().scale(END_TIMEOUT);
        let mut ending = docker.wait_container(&started.id, None::<WaitContainerOptions>);
        if timeout(limit, ending.next()).await.is_err() {
            return Err(DockerError::Unexpected {
                object: format!("container `{}`", started.name),
                problem: format!("did not end within {} s", limit.as_secs()),
            });
        }
        let again = docker
            .start_container(&started.id, None::<StartContainerOptions>)
            .await;
        again.map_err(DockerError::engine("restart container", &started.name))?;
        self.inspect_started(started.id.clone(), &started.name, &network.name)
            .await
    }

    async fn start_or_remove(
        &self,
        name: &str,
        network: &str,
        request: ContainerRequest<GenericImage>,
    ) -> Result<StartedContainer, DockerError> {
        let image = request.descriptor();
        let started = async {
            // Without this check testcontainers would pull a missing image.
            let known = self.engine().docker().inspect_image(&image).await;
            known.map_err(DockerError::engine("find image", &image))?;
            let guard = tokio::select! {
                guard = request.start() => guard,
                () = self.inner.ending.cancelled() => return Err(self.is_ending(name)),
            };
            match guard {
                Ok(guard) => {
                    let id = guard.id().to_owned();
                    if let Some(entry) = self.ledger().entry(name) {
                        entry.id = Some(id.clone());
                        entry.guard = Some(Box::new(guard));
                    }
                    self.inspect_started(id, name, network).await
                }
                Err(source) => {
                    let lines = self.last_lines(name, LAST_LINES).await.unwrap_or_default();
                    Err(DockerError::Start {
                        name: name.to_owned(),
                        image: image.clone(),
                        lines,
                        source: Box::new(source),
                    })
                }
            }
        };
        let started = started.await;
        if started.is_err() {
            self.remove_quietly(name).await;
        }
        started
    }

    async fn inspect_started(
        &self,
        id: String,
        name: &str,
        network: &str,
    ) -> Result<StartedContainer, DockerError> {
        let inspected = self
            .engine()
            .docker()
            .inspect_container(&id, None::<InspectContainerOptions>)
            .await;
        let inspected = inspected.map_err(DockerError::engine("inspect container", name))?;
        let networks = inspected
            .network_settings
            .and_then(|settings| settings.networks)
            .unwrap_or_default();
        let ip = networks
            .get(network)
            .and_then(|there| there.ip_address.as_deref()?.parse::<Ipv4Addr>().ok());
        match ip {
            Some(ip) => Ok(StartedContainer {
                id,
                name: name.to_owned(),
                ip,
            }),
            None => {
                let code = inspected
                    .state
                    .and_then(|state| state.exit_code)
                    .unwrap_or_default();
                let lines = self.last_lines(name, LAST_LINES).await.unwrap_or_default();
                let problem = format!("ended immediately with exit code {code}; last lines:\n{lines}");
                Err(DockerError::Unexpected {
                    object: format!("container `{name}`"),
                    problem,
                })
            }
        }
    }

    fn with_run_settings(
        &self,
        role: &str,
        name: &str,
        network: &RunNetwork,
        request: ContainerRequest<GenericImage>,
    ) -> ContainerRequest<GenericImage> {
        let modifier = request.host_config_modifier().cloned();
        let volume_labels = self.labels("volume");
        let version = self.engine().api_version();
        let factor = self.engine().time_factor();
        let negotiation = factor.scale(NEGOTIATION_TIMEOUT);
        let limit = factor.scale(request.startup_timeout().unwrap_or(START_TIMEOUT));
        let network = network.name.clone();
        request
            .with_container_name(name)
            .with_startup_timeout(limit)
            .with_labels(self.labels(role))
            .with_host_config_modifier(move |host| {
                if let Some(modify) = &modifier {
                    modify(host);
                }
                // Not by `with_network`, which sends a request before the API version is pinned.
                host.network_mode = Some(network.clone());
                // testcontainers publishes every port that the image exposes, on all addresses of the host.
                host.publish_all_ports = Some(false);
                label_volumes(host, &volume_labels);
                pin_api_version(version, negotiation);
            })
    }

    fn is_ending(&self, what: &str) -> DockerError {
        DockerError::Ending {
            object: format!("container `{what}`"),
            run: self.id().to_string(),
        }
    }
}

fn label_volumes(host: &mut HostConfig, labels: &std::collections::HashMap<String, String>) {
    let anonymous = host.mounts.iter_mut().flatten().filter(|mount| {
        mount.typ == Some(MountType::VOLUME) && mount.source.as_ref().is_none_or(String::is_empty)
    });
    for mount in anonymous {
        let options = mount
            .volume_options
            .get_or_insert_with(MountVolumeOptions::default);
        let labels_of_volume = options.labels.get_or_insert_default();
        for (key, value) in labels {
            labels_of_volume
                .entry(key.clone())
                .or_insert_with(|| value.clone());
        }
    }
}

/// Makes the client of testcontainers use the engine's API version.
///
/// testcontainers 0.28 uses the newest version it knows and does not negotiate, which engines with API 1.41 refuse with
/// status 400. All its containers share one client per process, which is dropped with the last container. This function
/// runs after testcontainers has created the client and before its first request, in a callback that cannot await:
/// hence the thread. A client with the right version is not used here, because its connections are driven by the thread
/// that waits for this function; a client with another version has sent no request yet and has no connection.
///
/// The lock around that client can be promised to another start that is next on this very worker: the other tasks of
/// the worker move to another thread meanwhile. A runtime with one thread has no other: there the wait ends by its
/// timeout.
fn pin_api_version(version: (usize, usize), limit: Duration) {
    let negotiate = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .ok()?;
        runtime.block_on(async {
            let docker = timeout(limit, docker_client_instance()).await.ok()?.ok()?;
            let speaks = docker.client_version();
            match (speaks.major_version, speaks.minor_version) <= version {
                true => Some(docker),
                false => timeout(limit, docker.negotiate_version()).await.ok()?.ok(),
            }
        })
    };
    let pinned = beside_this_worker(move || std::thread::spawn(negotiate).join());
    if pinned.ok().flatten().is_none() {
        tracing::debug!(
            "could not negotiate the API version of the engine; the start reports the consequence"
        );
    }
}

/// Runs blocking work. Other tasks of this thread run elsewhere meanwhile, if the runtime has several threads.
fn beside_this_worker<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bollard::models::Mount;
    use std::collections::HashMap;

    /// A task that is woken by the blocked one is next on the same worker, from which no other worker takes it.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn blocking_work_does_not_hold_the_task_that_is_next() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let (done, is_done) = std::sync::mpsc::channel();
        let next = tokio::spawn(async move {
            receiver.await.unwrap();
            done.send(()).unwrap();
        });
        let blocking = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(50)).await;
            sender.send(()).unwrap();
            beside_this_worker(move || is_done.recv_timeout(Duration::from_secs(10)))
        });
        assert_eq!(blocking.await.unwrap(), Ok(()));
        next.await.unwrap();
    }

    #[test]
    fn only_anonymous_volumes_get_labels() {
        let volume = |source: Option<&str>| Mount {
            typ: Some(MountType::VOLUME),
            source: source.map(str::to_owned),
            ..Mount::default()
        };
        let mut host = HostConfig {
            mounts: Some(vec![volume(None), volume(Some("theirs"))]),
            ..HostConfig::default()
        };
        label_volumes(
            &mut host,
            &HashMap::from([("nodejoin.run".to_owned(), "abcdefgh".to_owned())]),
        );
        let labelled: Vec<_> = host
            .mounts
            .unwrap()
            .iter()
            .map(|mount| mount.volume_options.is_some())
            .collect();
        assert_eq!(labelled, [true, false]);
    }
}
