//! The images that are there: which of them the current recipes make, and the removal of the others.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bollard::models::ImageSummary;
use bollard::query_parameters::{ListImagesOptionsBuilder, RemoveImageOptionsBuilder};
use serde::Serialize;

use crate::error::{DockerError, status};
use crate::images::recipe::Recipe;
use crate::images::workshop::{Lock, Workshop};
use crate::images::{ImageRef, derived_target};
use crate::labels;
use crate::teardown::chain;

/// An image of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedImage {
    /// Its name and tag.
    pub name: String,
    /// `base`, `kubernetes`, `control-plane` or `node`.
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
        let all = self.labelled(labels::RECIPE, false).await?;
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
                .remove_image(
                    &image.name,
                    None::<bollard::query_parameters::RemoveImageOptions>,
                    None,
                )
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
        let (removed, bytes) = self.remove_all_stages().await?;
        pruned.removed.extend(removed);
        pruned.bytes += bytes;
        Ok(pruned)
    }

    /// The names of all images that the current recipes make, with each Kubernetes that is there.
    async fn current(&self, all: &[ImageSummary]) -> Result<HashSet<String>, DockerError> {
        let base = self.base_target().await?.image();
        // A folder that is not whole makes no image; listing must work all the same.
        let wanted = self.kubernetes_candidates().await.unwrap_or_default();
        let mut kubernetes: HashSet<_> = wanted.iter().map(|target| target.image()).collect();
        kubernetes.insert(self.source_target().await?.image());
        for version in all
            .iter()
            .filter_map(|image| image.labels.get(labels::KUBERNETES))
        {
            kubernetes.insert(self.release_target(version)?.image());
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

    /// What the stages of a recipe's builds left: they have no name and nobody starts from them.
    pub(crate) async fn remove_stages(&self, name: &str) {
        let (_, _) = self
            .remove_dangling(&format!("{}={name}", labels::IMAGE))
            .await
            .unwrap_or_default();
    }

    /// The same of all recipes that nobody builds right now.
    pub(crate) async fn remove_all_stages(&self) -> Result<(Vec<String>, u64), DockerError> {
        let (mut removed, mut bytes) = (Vec::new(), 0);
        let names = folders()
            .into_iter()
            .map(|folder| folder.rsplit('/').next().unwrap_or_default().to_owned());
        for name in names {
            let Some(_idle) = Lock::try_take(&self.settings.cache.join("locks"), &name)? else {
                continue;
            };
            let (ids, size) = self.remove_dangling(&format!("{}={name}", labels::IMAGE)).await?;
            removed.extend(ids);
            bytes += size;
        }
        Ok((removed, bytes))
    }

    async fn remove_dangling(&self, label: &str) -> Result<(Vec<String>, u64), DockerError> {
        let (mut removed, mut bytes) = (Vec::new(), 0);
        for image in self.labelled(label, true).await? {
            let remove = RemoveImageOptionsBuilder::new().build();
            // One that somebody uses, or builds on, refuses: it is no leftover.
            if self
                .engine
                .docker()
                .remove_image(&image.id, Some(remove), None)
                .await
                .is_ok()
            {
                bytes += image.size.unsigned_abs();
                removed.push(format!(
                    "build stage {}",
                    image
                        .id
                        .trim_start_matches("sha256:")
                        .get(..12)
                        .unwrap_or(&image.id)
                ));
            }
        }
        Ok((removed, bytes))
    }

    async fn labelled(&self, label: &str, dangling: bool) -> Result<Vec<ImageSummary>, DockerError> {
        let filters = HashMap::from([
            ("label", vec![label.to_owned()]),
            ("dangling", vec![dangling.to_string()]),
        ]);
        let options = ListImagesOptionsBuilder::new().filters(&filters).build();
        let images = self.engine.docker().list_images(Some(options)).await;
        images.map_err(DockerError::engine("list images with label", label))
    }
}

/// The folders of all recipes.
pub(crate) fn folders() -> Vec<String> {
    let nodes = Recipe::nodes().into_iter().map(|name| format!("nodes/{name}"));
    ["kubernetes", "control-plane"]
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
