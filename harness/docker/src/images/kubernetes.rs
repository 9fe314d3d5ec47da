//! Where the Kubernetes programs of an image come from: a folder, an image that is there, a release, or Debian's source.

use std::collections::HashMap;

use nodejoin_core::kubernetes::{Version, VersionAsk};
use nodejoin_core::plan::architecture::Architecture;

use crate::error::DockerError;
use crate::images::ImageRef;
use crate::images::programs::{files_of, read_version, target};
use crate::images::recipe::{Hash, Parent, Recipe};
use crate::images::release::{Release, downloaded};
use crate::images::wanted::{is_of_source, newest_first};
use crate::images::workshop::{Target, Workshop};
use crate::labels;
use crate::probe::Probe;
use crate::settings::Assets;

/// The version of Debian bookworm's source package. It is also the release that is downloaded when none is asked for, so that
/// both ways lead to the same programs.
pub(crate) const SOURCE_VERSION: &str = "v1.20.2";
const FOLDER: &str = "kubernetes";

impl Workshop {
    /// An image with the programs, made where none of the candidates is there.
    pub(crate) async fn kubernetes(&self) -> Result<ImageRef, DockerError> {
        for candidate in self.kubernetes_candidates().await? {
            if let Some(found) = self.known(&candidate.image()).await? {
                return Ok(found);
            }
        }
        match self.wanted()? {
            Some(wanted) => self.make(&wanted).await,
            None => self.make_any().await,
        }
    }

    /// What can be had without asking for a version.
    async fn make_any(&self) -> Result<ImageRef, DockerError> {
        if let Some((assets, target)) = self.assets_targets().await?.into_iter().next() {
            return self.assets_image(&assets, &target).await;
        }
        if self.release(SOURCE_VERSION)?.is_reachable().await {
            return self.release_image(SOURCE_VERSION).await;
        }
        self.source_image().await
    }

    /// The version that is wanted: from the folder, from the release server, from Debian's source.
    async fn make(&self, wanted: &VersionAsk) -> Result<ImageRef, DockerError> {
        if let Some((assets, target)) = self.assets_of(wanted).await? {
            return self.assets_image(&assets, &target).await;
        }
        let (url, reason) = match self.newest_release(wanted).await {
            Ok(image) => return Ok(image),
            Err(DockerError::Download { url, reason }) => (url, reason),
            Err(other) => return Err(other),
        };
        if is_of_source(wanted) {
            tracing::info!(
                url,
                reason,
                "the release cannot be downloaded; building it from source"
            );
            return self.source_image().await;
        }
        let mut tried = self.no_other_way(wanted).await;
        tried.push(format!("`{url}`: {reason}"));
        Err(DockerError::NoKubernetes {
            wanted: wanted.clone(),
            tried,
        })
    }

    async fn assets_image(&self, assets: &Assets, target: &Target) -> Result<ImageRef, DockerError> {
        self.programs_image(target, files_of(&assets.folder)).await?;
        self.made(&target.image()).await
    }

    /// The newest release that is wanted: a downloaded one, else the one that the server tells.
    async fn newest_release(&self, wanted: &VersionAsk) -> Result<ImageRef, DockerError> {
        let there = newest_first(self.downloaded()?, wanted).into_iter().next();
        let version = match (wanted, there) {
            (VersionAsk::Exact(version), _) => version.clone(),
            (VersionAsk::Minor(_), Some(version)) => version,
            (VersionAsk::Minor(minor), None) => self.release(SOURCE_VERSION)?.stable(*minor).await?,
        };
        self.release_image(&version.to_string()).await
    }

    /// The releases that were downloaded whole.
    pub(crate) fn downloaded(&self) -> Result<Vec<Version>, DockerError> {
        Ok(downloaded(&self.settings.cache, self.architecture()?))
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
