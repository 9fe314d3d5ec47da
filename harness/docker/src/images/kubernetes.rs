//! Where the Kubernetes programs of an image come from: a folder, an image that is there, a release, or Debian's source.

use std::collections::HashMap;

use nodejoin_core::architecture::Architecture;

use crate::error::DockerError;
use crate::images::ImageRef;
use crate::images::programs::{files_of, read_version, target, version};
use crate::images::recipe::{Hash, Parent, Recipe};
use crate::images::release::Release;
use crate::images::workshop::{Target, Workshop};
use crate::labels;
use crate::probe::Probe;

/// The version of Debian bookworm's source package. It is also the release that is downloaded when none is asked for, so that
/// both ways lead to the same programs.
pub(crate) const SOURCE_VERSION: &str = "v1.20.2";
const FOLDER: &str = "kubernetes";

impl Workshop {
    /// The images that would do, best first. One that is there is taken before another one is made.
    pub(crate) async fn kubernetes_candidates(&self) -> Result<Vec<Target>, DockerError> {
        if let Some(assets) = &self.settings.assets {
            return Ok(vec![self.assets_target(assets).await?]);
        }
        match self.wanted_version()? {
            Some(version) if version == SOURCE_VERSION => {
                Ok(vec![self.release_target(&version)?, self.source_target().await?])
            }
            Some(version) => Ok(vec![self.release_target(&version)?]),
            None => Ok(vec![
                self.source_target().await?,
                self.release_target(SOURCE_VERSION)?,
            ]),
        }
    }

    /// An image with the programs, made where none of the candidates is there.
    pub(crate) async fn kubernetes(&self) -> Result<ImageRef, DockerError> {
        for candidate in self.kubernetes_candidates().await? {
            if let Some(found) = self.known(&candidate.image()).await? {
                return Ok(found);
            }
        }
        if let Some(assets) = &self.settings.assets {
            let target = self.assets_target(assets).await?;
            self.programs_image(&target, files_of(&assets.folder)).await?;
            return self.made(&target.image()).await;
        }
        match self.wanted_version()? {
            Some(version) => match self.release_image(&version).await {
                Err(DockerError::Download { url, reason }) if version == SOURCE_VERSION => {
                    tracing::info!(
                        url,
                        reason,
                        "the release cannot be downloaded; building the same version from source"
                    );
                    self.source_image().await
                }
                other => other,
            },
            None if self.release(SOURCE_VERSION)?.is_reachable().await => {
                self.release_image(SOURCE_VERSION).await
            }
            None => self.source_image().await,
        }
    }

    fn wanted_version(&self) -> Result<Option<String>, DockerError> {
        self.settings.kubernetes.as_deref().map(version).transpose()
    }

    fn release(&self, version: &str) -> Result<Release, DockerError> {
        let factor = self.engine.time_factor();
        Ok(Release::of(&self.settings, version, self.architecture()?, factor))
    }

    /// The engine's architecture, as releases name it.
    fn architecture(&self) -> Result<&'static str, DockerError> {
        let instead = "set NODEJOIN_ASSETS to a folder with the programs for it";
        let known = self.engine.architecture("release of Kubernetes", instead);
        known.map(Architecture::go)
    }

    pub(crate) fn release_target(&self, version: &str) -> Result<Target, DockerError> {
        let mut hash = Hash::new("release and its scheduler");
        hash.add(version).add(self.architecture()?);
        Ok(target(hash.short(), Some(version.to_owned())))
    }

    async fn release_image(&self, version: &str) -> Result<ImageRef, DockerError> {
        let target = self.release_target(version)?;
        let release = self.release(version)?;
        let files = release.fetch(|step| self.tell(&target, step)).await?;
        self.programs_image(&target, files).await?;
        self.made(&target.image()).await
    }

    pub(crate) async fn source_target(&self) -> Result<Target, DockerError> {
        let base = self.base_target().await?.image();
        let hash = Recipe::load(FOLDER)?.hash(&[(Parent::Base, base)]);
        Ok(target(hash, None))
    }

    /// Builds the programs from Debian's source package: some ten minutes on two processors.
    async fn source_image(&self) -> Result<ImageRef, DockerError> {
        let base = self.base().await?;
        let target = self.source_target().await?;
        let image = target.image();
        let Some(mut bench) = self.bench(&target).await? else {
            return self.made(&image).await;
        };
        // The version is known once it is built, and labels are given before: hence a second, empty step.
        let raw = Target {
            hash: format!("{}-raw", target.hash),
            role: "build",
            ..target.clone()
        };
        let files = Recipe::load(FOLDER)?
            .build_files()
            .into_iter()
            .map(Into::into)
            .collect();
        let arguments = HashMap::from([(Parent::Base.argument().to_owned(), base)]);
        self.build(&mut bench, &raw, arguments, files).await?;
        let said = Probe::of(&raw.image())
            .with_command(&["/kubernetes/kubelet", "--version"])
            .run(&self.engine)
            .await?;
        let version = read_version(&said.1)
            .ok_or_else(|| bench.failed(&format!("its kubelet said `{}`", said.1.trim())))?;
        let labelled = Target {
            kubernetes: Some(version),
            ..target
        };
        self.relabel(&mut bench, &labelled, &raw.image()).await?;
        self.untag(&raw.image()).await;
        self.clear_stages(&bench, &labelled.name).await;
        bench.done();
        self.made(&image).await
    }

    /// An image that is there, with the version that its label tells.
    pub(crate) async fn known(&self, image: &str) -> Result<Option<ImageRef>, DockerError> {
        let Some(found) = self.find(image).await? else {
            return Ok(None);
        };
        let labels = found.config.and_then(|config| config.labels).unwrap_or_default();
        let kubernetes = labels.get(labels::KUBERNETES).cloned().unwrap_or_default();
        Ok(Some(ImageRef {
            name: image.to_owned(),
            kubernetes,
        }))
    }

    /// An image that was just made.
    pub(crate) async fn made(&self, image: &str) -> Result<ImageRef, DockerError> {
        let gone = || DockerError::Unexpected {
            object: format!("image `{image}`"),
            wrong: "is gone although it was just made".to_owned(),
        };
        self.known(image).await?.ok_or_else(gone)
    }
}
