//! A throw-away container that runs one command.

use std::time::{Duration, SystemTime};

use bollard::Docker;
use bollard::models::{ContainerCreateBody, HostConfig};
use bollard::query_parameters::{
    CreateContainerOptionsBuilder, LogsOptionsBuilder, RemoveContainerOptionsBuilder, StartContainerOptions,
    WaitContainerOptions,
};
use futures::StreamExt as _;
use tokio::time::timeout;

use crate::engine::Engine;
use crate::error::DockerError;
use crate::labels;
use crate::owner::Owner;

/// Timeout of a probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(30);

/// A command in a throw-away container.
#[derive(Debug, Clone)]
pub(crate) struct Probe {
    image: String,
    host: HostConfig,
    command: Vec<String>,
}

impl Probe {
    /// The operation in the error when the engine refuses the privileges of the container.
    pub(crate) const START: &str = "start a probe container from image";

    /// A probe without a network.
    pub(crate) fn of(image: &str) -> Self {
        let host = HostConfig {
            network_mode: Some("none".to_owned()),
            ..HostConfig::default()
        };
        Self {
            image: image.to_owned(),
            host,
            command: vec!["true".to_owned()],
        }
    }

    /// Sets the privileges and the network.
    #[must_use]
    pub(crate) fn with_host(mut self, host: HostConfig) -> Self {
        let network = host
            .network_mode
            .clone()
            .or_else(|| self.host.network_mode.clone());
        self.host = HostConfig {
            network_mode: network,
            ..host
        };
        self
    }

    /// Sets the command (default: `true`), which is run without a shell.
    #[must_use]
    pub(crate) fn with_command(mut self, command: &[&str]) -> Self {
        self.command = command.iter().map(|&part| part.to_owned()).collect();
        self
    }

    /// Runs the command and returns its exit code and output.
    pub(crate) async fn run(self, engine: &Engine) -> Result<(i64, String), DockerError> {
        let engine = engine.clone();
        // Runs in its own task, so that dropping the caller does not leave a container.
        let task = tokio::spawn(async move { self.run_and_remove(&engine).await });
        task.await
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }

    async fn run_and_remove(self, engine: &Engine) -> Result<(i64, String), DockerError> {
        let docker = engine.docker();
        let name = format!("nodejoin-probe-{}-{:x}", std::process::id(), rand_bits());
        let body = ContainerCreateBody {
            image: Some(self.image.clone()),
            entrypoint: Some(self.command.clone()),
            labels: Some(labels::of("probe", "probe", &Owner::current(), SystemTime::now())),
            host_config: Some(self.host.clone()),
            ..ContainerCreateBody::default()
        };
        let options = CreateContainerOptionsBuilder::new().name(&name).build();
        let created = docker.create_container(Some(options), body).await;
        created.map_err(DockerError::engine(
            "create a probe container from image",
            &self.image,
        ))?;
        let limit = engine.time_factor().scale(PROBE_TIMEOUT);
        let done = timeout(limit, self.follow(engine, &name)).await;
        let force = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
        let removed = docker.remove_container(&name, Some(force)).await;
        let late = DockerError::TimedOut {
            operation: "run a probe container from image",
            object: self.image.clone(),
            timeout: Some(limit),
        };
        let done = done.unwrap_or(Err(late))?;
        removed.map_err(DockerError::engine("remove probe container", name))?;
        Ok(done)
    }

    async fn follow(&self, engine: &Engine, name: &str) -> Result<(i64, String), DockerError> {
        let docker = engine.docker();
        let start = docker.start_container(name, None::<StartContainerOptions>).await;
        start.map_err(DockerError::engine(Self::START, &self.image))?;
        let ended = end_of(docker, name).await;
        ended.map_err(DockerError::engine("read the output of probe container", name))
    }
}

/// Waits for the end of a container, and returns its exit code and output.
pub(crate) async fn end_of(docker: &Docker, name: &str) -> Result<(i64, String), bollard::errors::Error> {
    let code = match docker
        .wait_container(name, None::<WaitContainerOptions>)
        .next()
        .await
    {
        Some(Ok(end)) => end.status_code,
        Some(Err(bollard::errors::Error::DockerContainerWaitError { code, .. })) => code,
        Some(Err(error)) => return Err(error),
        None => -1,
    };
    let options = LogsOptionsBuilder::new().stdout(true).stderr(true).build();
    let mut log = docker.logs(name, Some(options));
    let mut output = String::new();
    while let Some(piece) = log.next().await {
        output.push_str(&String::from_utf8_lossy(&piece?.into_bytes()));
    }
    Ok((code, output))
}

/// Random bits for names, without a random number generator.
pub(crate) fn rand_bits() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(SystemTime::now())
}
