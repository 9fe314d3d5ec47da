//! The candidates for a requested version of Kubernetes: images of a folder, of a release, and of Debian's source
//! package.
//!
//! | requested | candidates, best first |
//! | --- | --- |
//! | no version | the newest version in the assets folder; else Debian's source package, and its release |
//! | `1.32` | the assets folder; downloaded releases; Debian's source package; existing images, also of other sources |
//! | `1.32.1` | those of `1.32`, and the release of that version |

use std::collections::HashMap;

use bollard::models::ImageSummary;
use bollard::query_parameters::ListImagesOptionsBuilder;
use nodejoin_core::kubernetes::{Version, VersionRequest};

use crate::error::DockerError;
use crate::images::builder::{BuildTarget, Builder};
use crate::images::engine_images::Images;
use crate::images::programs::{FOLDER, target};
use crate::labels;
use crate::settings::Assets;

/// The version of Debian bookworm's source package, and of the release that is downloaded if no version is requested:
/// both yield the same programs.
pub(crate) const SOURCE_VERSION: &str = "v1.20.2";

impl Images {
    /// The versions of Kubernetes that need no download, some of them several times. The first is that of a run without
    /// a request.
    ///
    /// # Errors
    /// When the engine refuses a request, or a folder of programs is incomplete.
    pub async fn offline_versions(&self) -> Result<Vec<Version>, DockerError> {
        self.builder.offline_versions().await
    }
}

impl Builder {
    /// The version that the settings request.
    pub(crate) fn requested_version(&self) -> Result<Option<VersionRequest>, DockerError> {
        self.settings.kubernetes.as_deref().map(parse).transpose()
    }

    /// The candidates, best first. An existing image is preferred to building another candidate.
    pub(crate) async fn version_candidates(&self) -> Result<Vec<BuildTarget>, DockerError> {
        if let Some(requested) = self.requested_version()? {
            return self.candidates_of(&requested).await;
        }
        let newest = self.assets_targets().await?.into_iter().next();
        match newest {
            Some((_, target)) => Ok(vec![target]),
            None => Ok(vec![
                self.source_target().await?,
                self.release_target(SOURCE_VERSION)?,
            ]),
        }
    }

    async fn candidates_of(&self, requested: &VersionRequest) -> Result<Vec<BuildTarget>, DockerError> {
        let mut targets: Vec<BuildTarget> = Vec::new();
        if let Some((_, target)) = self.assets_of(requested).await? {
            targets.push(target);
        }
        let images = self.existing_images().await?;
        let mut versions: Vec<Version> = images.iter().filter_map(version_of).collect();
        versions.extend(self.downloaded()?);
        if let VersionRequest::Exact(version) = requested {
            versions.push(version.clone());
        }
        for version in newest_first(versions, requested) {
            targets.push(self.release_target(&version.to_string())?);
        }
        if is_of_source(requested) {
            targets.push(self.source_target().await?);
        }
        // The folder that an image was built from may not be set any more.
        targets.extend(matching_programs(images, requested));
        Ok(targets)
    }

    /// The folder with the newest programs of the requested version, with its build target.
    pub(crate) async fn assets_of(
        &self,
        requested: &VersionRequest,
    ) -> Result<Option<(Assets, BuildTarget)>, DockerError> {
        let admitted =
            |target: &BuildTarget| version_of(target).is_some_and(|version| requested.admits(&version));
        let all = self.assets_targets().await?;
        Ok(all.into_iter().find(|(_, target)| admitted(target)))
    }

    /// Every folder with programs in the assets folder, newest version first.
    pub(crate) async fn assets_targets(&self) -> Result<Vec<(Assets, BuildTarget)>, DockerError> {
        let mut all = Vec::new();
        for assets in self.settings.assets.iter().flat_map(Assets::versions) {
            let target = self.assets_target(&assets).await?;
            all.push((assets, target));
        }
        all.sort_by_key(|(_, target)| std::cmp::Reverse(version_of(target).map(|version| version.rank())));
        Ok(all)
    }

    /// Existing images with a version of Kubernetes.
    async fn existing_images(&self) -> Result<Vec<BuildTarget>, DockerError> {
        let filters = HashMap::from([("label", vec![labels::KUBERNETES.to_owned()])]);
        let options = ListImagesOptionsBuilder::new().filters(&filters).build();
        let images = self.engine.docker().list_images(Some(options)).await;
        let images = images.map_err(DockerError::engine("list images of", "nodejoin"))?;
        Ok(images.iter().flat_map(existing).collect())
    }

    /// The versions of the assets folder, of existing images, of downloads and of Debian's source package. The first is
    /// that of a run without a request.
    pub(crate) async fn offline_versions(&self) -> Result<Vec<Version>, DockerError> {
        let assets = self.assets_targets().await?;
        let mut versions: Vec<Version> = assets
            .iter()
            .filter_map(|(_, target)| version_of(target))
            .collect();
        versions.extend(SOURCE_VERSION.parse());
        versions.extend(self.existing_images().await?.iter().filter_map(version_of));
        versions.extend(self.downloaded()?);
        Ok(versions)
    }

