//! Which images with Kubernetes programs would do for what is wanted: of a folder, of a release, of Debian's source.
//!
//! | wanted | in this order |
//! | --- | --- |
//! | nothing | the newest version of the assets folder; else Debian's source, else the release of the same version |
//! | `1.32` | the folder's; versions that an image has already; downloaded ones; Debian's source, where it is that version |
//! | `1.32.1` | the same, and the release itself |

use std::collections::HashMap;

use bollard::query_parameters::ListImagesOptionsBuilder;
use nodejoin_core::kubernetes::{Version, VersionAsk};

use crate::error::DockerError;
use crate::images::kubernetes::SOURCE_VERSION;
use crate::images::workshop::{Target, Workshop};
use crate::labels;
use crate::settings::Assets;

impl Workshop {
    /// What is wanted, where something is.
    pub(crate) fn wanted(&self) -> Result<Option<VersionAsk>, DockerError> {
        self.settings.kubernetes.as_deref().map(ask).transpose()
    }

    /// The images that would do, best first. One that is there is taken before another one is made.
    pub(crate) async fn kubernetes_candidates(&self) -> Result<Vec<Target>, DockerError> {
        if let Some(wanted) = self.wanted()? {
            return self.candidates_of(&wanted).await;
        }
        let own = self.assets_targets().await?.into_iter().next();
        match own {
            Some((_, target)) => Ok(vec![target]),
            None => Ok(vec![
                self.source_target().await?,
                self.release_target(SOURCE_VERSION)?,
            ]),
        }
    }

    async fn candidates_of(&self, wanted: &VersionAsk) -> Result<Vec<Target>, DockerError> {
        let mut targets: Vec<Target> = Vec::new();
        if let Some((_, target)) = self.assets_of(wanted).await? {
            targets.push(target);
        }
        let mut versions = self.versions_in_images().await?;
        versions.extend(self.downloaded()?);
        if let VersionAsk::Exact(version) = wanted {
            versions.push(version.clone());
        }
        for version in newest_first(versions, wanted) {
            targets.push(self.release_target(&version.to_string())?);
        }
        if is_of_source(wanted) {
            targets.push(self.source_target().await?);
        }
        Ok(targets)
    }

    /// The folder of programs that is wanted, newest first, with the image of its programs.
    pub(crate) async fn assets_of(
        &self,
        wanted: &VersionAsk,
    ) -> Result<Option<(Assets, Target)>, DockerError> {
        let admitted = |target: &Target| version_of(target).is_some_and(|version| wanted.admits(&version));
        let all = self.assets_targets().await?;
        Ok(all.into_iter().find(|(_, target)| admitted(target)))
    }

    /// Every folder of programs of the assets folder, newest version first.
    pub(crate) async fn assets_targets(&self) -> Result<Vec<(Assets, Target)>, DockerError> {
        let mut all = Vec::new();
        for assets in self.settings.assets.iter().flat_map(Assets::versions) {
            let target = self.assets_target(&assets).await?;
            all.push((assets, target));
        }
        all.sort_by_key(|(_, target)| std::cmp::Reverse(version_of(target).map(|version| version.rank())));
        Ok(all)
    }

    /// The versions that images of ours have.
    async fn versions_in_images(&self) -> Result<Vec<Version>, DockerError> {
        let filters = HashMap::from([("label", vec![labels::KUBERNETES.to_owned()])]);
        let options = ListImagesOptionsBuilder::new().filters(&filters).build();
        let images = self.engine.docker().list_images(Some(options)).await;
        let images = images.map_err(DockerError::engine("list images of", "nodejoin"))?;
        let versions = images
            .iter()
            .filter_map(|image| image.labels.get(labels::KUBERNETES));
        Ok(versions.filter_map(|version| version.parse().ok()).collect())
    }

    /// Every way to a version that is not there, and why each fails but the release server's.
    pub(crate) async fn no_other_way(&self, wanted: &VersionAsk) -> Vec<String> {
        let mut tried = Vec::new();
        if let Some(assets) = &self.settings.assets {
            let there = self.assets_targets().await.unwrap_or_default();
            let there: Vec<_> = there
                .into_iter()
                .filter_map(|(_, target)| target.kubernetes)
                .collect();
            tried.push(format!(
                "`{}`, named by {}, has {}",
                assets.folder.display(),
                assets.named_by,
                if there.is_empty() {
                    "none".to_owned()
                } else {
                    there.join(", ")
                }
            ));
        }
        if !is_of_source(wanted) {
            tried.push(format!("Debian's source package is {SOURCE_VERSION}"));
        }
        tried
    }
}

/// A version as it was asked for.
pub(crate) fn ask(text: &str) -> Result<VersionAsk, DockerError> {
    text.trim().parse().map_err(DockerError::Version)
}

/// Whether Debian's source package is what is wanted.
pub(crate) fn is_of_source(wanted: &VersionAsk) -> bool {
    SOURCE_VERSION
        .parse()
        .is_ok_and(|version| wanted.admits(&version))
}

/// Those that are wanted, each once, newest first.
pub(crate) fn newest_first(mut versions: Vec<Version>, wanted: &VersionAsk) -> Vec<Version> {
    versions.retain(|version| wanted.admits(version));
    versions.sort_by_key(|version| std::cmp::Reverse((version.rank(), version.to_string())));
    versions.dedup();
    versions
}

fn version_of(target: &Target) -> Option<Version> {
    target.kubernetes.as_deref()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_that_is_wanted_is_first_and_stands_once() {
        let versions = ["v1.32.9", "v1.31.14", "v1.32.13", "v1.32.9", "v1.33.0-rc.1"];
        let versions = || versions.map(|version| version.parse().unwrap()).to_vec();
        let texts = |wanted: &str| {
            let found = newest_first(versions(), &ask(wanted).unwrap());
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(texts("1.32"), ["v1.32.13", "v1.32.9"]);
        assert_eq!(texts("1.32.9"), ["v1.32.9"]);
        assert!(
            texts("1.33").is_empty(),
            "a candidate of a release is taken by its whole name only"
        );
        assert_eq!(texts("1.33.0-rc.1"), ["v1.33.0-rc.1"]);
    }

    #[test]
    fn debians_source_is_one_version() {
        assert!(is_of_source(&ask("1.20").unwrap()));
        assert!(is_of_source(&ask("v1.20.2").unwrap()));
        assert!(!is_of_source(&ask("1.20.15").unwrap()));
        assert!(!is_of_source(&ask("1.21").unwrap()));
        assert!(ask("newest").is_err());
    }
}
