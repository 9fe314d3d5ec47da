//! The image of a node of kind: one that is named, else `kindest/node` where it can be had, else ours.

use crate::error::DockerError;
use crate::images::kubernetes::SOURCE_VERSION;
use crate::images::programs::version;
use crate::images::workshop::Workshop;
use crate::images::{ImageRef, Images};
use crate::probe::Probe;

/// The recipe of ours.
pub(crate) const FOLDER: &str = "kind-node";
/// Where the project publishes its images, by version of Kubernetes.
const OFFICIAL: &str = "kindest/node";

impl Images {
    /// A node image for kind with the wanted version of Kubernetes: the one that the settings name, else the project's own where
    /// it is there or a registry answers, else one made here. What is there already is taken before anything is pulled or made.
    ///
    /// # Errors
    /// When the image has another version than is wanted, or it can neither be pulled nor made.
    pub async fn kind_node(&self) -> Result<ImageRef, DockerError> {
        self.workshop.kind_node().await
    }

    /// The same, but always made here.
    ///
    /// # Errors
    /// When it cannot be built; the error names the file with the output.
    pub async fn own_kind_node(&self) -> Result<ImageRef, DockerError> {
        self.workshop.derived(FOLDER, FOLDER).await
    }
}

impl Workshop {
    async fn kind_node(&self) -> Result<ImageRef, DockerError> {
        if let Some(named) = &self.settings.kind_image {
            let wanted = self.settings.kubernetes.as_deref().map(version).transpose()?;
            return self.checked(named, wanted.as_deref()).await;
        }
        // Programs of the user's own are in no published image.
        if self.settings.assets.is_some() {
            return self.derived(FOLDER, FOLDER).await;
        }
        let wanted = version(self.settings.kubernetes.as_deref().unwrap_or(SOURCE_VERSION))?;
        let official = format!("{OFFICIAL}:{wanted}");
        if self.find(&official).await?.is_some() {
            return self.checked(&official, Some(&wanted)).await;
        }
        if let Some(ours) = self.current_image(FOLDER).await? {
            return Ok(ours);
        }
        let limit = self.settings.registry_limit;
        let pulled = self
            .engine
            .pull(&official, limit, |said| tracing::debug!(said, "pull"))
            .await;
        match pulled {
            Ok(()) => self.checked(&official, Some(&wanted)).await,
            Err(why) => {
                tracing::info!(why, "making a node image for kind instead");
                self.derived(FOLDER, FOLDER).await
            }
        }
    }

    /// The image, when it says that it is of this version.
    async fn checked(&self, image: &str, wanted: Option<&str>) -> Result<ImageRef, DockerError> {
        let ask = Probe::of(image).with_command(&["cat", "/kind/version"]);
        let (code, said) = ask.run(&self.engine).await?;
        let seen = said.trim().to_owned();
        if code != 0 {
            return Err(DockerError::Unexpected {
                object: format!("image `{image}`"),
                wrong: format!("is no node image of kind: it has no /kind/version ({seen})"),
            });
        }
        match wanted.filter(|wanted| *wanted != seen) {
            Some(wanted) => Err(DockerError::ImageVersion {
                image: image.to_owned(),
                seen,
                wanted: wanted.to_owned(),
            }),
            None => Ok(ImageRef {
                name: image.to_owned(),
                kubernetes: seen,
            }),
        }
    }
}