    /// Why the assets folder and Debian's source package do not provide a version.
    pub(crate) async fn rejected_sources(&self, requested: &VersionRequest) -> Vec<String> {
        let mut tried = Vec::new();
        if let Some(assets) = &self.settings.assets {
            let there = self.assets_targets().await.unwrap_or_default();
            let there: Vec<_> = there
                .into_iter()
                .filter_map(|(_, target)| target.kubernetes)
                .collect();
            tried.push(format!(
                "`{}`, set by {}, contains {}",
                assets.folder.display(),
                assets.named_by,
                if there.is_empty() {
                    "no version".to_owned()
                } else {
                    there.join(", ")
                }
            ));
        }
        if !is_of_source(requested) {
            tried.push(format!("Debian's source package is {SOURCE_VERSION}"));
        }
        tried
    }
}

/// The build targets that an image is the result of, one for each of its names.
fn existing(image: &ImageSummary) -> impl Iterator<Item = BuildTarget> {
    let named = image
        .repo_tags
        .iter()
        .filter_map(|tag| tag.strip_prefix("nodejoin/")?.split_once(':'));
    named.map(|(name, hash)| BuildTarget {
        name: name.to_owned(),
        ..target(hash.to_owned(), image.labels.get(labels::KUBERNETES).cloned())
    })
}

/// The images with the programs of the requested version, newest first.
fn matching_programs(images: Vec<BuildTarget>, requested: &VersionRequest) -> Vec<BuildTarget> {
    let is_match = |image: &BuildTarget| {
        image.name == FOLDER && version_of(image).is_some_and(|version| requested.admits(&version))
    };
    let mut images: Vec<BuildTarget> = images.into_iter().filter(is_match).collect();
    images.sort_by_key(|image| std::cmp::Reverse(version_of(image).map(|version| version.rank())));
    images
}

fn parse(text: &str) -> Result<VersionRequest, DockerError> {
    text.trim().parse().map_err(DockerError::Version)
}

/// Whether Debian's source package matches the requested version.
pub(crate) fn is_of_source(requested: &VersionRequest) -> bool {
    SOURCE_VERSION
        .parse()
        .is_ok_and(|version| requested.admits(&version))
}

/// The versions that match the requested one, without duplicates, newest first.
pub(crate) fn newest_first(mut versions: Vec<Version>, requested: &VersionRequest) -> Vec<Version> {
    versions.retain(|version| requested.admits(version));
    versions.sort_by_key(|version| std::cmp::Reverse((version.rank(), version.to_string())));
    versions.dedup();
    versions
}

fn version_of(target: &BuildTarget) -> Option<Version> {
    target.kubernetes.as_deref()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matching_versions_are_sorted_newest_first_without_duplicates() {
        let versions = ["v1.32.9", "v1.31.14", "v1.32.13", "v1.32.9", "v1.33.0-rc.1"];
        let versions = || versions.map(|version| version.parse().unwrap()).to_vec();
        let texts = |requested: &str| {
            let found = newest_first(versions(), &parse(requested).unwrap());
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(texts("1.32"), ["v1.32.13", "v1.32.9"]);
        assert_eq!(texts("1.32.9"), ["v1.32.9"]);
        assert!(
            texts("1.33").is_empty(),
            "a release candidate matches only its exact version"
        );
        assert_eq!(texts("1.33.0-rc.1"), ["v1.33.0-rc.1"]);
    }

    #[test]
    fn existing_images_of_other_sources_match_too() {
        let image = |name: &str, version: &str| ImageSummary {
            repo_tags: vec![
                format!("nodejoin/{name}:0123456789ab"),
                "other/image:1".to_owned(),
            ],
            labels: HashMap::from([(labels::KUBERNETES.to_owned(), version.to_owned())]),
            ..ImageSummary::default()
        };
        let images = [
            image("kubernetes", "v1.36.1"),
            image("control-plane", "v1.36.9"),
            image("kubernetes", "v1.36.3"),
            image("kubernetes", "v1.35.0"),
        ];
        let targets = images.iter().flat_map(existing).collect();
        let found = matching_programs(targets, &parse("1.36").unwrap());
        let versions: Vec<_> = found
            .iter()
            .filter_map(|image| image.kubernetes.as_deref())
            .collect();
        assert_eq!(versions, ["v1.36.3", "v1.36.1"]);
        assert_eq!(found[0].image(), "nodejoin/kubernetes:0123456789ab");
    }

    #[test]
    fn debians_source_package_matches_one_version() {
        assert!(is_of_source(&parse("1.20").unwrap()));
        assert!(is_of_source(&parse("v1.20.2").unwrap()));
        assert!(!is_of_source(&parse("1.20.15").unwrap()));
        assert!(!is_of_source(&parse("1.21").unwrap()));
        assert!(parse("newest").is_err());
    }
}
