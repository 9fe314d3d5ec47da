//! The node image for kind: from the settings, else `kindest/node` if available, else built here.

use nodejoin_core::kubernetes::{Version, VersionRequest};

use crate::error::DockerError;
use crate::images::builder::Builder;
use crate::images::engine_images::Images;
use crate::images::image_ref::ImageRef;
use crate::images::version_candidates::{SOURCE_VERSION, is_of_source};
use crate::probe::Probe;

/// Recipe folder and role of the image that is built here.
pub(crate) const FOLDER: &str = "kind-node";
/// The repository of the kind project, with one tag per Kubernetes version.
const OFFICIAL: &str = "kindest/node";

impl Images {
    /// A node image for kind with the requested version of Kubernetes: from the settings, else published by the kind
    /// project, else built here. An existing image is preferred to pulling or building one.
    ///
    /// # Errors
    /// When the image has another version than the requested one, or can be neither pulled nor built.
    pub async fn kind_node(&self) -> Result<ImageRef, DockerError> {
        self.builder.kind_node().await
    }

    /// A node image for kind that is built here.
    ///
    /// # Errors
    /// When the build fails; the error contains the path of the build log.
    pub async fn built_kind_node(&self) -> Result<ImageRef, DockerError> {
        self.builder.derived(FOLDER, FOLDER).await
    }
}

impl Builder {
    async fn kind_node(&self) -> Result<ImageRef, DockerError> {
        let requested = self.requested_version()?;
        if let Some(named) = &self.settings.kind_image {
            return self.checked(named, requested.as_ref()).await;
        }
        // No published image contains the programs of the folder `NODEJOIN_ASSETS`.
        if self.settings.assets.is_some() {
            return self.derived(FOLDER, FOLDER).await;
        }
        let Some(published) = published(requested.as_ref()) else {
            return self.derived(FOLDER, FOLDER).await;
        };
        let official = format!("{OFFICIAL}:{published}");
        let requested = published.parse::<VersionRequest>().ok();
        if self.find(&official).await?.is_some() {
            return self.checked(&official, requested.as_ref()).await;
        }
        if let Some(built) = self.current_image(FOLDER).await? {
            return Ok(built);
        }
        let limit = self.settings.registry_timeout;
        let pulled = self
            .engine
            .pull(&official, limit, |output| tracing::debug!(output, "pull"))
            .await;
        match pulled {
            Ok(()) => self.checked(&official, requested.as_ref()).await,
            Err(why) => {
                tracing::info!(why, "building a node image for kind instead");
                self.derived(FOLDER, FOLDER).await
            }
        }
    }

    /// Checks that an image is a node image for kind with the requested version.
    async fn checked(
        &self,
        image: &str,
        requested: Option<&VersionRequest>,
    ) -> Result<ImageRef, DockerError> {
        let probe = Probe::of(image).with_command(&["cat", "/kind/version"]);
        let (code, output) = probe.run(&self.engine).await?;
        let actual = output.trim().to_owned();
        if code != 0 {
            return Err(DockerError::Unexpected {
                object: format!("image `{image}`"),
                problem: format!("is not a node image for kind: /kind/version is missing ({actual})"),
            });
        }
        let matches = |requested: &&VersionRequest| {
            let actual = actual.parse::<Version>();
            actual.is_ok_and(|actual| requested.admits(&actual))
        };
        match requested.filter(|requested| !matches(requested)) {
            Some(requested) => Err(DockerError::ImageVersion {
                image: image.to_owned(),
                actual,
                requested: requested.to_string(),
            }),
            None => Ok(ImageRef::own(image, actual)),
        }
    }
}

/// The version in the tag of the published image: a tag has an exact version, so `1.32` has none.
fn published(requested: Option<&VersionRequest>) -> Option<String> {
    match requested {
        Some(VersionRequest::Exact(version)) => Some(version.to_string()),
        Some(minor) => is_of_source(minor).then(|| SOURCE_VERSION.to_owned()),
        None => Some(SOURCE_VERSION.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_exact_version_has_a_published_image() {
        let published = |version: &str| published(Some(&version.parse().unwrap()));
        assert_eq!(published("1.32.1").as_deref(), Some("v1.32.1"));
        assert_eq!(published("1.20").as_deref(), Some(SOURCE_VERSION));
        assert_eq!(published("1.32"), None);
        assert_eq!(super::published(None).as_deref(), Some(SOURCE_VERSION));
    }
}
