//! The image of a node of kind: one that is named, else `kindest/node` where it can be had, else ours.

use nodejoin_core::kubernetes::{Version, VersionAsk};

use crate::error::DockerError;
use crate::images::kubernetes::SOURCE_VERSION;
use crate::images::wanted::is_of_source;
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
        let wanted = self.wanted()?;
        if let Some(named) = &self.settings.kind_image {
            return self.checked(named, wanted.as_ref()).await;
        }
        // Programs of the user's own are in no published image.
        if self.settings.assets.is_some() {
            return self.derived(FOLDER, FOLDER).await;
        }
        let Some(published) = published(wanted.as_ref()) else {
            return self.derived(FOLDER, FOLDER).await;
        };
        let official = format!("{OFFICIAL}:{published}");
        let wanted = published.parse::<VersionAsk>().ok();
        if self.find(&official).await?.is_some() {
            return self.checked(&official, wanted.as_ref()).await;
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
            Ok(()) => self.checked(&official, wanted.as_ref()).await,
            Err(why) => {
                tracing::info!(why, "making a node image for kind instead");
                self.derived(FOLDER, FOLDER).await
            }
        }
    }

    /// The image, when it says that it is of this version.
    async fn checked(&self, image: &str, wanted: Option<&VersionAsk>) -> Result<ImageRef, DockerError> {
        let ask = Probe::of(image).with_command(&["cat", "/kind/version"]);
        let (code, said) = ask.run(&self.engine).await?;
        let seen = said.trim().to_owned();
        if code != 0 {
            return Err(DockerError::Unexpected {
                object: format!("image `{image}`"),
                wrong: format!("is no node image of kind: it has no /kind/version ({seen})"),
            });
        }
        let is_wanted = |wanted: &&VersionAsk| seen.parse::<Version>().is_ok_and(|seen| wanted.admits(&seen));
        match wanted.filter(|wanted| !is_wanted(wanted)) {
            Some(wanted) => Err(DockerError::ImageVersion {
                image: image.to_owned(),
                seen,
                wanted: wanted.to_string(),
            }),
            None => Ok(ImageRef {
                name: image.to_owned(),
                kubernetes: seen,
            }),
        }
    }
}

/// The version under which the project's own image is looked for: tags name a release, so `1.32` alone names none.
fn published(wanted: Option<&VersionAsk>) -> Option<String> {
    match wanted {
        Some(VersionAsk::Exact(version)) => Some(version.to_string()),
        Some(minor) => is_of_source(minor).then(|| SOURCE_VERSION.to_owned()),
        None => Some(SOURCE_VERSION.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_image_is_looked_for_by_a_whole_version() {
        let published = |asked: &str| published(Some(&asked.parse().unwrap()));
        assert_eq!(published("1.32.1").as_deref(), Some("v1.32.1"));
        assert_eq!(published("1.20").as_deref(), Some(SOURCE_VERSION));
        assert_eq!(published("1.32"), None);
        assert_eq!(super::published(None).as_deref(), Some(SOURCE_VERSION));
    }
}
