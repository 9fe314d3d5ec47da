//! The base image of all others: pulled if a registry provides it, else built from Debian packages.

use std::collections::HashMap;

use bollard::body_try_stream;
use bollard::query_parameters::{CreateImageOptions, RemoveImageOptionsBuilder};
use futures::{Stream, StreamExt as _};
use nodejoin_core::run::error_chain::chain;

use crate::error::DockerError;
use crate::images::builder::{BuildSession, BuildTarget, Builder};
use crate::images::content_hash::ContentHash;
use crate::images::context::{ContextFile, FileContent};
use crate::images::debian::Mmdebstrap;
use crate::images::engine_images::Images;
use crate::settings::ImageSettings;

impl Images {
    /// The base image of all others, built if it is missing.
    ///
    /// # Errors
    /// When no registry responds and the image cannot be built on this host.
    pub async fn base(&self) -> Result<String, DockerError> {
        self.builder.base().await
    }
}

impl Builder {
    /// The build target of the base image. A base image of the settings is identified by its content if it exists.
    pub(crate) async fn base_target(&self) -> Result<BuildTarget, DockerError> {
        let base = &self.settings.base;
        let mut hash = ContentHash::new("base");
        hash.add(base);
        if self.settings.debian_mirror != ImageSettings::DEBIAN_MIRROR {
            hash.add(&self.settings.debian_mirror);
        }
        if base != ImageSettings::BASE {
            let id = self.find(base).await?.and_then(|image| image.id);
            hash.add(&id.unwrap_or_default());
        }
        Ok(BuildTarget {
            name: "base".to_owned(),
            role: "base",
            hash: hash.short(),
            kubernetes: None,
        })
    }

    /// The base image, built if it is missing.
    pub(crate) async fn base(&self) -> Result<String, DockerError> {
        let target = self.base_target().await?;
        let image = target.image();
        if self.find(&image).await?.is_some() {
            return Ok(image);
        }
        let Some(mut session) = self.begin(&target).await? else {
            return Ok(image);
        };
        let base = self.settings.base.clone();
        if self.find(&base).await?.is_some() {
            self.relabel(&mut session, &target, &base).await?;
        } else if let Err(pull_error) = self.pull(&mut session, &base).await {
            self.bootstrap(&mut session, &target, pull_error).await?;
        } else {
            self.relabel(&mut session, &target, &base).await?;
        }
        session.finish();
        Ok(image)
    }

    /// Gives an image the labels and name of a target.
    pub(crate) async fn relabel(
        &self,
        session: &mut BuildSession,
        target: &BuildTarget,
        from: &str,
    ) -> Result<(), DockerError> {
        let dockerfile = ContextFile {
            path: "Dockerfile".to_owned(),
            mode: 0o644,
            source: FileContent::Bytes(format!("FROM {from}\n").into_bytes()),
        };
        self.build(session, target, HashMap::new(), vec![dockerfile])
            .await
    }

    async fn pull(&self, session: &mut BuildSession, base: &str) -> Result<(), String> {
        session.step(&format!("pull {base}"));
        let limit = self.settings.registry_timeout;
        self.engine.pull(base, limit, |text| session.write(text)).await
    }

    /// Builds the Debian image from packages on this host.
    async fn bootstrap(
        &self,
        session: &mut BuildSession,
        target: &BuildTarget,
        pull_error: String,
    ) -> Result<(), DockerError> {
        let log = session.log_path().to_owned();
        let failed = |why: String| DockerError::Base {
            image: target.image(),
            tried: vec![pull_error.clone(), why],
            log: log.clone(),
        };
        if self.settings.base != ImageSettings::BASE {
            let why = "only Debian bookworm can be built from packages".to_owned();
            return Err(failed(why));
        }
        let tool = match Mmdebstrap::find(&self.settings, session).await {
            Ok(tool) => tool,
            Err(why) => return Err(failed(why)),
        };
        let architecture = self
            .engine
            .architecture("base image", "set NODEJOIN_BASE to an image of Debian for it")?;
        let (tree, end) = match tool.run(&self.settings, architecture, session).await {
            Ok(running) => running,
            Err(why) => return Err(failed(why)),
        };
        let tag = format!("{}-raw", target.hash);
        let raw = format!("nodejoin/base:{tag}");
        let imported = self.import(&tag, tree).await.map_err(|error| chain(&error));
        let created = match end.await {
            // The error of the tool explains more than the engine's error about an incomplete archive.
            Err(why) => Err(failed(why)),
            Ok(()) => match imported {
                Err(why) => Err(failed(why)),
                Ok(()) => self.relabel(session, target, &raw).await,
            },
        };
        self.untag(&raw).await;
        created
    }

    /// Removes the temporary name of an image. Its parents stay.
    pub(crate) async fn untag(&self, image: &str) {
        let options = RemoveImageOptionsBuilder::new().noprune(true).build();
        if let Err(error) = self
            .engine
            .docker()
            .remove_image(image, Some(options), None)
            .await
        {
            tracing::debug!(image, %error, "could not untag the image");
        }
    }

    async fn import(
        &self,
        tag: &str,
        tree: impl Stream<Item = std::io::Result<bytes::Bytes>> + Send + 'static,
    ) -> Result<(), DockerError> {
        let options = CreateImageOptions {
            from_src: Some("-".to_owned()),
            repo: Some("nodejoin/base".to_owned()),
            tag: Some(tag.to_owned()),
            ..CreateImageOptions::default()
        };
        let mut output = self
            .engine
            .docker()
            .create_image(Some(options), Some(body_try_stream(tree)), None);
        while let Some(piece) = output.next().await {
            piece.map_err(DockerError::engine(
                "import image",
                format!("nodejoin/base:{tag}"),
            ))?;
        }
        Ok(())
    }
}
