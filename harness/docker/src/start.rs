//! Starting a container through testcontainers so that nothing of a failed or abandoned start stays.

use std::net::Ipv4Addr;
use std::time::Duration;

use bollard::models::{HostConfig, MountType, MountVolumeOptions};
use bollard::query_parameters::{InspectContainerOptions, StartContainerOptions, WaitContainerOptions};
use futures::StreamExt as _;
use testcontainers::core::client::docker_client_instance;
use testcontainers::runners::AsyncRunner as _;
use testcontainers::{ContainerRequest, GenericImage, ImageExt as _};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::error::DockerError;
use crate::ledger::Kind;
use crate::run::{Run, RunNetwork, Started};

/// How many lines of a container that did not start stand in the error.
const LAST_LINES: &str = "20";
/// How long an engine may take to make and start a container.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How long a container that was told to end may take.
const END_LIMIT: Duration = Duration::from_secs(60);
/// How long an engine may take to say which API it speaks.
const NEGOTIATION: Duration = Duration::from_secs(10);

impl Run {
    /// Starts a container on a network of the run. Its name is recorded before the container is made, so a start that fails or
    /// whose future is dropped leaves nothing; it gets the run's labels, and so do its anonymous volumes. No port is published.
    ///
    /// The request's own host-config modifier runs first; do not give the request a network or a name. Its startup timeout, 60 s where it
    /// has none, is multiplied by the engine's time factor.
    ///
    /// # Errors
    /// When the image is not there (none is pulled), or the container does not start; then its last lines are in the error and
    /// it is removed.
    pub async fn start(
        &self,
        role: &str,
        name_hint: &str,
        network: &RunNetwork,
        request: ContainerRequest<GenericImage>,
    ) -> Result<Started, DockerError> {
        let name = self.record(Kind::Container, name_hint)?;
        if let Some(entry) = self.ledger().entry(&name) {
            entry.network = Some(network.name.clone());
        }
        let request = self.dress(role, &name, network, request);
        let (answer, answered) = oneshot::channel();
        let (run, network) = (self.clone(), network.name.clone());
        self.inner.starts.spawn(async move {
            let started = run.start_or_remove(&name, &network, request).await;
            // The caller is gone, and with it whoever would have removed the container.
            if answer.send(started).is_err() {
                run.remove_quietly(&name).await;
            }
        });
        answered.await.unwrap_or_else(|_| Err(self.is_ending(name_hint)))
    }

    /// A container that was recorded by [`Run::adopt`] and that runs now.
    ///
    /// # Errors
    /// When it is not there, or has ended.
    pub async fn adopted(&self, name: &str, network: &RunNetwork) -> Result<Started, DockerError> {
        let docker = self.engine().docker();
        let seen = docker
            .inspect_container(name, None::<InspectContainerOptions>)
            .await;
        let seen = seen.map_err(DockerError::engine("inspect container", name))?;
        let id = seen.id.unwrap_or_default();
        if let Some(entry) = self.ledger().entry(name) {
            entry.id = Some(id.clone());
        }
        self.look_at(id, name, &network.name).await
    }

    /// Starts a container of the run again once it has ended, with everything that it has written but for what lies in memory. It may
    /// get another address.
    ///
    /// # Errors
    /// When it does not end in time, or does not start.
    pub async fn start_again(&self, started: &Started, network: &RunNetwork) -> Result<Started, DockerError> {
        let docker = self.engine().docker();
        let limit = self.engine().time_factor().limit(END_LIMIT);
        let mut ending = docker.wait_container(&started.id, None::<WaitContainerOptions>);
        if timeout(limit, ending.next()).await.is_err() {
            return Err(DockerError::Unexpected {
                object: format!("container `{}`", started.name),
                wrong: format!("did not end within {} s", limit.as_secs()),
            });
        }
        let again = docker
            .start_container(&started.id, None::<StartContainerOptions>)
            .await;
        again.map_err(DockerError::engine("start again container", &started.name))?;
        self.look_at(started.id.clone(), &started.name, &network.name)
            .await
    }

