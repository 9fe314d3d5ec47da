//! Leftovers of builds: untagged stages that no image uses, and containers of interrupted steps.

use std::collections::{BTreeSet, HashMap};

use bollard::models::ImageSummary;
use bollard::query_parameters::{
    ListContainersOptionsBuilder, ListImagesOptionsBuilder, RemoveImageOptionsBuilder,
};

use crate::engine::Engine;
use crate::error::DockerError;
use crate::images::build_lock::BuildLock;
use crate::images::builder::{BuildSession, Builder};
use crate::images::{external, folders};
use crate::labels;
use crate::object::ObjectKind;

/// Leftovers of builds that were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DanglingBuilds {
    /// Leftovers that were removed, or would be removed without `dry_run`.
    pub(crate) removed: Vec<String>,
    /// Total size of the stages in bytes; layers that other images share are not freed.
    pub(crate) bytes: u64,
}

impl DanglingBuilds {
    /// Removes the leftovers of one recipe's builds, unless another process builds from it.
    pub(crate) async fn remove(
        &mut self,
        engine: &Engine,
        name: &str,
        own: Option<&BuildLock>,
        dry_run: bool,
    ) -> Result<(), DockerError> {
        if BuildLock::is_held(engine, name, own).await? {
            return Ok(());
        }
        for id in interrupted_steps(engine, name).await? {
            if dry_run || engine.remove(ObjectKind::Container, &id).await.is_ok() {
                self.removed.push(format!("build container {}", short(&id)));
            }
        }
        for image in untagged_stages(engine, name).await? {
            let remove = RemoveImageOptionsBuilder::new().build();
            // The engine refuses to remove a stage in use, which is not a leftover.
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

    /// Removes the leftovers of all recipes' builds.
    pub(crate) async fn remove_all(&mut self, engine: &Engine, dry_run: bool) -> Result<(), DockerError> {
        for folder in folders::all() {
            let name = folder.rsplit('/').next().unwrap_or_default();
            self.remove(engine, name, None, dry_run).await?;
        }
        for name in interrupted_imports(engine).await? {
            self.remove(engine, &name, None, dry_run).await?;
        }
        Ok(())
    }
}

impl Builder {
    /// Removes leftovers of the build stages of a recipe.
    pub(crate) async fn remove_dangling(&self, session: &BuildSession, name: &str) {
        if let Err(error) = DanglingBuilds::default()
            .remove(&self.engine, name, Some(session.build_lock()), false)
            .await
        {
            tracing::debug!(name, %error, "could not remove build stages; `nodejoin images prune` tries again");
        }
    }
}

async fn untagged_stages(engine: &Engine, name: &str) -> Result<Vec<ImageSummary>, DockerError> {
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

/// Containers of build steps that a crash of the engine left behind: they have the labels of their stage and no run's.
/// The engine itself ends the step of a builder that is gone, so a running container belongs to a build in progress.
async fn interrupted_steps(engine: &Engine, name: &str) -> Result<Vec<String>, DockerError> {
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

/// Names of images whose import ended without removing its containers.
async fn interrupted_imports(engine: &Engine) -> Result<BTreeSet<String>, DockerError> {
    let filters = HashMap::from([("label", vec![format!("{}=build", labels::ROLE)])]);
    let options = ListContainersOptionsBuilder::new()
        .all(true)
        .filters(&filters)
        .build();
    let containers = engine.docker().list_containers(Some(options)).await;
    let containers = containers.map_err(DockerError::engine("list the containers of", "imports"))?;
    let names = containers
        .into_iter()
        .filter_map(|it| it.labels?.remove(labels::IMAGE));
    Ok(names.filter(|name| name.starts_with(external::PREFIX)).collect())
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
