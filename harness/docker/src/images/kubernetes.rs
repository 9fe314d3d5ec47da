//! The image with the Kubernetes programs: from a folder, an existing image, a release, or Debian's source package.

use std::collections::HashMap;

use nodejoin_core::kubernetes::{Version, VersionRequest};
use nodejoin_core::plan::architecture::Architecture;

use crate::error::DockerError;
use crate::images::builder::{BuildTarget, Builder};
use crate::images::content_hash::ContentHash;
use crate::images::engine_images::Images;
use crate::images::image_ref::ImageRef;
use crate::images::programs::{FOLDER, files_of, read_version, target};
use crate::images::recipe::{ParentImage, Recipe};
use crate::images::release::{KubernetesRelease, downloaded};
use crate::images::version_candidates::{SOURCE_VERSION, is_of_source, newest_first};
use crate::labels;
use crate::probe::Probe;
use crate::settings::Assets;

impl Images {
    /// The image with the Kubernetes programs, built if it is missing.
    ///
    /// # Errors
    /// When a folder of programs is incomplete, or a download or the build fails.
    pub async fn kubernetes(&self) -> Result<ImageRef, DockerError> {
        self.builder.kubernetes().await
    }

    /// Checks that a source provides the requested version of Kubernetes, and builds nothing.
    ///
    /// # Errors
    /// [`DockerError::NoKubernetes`] with why each source does not provide it, or a refusal of the engine.
    pub async fn check_version(&self, requested: &VersionRequest) -> Result<(), DockerError> {
        self.builder.check_version(requested).await
    }
}

impl Builder {
    /// An image with the programs: an existing candidate, else a new one.
    pub(crate) async fn kubernetes(&self) -> Result<ImageRef, DockerError> {
        if let Some(found) = self.existing_kubernetes().await? {
            return Ok(found);
        }
        match self.requested_version()? {
            Some(requested) => self.build_version(&requested).await,
            None => self.build_default().await,
        }
    }

