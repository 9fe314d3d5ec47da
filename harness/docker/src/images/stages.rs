//! What builds leave: stages without a name that nobody starts from, and containers of steps that were cut off.

use std::collections::HashMap;

use bollard::models::ImageSummary;
use bollard::query_parameters::{
    ListContainersOptionsBuilder, ListImagesOptionsBuilder, RemoveImageOptionsBuilder,
};

use crate::engine::Engine;
use crate::error::DockerError;
use crate::images::claim::Claim;
use crate::images::inventory::folders;
use crate::labels;
use crate::teardown::remove_container;

/// What was found of builds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Stages {
    /// What is gone, or would be.
    pub(crate) removed: Vec<String>,
    /// The sizes of the stages, added up; layers that others share are still there.
    pub(crate) bytes: u64,
}

impl Stages {
    /// Removes the leavings of one recipe's builds, unless another process builds from it.
    pub(crate) async fn remove(
        &mut self,
        engine: &Engine,
        name: &str,
        own: Option<&Claim>,
        dry_run: bool,
    ) -> Result<(), DockerError> {
        if Claim::is_held(engine, name, own).await? {
            return Ok(());
        }
        for id in cut_off(engine, name).await? {
            if dry_run || remove_container(engine.docker(), &id).await.is_ok() {
                self.removed.push(format!("build container {}", short(&id)));
            }
        }
        for image in dangling(engine, name).await? {
            let remove = RemoveImageOptionsBuilder::new().build();
            // One that somebody uses, or builds on, refuses: it is no leftover.
            if dry_run
                || engine
                    .docker()
                    .remove_image(&image.id, Some(remove), None)
                    .await
                    .is_ok()
            {
                self.bytes += image.size.unsigned_abs();
                self.removed.push(format!("build stage {}", short(&image.id)));
            }
        }
        Ok(())
    }

    /// The same of all recipes.
    pub(crate) async fn remove_all(&mut self, engine: &Engine, dry_run: bool) -> Result<(), DockerError> {
        for folder in folders() {
            let name = folder.rsplit('/').next().unwrap_or_default();
            self.remove(engine, name, None, dry_run).await?;
        }
        Ok(())
    }
}

async fn dangling(engine: &Engine, name: &str) -> Result<Vec<ImageSummary>, DockerError> {
    let filters = HashMap::from([
        ("label", build_labels(name)),
        ("dangling", vec!["true".to_owned()]),
    ]);
    let options = ListImagesOptionsBuilder::new().filters(&filters).build();
    engine
        .docker()
        .list_images(Some(options))
        .await
        .map_err(DockerError::engine("list the build stages of", name))
}

/// Containers of steps that an engine lost when it fell: they have the labels of their stage, and no run's. An engine ends the
/// step of a builder that is gone by itself, so one that runs is somebody's.
async fn cut_off(engine: &Engine, name: &str) -> Result<Vec<String>, DockerError> {
    let ended = ["created", "exited", "dead"].map(str::to_owned).to_vec();
    let filters = HashMap::from([("label", build_labels(name)), ("status", ended)]);
    let options = ListContainersOptionsBuilder::new()
        .all(true)
        .filters(&filters)
        .build();
    let containers = engine.docker().list_containers(Some(options)).await;
    let containers = containers.map_err(DockerError::engine("list the build containers of", name))?;
    let ours = containers.into_iter().filter(|it| {
        it.labels
            .as_ref()
            .is_none_or(|labels| !labels.contains_key(labels::RUN))
    });
    Ok(ours.filter_map(|it| it.id).collect())
}

fn build_labels(name: &str) -> Vec<String> {
    vec![
        format!("{}={name}", labels::IMAGE),
        format!("{}=build", labels::ROLE),
    ]
}

fn short(id: &str) -> &str {
    let bare = id.trim_start_matches("sha256:");
    bare.get(..12).unwrap_or(bare)
}
