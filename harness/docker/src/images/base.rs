//! The image that all others start from: pulled where a registry answers, else made from Debian's packages.

use std::collections::HashMap;

use bollard::body_try_stream;
use bollard::query_parameters::{CreateImageOptions, RemoveImageOptionsBuilder};
use futures::{Stream, StreamExt as _};
use nodejoin_core::run::error_chain::chain;

use crate::error::DockerError;
use crate::images::context::{ContextFile, Source};
use crate::images::debian::Mmdebstrap;
use crate::images::recipe::Hash;
use crate::images::workshop::{Bench, Target, Workshop};
use crate::settings::ImageSettings;

impl Workshop {
    /// What the base image is, under these settings. A base of the user's own counts by its content where it is there.
    pub(crate) async fn base_target(&self) -> Result<Target, DockerError> {
        let wanted = &self.settings.base;
        let mut hash = Hash::new("base");
        hash.add(wanted);
        if self.settings.debian_mirror != ImageSettings::DEBIAN_MIRROR {
            hash.add(&self.settings.debian_mirror);
        }
        if wanted != ImageSettings::BASE {
            let id = self.find(wanted).await?.and_then(|image| image.id);
            hash.add(&id.unwrap_or_default());
        }
        Ok(Target {
            name: "base".to_owned(),
            role: "base",
            hash: hash.short(),
            kubernetes: None,
        })
    }

    /// The base image, made where it is not there.
    pub(crate) async fn base(&self) -> Result<String, DockerError> {
        let target = self.base_target().await?;
        let image = target.image();
        if self.find(&image).await?.is_some() {
            return Ok(image);
        }
        let Some(mut bench) = self.bench(&target).await? else {
            return Ok(image);
        };
        let wanted = self.settings.base.clone();
        if self.find(&wanted).await?.is_some() {
            self.relabel(&mut bench, &target, &wanted).await?;
        } else if let Err(not_pulled) = self.pull(&mut bench, &wanted).await {
            self.bootstrap(&mut bench, &target, not_pulled).await?;
        } else {
            self.relabel(&mut bench, &target, &wanted).await?;
        }
        bench.done();
        Ok(image)
    }

    /// Gives an image our labels and name.
    pub(crate) async fn relabel(
        &self,
        bench: &mut Bench,
        target: &Target,
        from: &str,
    ) -> Result<(), DockerError> {
        let dockerfile = ContextFile {
            path: "Dockerfile".to_owned(),
            mode: 0o644,
            source: Source::Bytes(format!("FROM {from}\n").into_bytes()),
        };
        self.build(bench, target, HashMap::new(), vec![dockerfile]).await
    }

    async fn pull(&self, bench: &mut Bench, wanted: &str) -> Result<(), String> {
        bench.step(&format!("pull {wanted}"));
        let limit = self.settings.registry_limit;
        self.engine.pull(wanted, limit, |text| bench.say(text)).await
    }

    /// Makes the image of Debian from its packages, on this host.
    async fn bootstrap(
        &self,
        bench: &mut Bench,
        target: &Target,
        not_pulled: String,
    ) -> Result<(), DockerError> {
        let log = bench.log_path().to_owned();
        let give_up = |why: String| DockerError::Base {
            image: target.image(),
            tried: vec![not_pulled.clone(), why],
            log: log.clone(),
        };
        if self.settings.base != ImageSettings::BASE {
            let why = "only Debian bookworm can be made from packages".to_owned();
            return Err(give_up(why));
        }
        let tool = match Mmdebstrap::find(&self.settings, bench).await {
            Ok(tool) => tool,
            Err(why) => return Err(give_up(why)),
        };
        let architecture = self
            .engine
            .architecture("base image", "set NODEJOIN_BASE to an image of Debian for it")?;
        let (tree, end) = match tool.run(&self.settings, architecture, bench).await {
            Ok(running) => running,
            Err(why) => return Err(give_up(why)),
        };
        let tag = format!("{}-raw", target.hash);
        let raw = format!("nodejoin/base:{tag}");
        let imported = self.import(&tag, tree).await.map_err(|error| chain(&error));
        let made = match end.await {
            // The tool's own word is better than that of an engine that got half an archive.
            Err(why) => Err(give_up(why)),
            Ok(()) => match imported {
                Err(why) => Err(give_up(why)),
                Ok(()) => self.relabel(bench, target, &raw).await,
            },
        };
        self.untag(&raw).await;
        made
    }

    /// Takes back a name that an image had while it was made. What others start from stays.
    pub(crate) async fn untag(&self, image: &str) {
        let options = RemoveImageOptionsBuilder::new().noprune(true).build();
        if let Err(error) = self
            .engine
            .docker()
            .remove_image(image, Some(options), None)
            .await
        {
            tracing::debug!(image, %error, "could not be untagged");
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
