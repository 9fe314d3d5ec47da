//! The image of k3s for a version of Kubernetes, and a stand-in that is built here.
//!
//! k3s publishes one image per version: `v1.32.1` is `rancher/k3s:v1.32.1-k3s1`. A minor version has no tag.

use std::collections::HashMap;

use bollard::query_parameters::ListImagesOptionsBuilder;

use crate::error::DockerError;
use crate::images::engine_images::Images;
use crate::images::image_ref::ImageRef;

const REPOSITORY: &str = "rancher/k3s";

/// The value of the setting that selects the stand-in.
const STAND_IN_SETTING: &str = "stand-in";

/// Recipe folder and role of the stand-in.
pub(crate) const STAND_IN: &str = "k3s-stand-in";

/// The last patch release of minor versions without support, and a published one of those with support
/// (<https://github.com/k3s-io/k3s/releases>).
const NEWEST: &[(&str, u32)] = &[
    ("1.20", 15),
    ("1.21", 14),
    ("1.22", 17),
    ("1.23", 17),
    ("1.24", 17),
    ("1.25", 16),
    ("1.26", 15),
    ("1.27", 16),
    ("1.28", 15),
    ("1.29", 15),
    ("1.30", 14),
    ("1.31", 9),
    ("1.32", 5),
    ("1.33", 1),
];

impl Images {
    /// The image of k3s for a version such as `v1.32.1` or `1.32`, pulled if it is missing. An image in the settings
    /// takes precedence.
    ///
    /// # Errors
    /// When the image is missing and cannot be pulled.
    pub async fn k3s(&self, kubernetes: &str) -> Result<ImageRef, DockerError> {
        let image = match &self.builder.settings.k3s_image {
            Some(image) if image == STAND_IN_SETTING => return self.k3s_stand_in().await,
            Some(image) => image.clone(),
            None => self.k3s_image(kubernetes).await?,
        };
        if self.builder.find_versioned(&image).await?.is_none() {
            let limit = self.builder.settings.registry_timeout;
            let pulled = self.builder.engine.pull(&image, limit, |_| ()).await;
            pulled.map_err(|reason| DockerError::NotPulled {
                image: image.clone(),
                reason,
            })?;
        }
        let found = self.builder.find_built(&image).await?;
        let version = Some(found.kubernetes).filter(|version| !version.is_empty());
        let version = version.or_else(|| version_of(&image)).unwrap_or_default();
        Ok(ImageRef::own(image, version))
    }

    /// An image that implements k3s' command line with the programs of Kubernetes, built if it is missing. It is not
    /// k3s.
    ///
    /// # Errors
    /// When the build fails; the error contains the path of the build log.
    pub async fn k3s_stand_in(&self) -> Result<ImageRef, DockerError> {
        self.builder.derived(STAND_IN, STAND_IN).await
    }

    async fn k3s_image(&self, kubernetes: &str) -> Result<String, DockerError> {
        if let Some(tag) = tag_of(kubernetes) {
            return Ok(format!("{REPOSITORY}:{tag}"));
        }
        let filters = HashMap::from([("reference", vec![REPOSITORY.to_owned()])]);
        let options = ListImagesOptionsBuilder::new().filters(&filters).build();
        let there = self.builder.engine.docker().list_images(Some(options)).await;
        let there = there.map_err(DockerError::engine("list images of", REPOSITORY))?;
        let there = there.into_iter().flat_map(|image| image.repo_tags);
        Ok(newest(kubernetes, there).unwrap_or_else(|| published(kubernetes)))
    }
}

/// The tag of an exact version.
fn tag_of(kubernetes: &str) -> Option<String> {
    let bare = kubernetes.trim_start_matches('v');
    let (numbers, suffix) = bare.split_once(['+', '-']).unwrap_or((bare, ""));
    let suffix = if suffix.starts_with("k3s") { suffix } else { "k3s1" };
    (numbers.split('.').count() == 3).then(|| format!("v{numbers}-{suffix}"))
}

/// The newest of the existing images of a minor version.
fn newest(minor: &str, existing: impl Iterator<Item = String>) -> Option<String> {
    let start = format!("{REPOSITORY}:v{}.", minor.trim_start_matches('v'));
    let patch = |image: &String| {
        let rest = image.strip_prefix(&start)?;
        rest.split('-').next()?.parse::<u32>().ok()
    };
    existing
        .filter(|image| patch(image).is_some())
        .max_by_key(|image| (patch(image), image.clone()))
}

/// The newest published image of a minor version in the table; for a minor version that is not in the table, the first.
fn published(minor: &str) -> String {
    let bare = minor.trim_start_matches('v');
    let patch = NEWEST.iter().find(|(known, _)| *known == bare);
    format!(
        "{REPOSITORY}:v{bare}.{}-k3s1",
        patch.map_or(0, |(_, patch)| *patch)
    )
}

/// The version in the tag of an image of k3s.
fn version_of(image: &str) -> Option<String> {
    let (_, tag) = image.rsplit_once(':')?;
    let (version, _) = tag.split_once("-k3s")?;
    version.starts_with('v').then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_version_has_a_tag() {
        for (version, tag) in [
            ("v1.32.1", Some("v1.32.1-k3s1")),
            ("1.20.2", Some("v1.20.2-k3s1")),
            ("v1.32.1+k3s2", Some("v1.32.1-k3s2")),
            ("v1.29.4-eks-1", Some("v1.29.4-k3s1")),
            ("1.32", None),
        ] {
            assert_eq!(tag_of(version).as_deref(), tag, "{version}");
        }
        assert_eq!(version_of("rancher/k3s:v1.32.1-k3s1").as_deref(), Some("v1.32.1"));
        assert_eq!(version_of("nodejoin/k3s-stand-in:0123456789ab"), None);
    }

    #[test]
    fn a_minor_version_selects_an_existing_image_and_else_a_published_one() {
        let there = [
            "rancher/k3s:v1.32.9-k3s1",
            "rancher/k3s:v1.32.10-k3s1",
            "rancher/k3s:v1.31.1-k3s1",
        ];
        let newest = |minor| newest(minor, there.iter().map(|image| (*image).to_owned()));
        assert_eq!(newest("1.32").as_deref(), Some("rancher/k3s:v1.32.10-k3s1"));
        assert_eq!(newest("1.3"), None);
        assert_eq!(published("v1.20"), "rancher/k3s:v1.20.15-k3s1");
        assert_eq!(published("1.99"), "rancher/k3s:v1.99.0-k3s1");
    }
}