    /// The first existing candidate.
    pub(crate) async fn existing_kubernetes(&self) -> Result<Option<ImageRef>, DockerError> {
        for candidate in self.version_candidates().await? {
            if let Some(found) = self.find_versioned(&candidate.image()).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The image for runs that request no version.
    async fn build_default(&self) -> Result<ImageRef, DockerError> {
        if let Some((assets, target)) = self.assets_targets().await?.into_iter().next() {
            return self.assets_image(&assets, &target).await;
        }
        if self.release(SOURCE_VERSION)?.is_reachable().await {
            return self.release_image(SOURCE_VERSION).await;
        }
        self.source_image().await
    }

    /// The image of the requested version: from the folder, the release server, or Debian's source package.
    async fn build_version(&self, requested: &VersionRequest) -> Result<ImageRef, DockerError> {
        if let Some((assets, target)) = self.assets_of(requested).await? {
            return self.assets_image(&assets, &target).await;
        }
        let (url, reason) = match self.newest_release(requested).await {
            Ok(image) => return Ok(image),
            Err(DockerError::Download { url, reason }) => (url, reason),
            Err(other) => return Err(other),
        };
        if is_of_source(requested) {
            tracing::info!(
                url,
                reason,
                "the release cannot be downloaded; building it from source"
            );
            return self.source_image().await;
        }
        Err(self.without_source(requested, &url, &reason).await)
    }

    /// Checks that a source provides the requested version, and builds nothing.
    pub(crate) async fn check_version(&self, requested: &VersionRequest) -> Result<(), DockerError> {
        let offline = self.offline_versions().await?;
        if offline.iter().any(|version| requested.admits(version)) {
            return Ok(());
        }
        let published = match requested {
            VersionRequest::Exact(version) => {
                let release = self.release(&version.to_string())?;
                release.published_checksum("kubelet").await.map(drop)
            }
            VersionRequest::Minor(minor) => self.release(SOURCE_VERSION)?.stable(*minor).await.map(drop),
        };
        match published {
            Err(DockerError::Download { url, reason }) => {
                Err(self.without_source(requested, &url, &reason).await)
            }
            other => other,
        }
    }

    async fn without_source(&self, requested: &VersionRequest, url: &str, reason: &str) -> DockerError {
        let mut tried = self.rejected_sources(requested).await;
        tried.push(format!("`{url}`: {reason}"));
        DockerError::NoKubernetes {
            requested: requested.clone(),
            tried,
        }
    }

    async fn assets_image(&self, assets: &Assets, target: &BuildTarget) -> Result<ImageRef, DockerError> {
        self.programs_image(target, files_of(&assets.folder)).await?;
        self.find_built(&target.image()).await
    }

    /// The newest release of the requested version: a downloaded one, else the newest one on the server.
    async fn newest_release(&self, requested: &VersionRequest) -> Result<ImageRef, DockerError> {
        let downloaded = newest_first(self.downloaded()?, requested).into_iter().next();
        let version = match (requested, downloaded) {
            (VersionRequest::Exact(version), _) => version.clone(),
            (VersionRequest::Minor(_), Some(version)) => version,
            (VersionRequest::Minor(minor), None) => self.release(SOURCE_VERSION)?.stable(*minor).await?,
        };
        self.release_image(&version.to_string()).await
    }

    /// The versions of completely downloaded releases.
    pub(crate) fn downloaded(&self) -> Result<Vec<Version>, DockerError> {
        Ok(downloaded(&self.settings.cache, self.architecture()?))
    }

    fn release(&self, version: &str) -> Result<KubernetesRelease, DockerError> {
        let factor = self.engine.time_factor();
        KubernetesRelease::new(&self.settings, version, self.architecture()?, factor)
    }

    fn architecture(&self) -> Result<Architecture, DockerError> {
        let instead = "set NODEJOIN_ASSETS to a folder with the programs for it";
        self.engine.architecture("release of Kubernetes", instead)
    }

    pub(crate) fn release_target(&self, version: &str) -> Result<BuildTarget, DockerError> {
        let mut hash = ContentHash::new("release and its scheduler");
        hash.add(version).add(self.architecture()?.go());
        Ok(target(hash.short(), Some(version.to_owned())))
    }

    async fn release_image(&self, version: &str) -> Result<ImageRef, DockerError> {
        let target = self.release_target(version)?;
        let release = self.release(version)?;
        let files = release
            .fetch(
                |step| self.report_step(&target, step),
                |progress| self.report_download(&target, progress),
            )
            .await?;
        self.programs_image(&target, files).await?;
        self.find_built(&target.image()).await
    }

    pub(crate) async fn source_target(&self) -> Result<BuildTarget, DockerError> {
        let base = self.base_target().await?.image();
        let hash = Recipe::load(FOLDER)?.hash(&[(ParentImage::Base, base)]);
        Ok(target(hash, None))
    }

    /// Builds the programs from Debian's source package, which takes about 7 minutes on two processors.
    async fn source_image(&self) -> Result<ImageRef, DockerError> {
        let base = self.base().await?;
        let target = self.source_target().await?;
        let image = target.image();
        let Some(mut session) = self.begin(&target).await? else {
            return self.find_built(&image).await;
        };
        // Labels are set before the build and the version is known after it: a second, empty build sets the label.
        let raw = BuildTarget {
            hash: format!("{}-raw", target.hash),
            role: "build",
            ..target.clone()
        };
        let files = Recipe::load(FOLDER)?
            .build_files()
            .into_iter()
            .map(Into::into)
            .collect();
        let arguments = HashMap::from([(ParentImage::Base.argument().to_owned(), base)]);
        self.build(&mut session, &raw, arguments, files).await?;
        let (_, output) = Probe::of(&raw.image())
            .with_command(&["/kubernetes/kubelet", "--version"])
            .run(&self.engine)
            .await?;
        let version = read_version(&output)
            .ok_or_else(|| session.failed(&format!("invalid version of its kubelet: `{}`", output.trim())))?;
        let labelled = BuildTarget {
            kubernetes: Some(version),
            ..target
        };
        self.relabel(&mut session, &labelled, &raw.image()).await?;
        self.untag(&raw.image()).await;
        self.remove_dangling(&session, &labelled.name).await;
        session.finish();
        self.find_built(&image).await
    }

    /// An existing image with the Kubernetes version of its label.
    pub(crate) async fn find_versioned(&self, image: &str) -> Result<Option<ImageRef>, DockerError> {
        let Some(found) = self.find(image).await? else {
            return Ok(None);
        };
        let labels = found.config.and_then(|config| config.labels).unwrap_or_default();
        let kubernetes = labels.get(labels::KUBERNETES).cloned().unwrap_or_default();
        Ok(Some(ImageRef::own(image, kubernetes)))
    }

    /// An image that was just built.
    pub(crate) async fn find_built(&self, image: &str) -> Result<ImageRef, DockerError> {
        let gone = || DockerError::Unexpected {
            object: format!("image `{image}`"),
            problem: "was removed immediately after it was built".to_owned(),
        };
        self.find_versioned(image).await?.ok_or_else(gone)
    }
}
