//! The images that are there: which of them the current recipes make, and the removal of the others.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bollard::models::ImageSummary;
use bollard::query_parameters::{ListImagesOptionsBuilder, RemoveImageOptions};
use nodejoin_core::run::error_chain::chain;
use serde::Serialize;

use crate::error::{DockerError, status};
use crate::images::recipe::Recipe;
use crate::images::stages::Stages;
use crate::images::workshop::Workshop;
use crate::images::{ImageRef, derived_target, k3s, kind};
use crate::labels;

/// An image of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedImage {
    /// Its name and tag.
    pub name: String,
    /// `base`, `kubernetes`, `control-plane`, `k3s-stand-in`, `kind-node` or `node`.
    pub role: String,
    /// The version of the Kubernetes programs in it, where it has any.
    pub kubernetes: Option<String>,
    /// Its size in bytes, with what it shares with other images.
    pub size: u64,
    /// How old it is.
    pub age: Duration,
    /// Whether the current recipes still make it.
    pub is_current: bool,
}

/// What was removed, and what could not be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// Names of images that are gone.
    pub removed: Vec<String>,
    /// Images that are still there, each with the reason.
    pub left: Vec<String>,
    /// The sizes of what is gone, added up; layers that other images share are still there.
    pub bytes: u64,
}

impl Workshop {
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
        let mut stages = Stages::default();
        stages.remove_all(&self.engine, false).await?;
        pruned.removed.extend(stages.removed);
        pruned.bytes += stages.bytes;
        Ok(pruned)
    }

    /// The names of all images that the current recipes make, with each Kubernetes that is there.
    async fn current(&self, all: &[ImageSummary]) -> Result<HashSet<String>, DockerError> {
        let base = self.base_target().await?.image();
        // A folder that is not whole makes no image; listing must work all the same.
        let wanted = self.kubernetes_candidates().await.unwrap_or_default();
        let mut kubernetes: HashSet<_> = wanted.iter().map(|target| target.image()).collect();
        kubernetes.insert(self.source_target().await?.image());
        let assets = self.assets_targets().await.unwrap_or_default();
        kubernetes.extend(assets.iter().map(|(_, target)| target.image()));
        for version in all
            .iter()
            .filter_map(|image| image.labels.get(labels::KUBERNETES))
        {
            // Nor where nothing is released for the engine's processor.
            kubernetes.extend(self.release_target(version).ok().map(|target| target.image()));
        }
        let mut current = HashSet::from([base.clone()]);
        for folder in folders() {
            let recipe = Recipe::load(&folder)?;
            for image in &kubernetes {
                let kubernetes = ImageRef {
                    name: image.clone(),
                    kubernetes: String::new(),
                };
                current.insert(derived_target(&recipe, "", &base, &kubernetes)?.image());
            }
        }
        current.extend(kubernetes);
        Ok(current)
    }

    /// Every image of ours that has a name.
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

/// The folders of all recipes.
pub(crate) fn folders() -> Vec<String> {
    let nodes = Recipe::nodes().into_iter().map(|name| format!("nodes/{name}"));
    ["kubernetes", "control-plane", k3s::STAND_IN, kind::FOLDER]
        .map(str::to_owned)
        .into_iter()
        .chain(nodes)
        .collect()
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
