//! Existing images: lists them, and removes those that the current recipes do not build.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bollard::models::ImageSummary;
use bollard::query_parameters::{ListImagesOptionsBuilder, RemoveImageOptions};
use nodejoin_core::run::error_chain::chain;
use serde::Serialize;

use crate::error::{DockerError, status};
use crate::images::builder::Builder;
use crate::images::dangling::DanglingBuilds;
use crate::images::derived::derived_target;
use crate::images::engine_images::Images;
use crate::images::image_ref::ImageRef;
use crate::images::recipe::Recipe;
use crate::images::{folders, programs};
use crate::labels;

/// An image that the harness has built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedImage {
    /// Name and tag.
    pub name: String,
    /// Purpose: `base`, `kubernetes`, `control-plane`, `k3s-stand-in`, `kind-node`, `toolbox` or `node`.
    pub role: String,
    /// Version of the Kubernetes programs, if the image contains them.
    pub kubernetes: Option<String>,
    /// Size in bytes, including layers that it shares with other images.
    pub size: u64,
    /// Time since the image was built.
    pub age: Duration,
    /// Whether the current recipes build it. An imported image is current while its source is unchanged.
    pub is_current: bool,
}

/// The result of removing images.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// Names of removed images.
    pub removed: Vec<String>,
    /// Images that could not be removed, each with the reason.
    pub left: Vec<String>,
    /// Total size of the removed images; layers that other images share are not freed.
    pub bytes: u64,
}

impl Images {
    /// An existing image with a shell, for probes.
    pub async fn shell_image(&self) -> Option<String> {
        let base = self.builder.base_target().await.ok()?.image();
        if self.builder.find(&base).await.ok()?.is_some() {
            return Some(base);
        }
        let listed = self.list().await.ok()?;
        listed
            .into_iter()
            .find(|image| image.role != programs::FOLDER)
            .map(|image| image.name)
    }

    /// Every image that the harness has built, current images first.
    ///
    /// # Errors
    /// When the engine refuses a request.
    pub async fn list(&self) -> Result<Vec<ListedImage>, DockerError> {
        self.builder.list().await
    }

    /// Removes the images that the current recipes do not build, and leftovers of builds.
    ///
    /// # Errors
    /// When the engine does not list the images. An image that cannot be removed is listed in the result instead.
    pub async fn prune(&self) -> Result<Pruned, DockerError> {
        self.builder.prune().await
    }
}

impl Builder {
    pub(crate) async fn list(&self) -> Result<Vec<ListedImage>, DockerError> {
        let all = self.named().await?;
        let current = self.current(&all).await?;
        let mut listed: Vec<_> = all.iter().flat_map(|image| describe(image, &current)).collect();
        listed.sort_by(|a, b| (!a.is_current, &a.name).cmp(&(!b.is_current, &b.name)));
        Ok(listed)
    }

    pub(crate) async fn prune(&self) -> Result<Pruned, DockerError> {
        let mut pruned = Pruned::default();
        for image in self.list().await?.into_iter().filter(|image| !image.is_current) {
            let removed = self
                .engine
                .docker()
                .remove_image(&image.name, None::<RemoveImageOptions>, None)
                .await;
            match removed {
                Err(error) if status(&error) != Some(404) => {
                    pruned.left.push(format!("{}: {}", image.name, chain(&error)))
                }
                _ => {
                    pruned.bytes += image.size;
                    pruned.removed.push(image.name);
                }
            }
        }
        self.engine.remove_obsolete_volumes().await?;
        let mut dangling = DanglingBuilds::default();
        dangling.remove_all(&self.engine, false).await?;
        pruned.removed.extend(dangling.removed);
        pruned.bytes += dangling.bytes;
        Ok(pruned)
    }

    /// The names of all images that the current recipes build, with every available version of Kubernetes.
    async fn current(&self, all: &[ImageSummary]) -> Result<HashSet<String>, DockerError> {
        let base = self.base_target().await?.image();
        // An incomplete folder of programs yields no image, but must not prevent listing.
        let candidates = self.version_candidates().await.unwrap_or_default();
        let mut kubernetes: HashSet<_> = candidates.iter().map(|target| target.image()).collect();
        kubernetes.insert(self.source_target().await?.image());
        let assets = self.assets_targets().await.unwrap_or_default();
        kubernetes.extend(assets.iter().map(|(_, target)| target.image()));
        for version in all
            .iter()
            .filter_map(|image| image.labels.get(labels::KUBERNETES))
        {
            // No release may exist for the engine's architecture.
            kubernetes.extend(self.release_target(version).ok().map(|target| target.image()));
        }
        let mut current = HashSet::from([base.clone()]);
        for folder in folders::all() {
            let recipe = Recipe::load(&folder)?;
            for image in &kubernetes {
                let kubernetes = ImageRef::own(image, "");
                current.insert(derived_target(&recipe, "", &base, &kubernetes)?.image());
            }
        }
        current.extend(kubernetes);
        for image in all {
            if self.is_current_import(&image.labels).await {
                current.extend(image.repo_tags.iter().cloned());
            }
        }
        Ok(current)
    }

    /// Every tagged image that the harness has built.
    async fn named(&self) -> Result<Vec<ImageSummary>, DockerError> {
        let filters = HashMap::from([
            ("label", vec![labels::RECIPE.to_owned()]),
            ("dangling", vec!["false".to_owned()]),
        ]);
        let options = ListImagesOptionsBuilder::new().filters(&filters).build();
        let images = self.engine.docker().list_images(Some(options)).await;
        images.map_err(DockerError::engine("list images of", "nodejoin"))
    }
}

fn describe(image: &ImageSummary, current: &HashSet<String>) -> Vec<ListedImage> {
    let created = UNIX_EPOCH + Duration::from_secs(image.created.unsigned_abs());
    let names = image
        .repo_tags
        .iter()
        .filter(|name| name.starts_with("nodejoin/"));
    let describe = |name: &String| ListedImage {
        name: name.clone(),
        role: image.labels.get(labels::ROLE).cloned().unwrap_or_default(),
        kubernetes: image.labels.get(labels::KUBERNETES).cloned(),
        size: image.size.unsigned_abs(),
        age: SystemTime::now().duration_since(created).unwrap_or_default(),
        is_current: current.contains(name),
    };
    names.map(describe).collect()
}