    async fn start_or_remove(
        &self,
        name: &str,
        network: &str,
        request: ContainerRequest<GenericImage>,
    ) -> Result<Started, DockerError> {
        let image = request.descriptor();
        let started = async {
            // testcontainers would pull an image that is not there, from wherever its name leads.
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
                    self.look_at(id, name, network).await
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

    async fn look_at(&self, id: String, name: &str, network: &str) -> Result<Started, DockerError> {
        let seen = self
            .engine()
            .docker()
            .inspect_container(&id, None::<InspectContainerOptions>)
            .await;
        let seen = seen.map_err(DockerError::engine("inspect container", name))?;
        let networks = seen
            .network_settings
            .and_then(|settings| settings.networks)
            .unwrap_or_default();
        let ip = networks
            .get(network)
            .and_then(|there| there.ip_address.as_deref()?.parse::<Ipv4Addr>().ok());
        match ip {
            Some(ip) => Ok(Started {
                id,
                name: name.to_owned(),
                ip,
            }),
            None => {
                let code = seen.state.and_then(|state| state.exit_code).unwrap_or_default();
                let lines = self.last_lines(name, LAST_LINES).await.unwrap_or_default();
                let wrong = format!("ended at once with exit code {code}; its last lines:\n{lines}");
                Err(DockerError::Unexpected {
                    object: format!("container `{name}`"),
                    wrong,
                })
            }
        }
    }

    fn dress(
        &self,
        role: &str,
        name: &str,
        network: &RunNetwork,
        request: ContainerRequest<GenericImage>,
    ) -> ContainerRequest<GenericImage> {
        let theirs = request.host_config_modifier().cloned();
        let volume_labels = self.labels("volume");
        let version = self.engine().api_version();
        let factor = self.engine().time_factor();
        let negotiation = factor.limit(NEGOTIATION);
        let limit = factor.limit(request.startup_timeout().unwrap_or(START_LIMIT));
        let network = network.name.clone();
        request
            .with_container_name(name)
            .with_startup_timeout(limit)
            .with_labels(self.labels(role))
            .with_host_config_modifier(move |host| {
                if let Some(theirs) = &theirs {
                    theirs(host);
                }
                // Given here, and not by `with_network`: that asks the engine first, in a version it may not speak.
                host.network_mode = Some(network.clone());
                // testcontainers publishes every port that an image exposes, on all addresses of the host.
                host.publish_all_ports = Some(false);
                label_volumes(host, &volume_labels);
                speak_the_engines_version(version, negotiation);
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
        let own = options.labels.get_or_insert_default();
        for (key, value) in labels {
            own.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
}

/// Lets the client of testcontainers speak the engine's version of the API.
///
/// testcontainers 0.28 speaks the newest it knows and never negotiates, which engines of API 1.41 answer with 400. It shares one
/// client a process, hands out clones of it that share the version, and forgets the client when no container holds it; a start
/// that is under way does. This is called between its making the client and its first request, from where it cannot be awaited:
/// hence the thread. A client whose version is right is not asked anything: its connections are driven by the very thread that
/// waits here. One whose version is not has made no request yet, and so has no connection.
fn speak_the_engines_version(version: (usize, usize), limit: Duration) {
    let negotiate = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .ok()?;
        runtime.block_on(async {
            let docker = docker_client_instance().await.ok()?;
            let speaks = docker.client_version();
            match (speaks.major_version, speaks.minor_version) <= version {
                true => Some(docker),
                false => timeout(limit, docker.negotiate_version()).await.ok()?.ok(),
            }
        })
    };
    if std::thread::spawn(negotiate).join().ok().flatten().is_none() {
        tracing::debug!(
            "the version of the engine's API could not be negotiated; the start says what comes of it"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bollard::models::Mount;
    use std::collections::HashMap;

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
