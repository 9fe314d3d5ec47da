//! A container in which an image is completed, and committed as one layer. The builder would commit after each
//! instruction, and each commit of a large root file system takes seconds.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use bollard::body_try_stream;
use bollard::models::{ContainerConfig, ContainerCreateBody, HostConfig};
use bollard::query_parameters::{
    CommitContainerOptions, CreateContainerOptionsBuilder, DownloadFromContainerOptionsBuilder,
    RemoveContainerOptionsBuilder, StartContainerOptions, UploadToContainerOptionsBuilder,
};
use futures::TryStreamExt as _;
use tokio::time::timeout;

use crate::engine::Engine;
use crate::error::DockerError;
use crate::images::builder::BuildTarget;
use crate::images::context::streamed;
use crate::labels;
use crate::probe::{end_of, rand_bits};

/// Timeout of the programs of an image, which print their versions.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A container of an image, not started yet.
pub(super) struct Assembly {
    engine: Engine,
    container: String,
    image: String,
    target: BuildTarget,
}

impl Assembly {
    /// Creates the container with its command, without a network.
    pub(super) async fn new(
        engine: &Engine,
        target: &BuildTarget,
        image: &str,
        command: &str,
    ) -> Result<Self, DockerError> {
        let labels = HashMap::from([
            (labels::IMAGE.to_owned(), target.name.clone()),
            (labels::ROLE.to_owned(), "build".to_owned()),
        ]);
        let name = format!("nodejoin-import-{}-{:x}", std::process::id(), rand_bits());
        let body = ContainerCreateBody {
            image: Some(image.to_owned()),
            user: Some("0".to_owned()),
            entrypoint: Some(vec![command.to_owned()]),
            // The image inherits it; a commit cannot change it.
            stop_signal: Some("SIGRTMIN+3".to_owned()),
            // `images prune` finds the container of a killed process by these labels.
            labels: Some(labels),
            host_config: Some(HostConfig {
                network_mode: Some("none".to_owned()),
                ..HostConfig::default()
            }),
            ..ContainerCreateBody::default()
        };
        let options = CreateContainerOptionsBuilder::new().name(&name).build();
        let created = engine.docker().create_container(Some(options), body).await;
        created.map_err(DockerError::engine("create a container from image", image))?;
        Ok(Self {
            engine: engine.clone(),
            container: name,
            image: image.to_owned(),
            target: target.clone(),
        })
    }

    /// Creates folders.
    pub(super) async fn create_folders(&self, folders: &'static [&'static str]) -> Result<(), DockerError> {
        let archive = streamed(move |to| {
            let mut archive = tar::Builder::new(to);
            for folder in folders {
                let mut header = tar::Header::new_gnu();
                header.set_entry_type(tar::EntryType::Directory);
                header.set_mode(0o755);
                header.set_size(0);
                archive.append_data(&mut header, folder, io::empty())?;
            }
            archive.into_inner()?.flush()
        });
        self.upload("/", archive).await
    }

    /// Copies a file or folder of another image into a folder.
    pub(super) async fn copy(&self, image: &str, path: &str, to: &str) -> Result<(), DockerError> {
        let from = Self::new(&self.engine, &self.target, image, "none").await?;
        let options = DownloadFromContainerOptionsBuilder::new().path(path).build();
        let archive = self
            .engine
            .docker()
            .download_from_container(&from.container, Some(options))
            .map_err(io::Error::other);
        let copied = self.upload(to, archive).await;
        from.remove().await;
        copied
    }

    async fn upload(
        &self,
        folder: &str,
        archive: impl futures::Stream<Item = io::Result<bytes::Bytes>> + Send + 'static,
    ) -> Result<(), DockerError> {
        let options = UploadToContainerOptionsBuilder::new().path(folder).build();
        let docker = self.engine.docker();
        let sent = docker.upload_to_container(&self.container, Some(options), body_try_stream(archive));
        sent.await.map_err(DockerError::engine(
            "add the tools of the harness to image",
            &self.image,
        ))
    }

    /// Runs the command, and returns its exit code and output.
    pub(super) async fn run(&self) -> Result<(i64, String), DockerError> {
        let limit = self.engine.time_factor().scale(TIMEOUT);
        let done = timeout(limit, self.follow()).await;
        done.unwrap_or_else(|_| {
            Err(DockerError::TimedOut {
                operation: "read the versions of the programs of",
                object: self.image.clone(),
                timeout: Some(limit),
            })
        })
    }

    async fn follow(&self) -> Result<(i64, String), DockerError> {
        let docker = self.engine.docker();
        let name = &self.container;
        let failed = || DockerError::engine("inspect image", &self.image);
        let started = docker.start_container(name, None::<StartContainerOptions>);
        started.await.map_err(failed())?;
        end_of(docker, name).await.map_err(failed())
    }

    /// Commits the container as an image with these lines of a Dockerfile. It starts nothing by itself, and stops as
    /// systemd does.
    pub(super) async fn commit(&self, target: &BuildTarget, labels: &str) -> Result<(), DockerError> {
        let own = target.labels();
        let own = own.iter().map(|(key, value)| format!("LABEL {key}={value}\n"));
        let changes = ["USER 0\nWORKDIR /\nENTRYPOINT []\nCMD []\n", labels]
            .map(str::to_owned)
            .into_iter()
            .chain(own)
            .collect::<String>();
        let options = CommitContainerOptions {
            container: Some(self.container.clone()),
            repo: Some(format!("nodejoin/{}", target.name)),
            tag: Some(target.hash.clone()),
            changes: Some(changes),
            pause: false,
            ..CommitContainerOptions::default()
        };
        let committed = self
            .engine
            .docker()
            .commit_container(options, ContainerConfig::default())
            .await;
        committed
            .map(drop)
            .map_err(DockerError::engine("commit image", target.image()))
    }

    /// Removes the container.
    pub(super) async fn remove(self) {
        let options = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
        let removed = self
            .engine
            .docker()
            .remove_container(&self.container, Some(options))
            .await;
        if let Err(error) = removed {
            tracing::debug!(container = self.container, %error, "could not remove the container; `nodejoin images prune` does");
        }
    }
}
