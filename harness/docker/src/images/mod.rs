//! Images that the harness makes for itself, named by the hash of everything they are made of.

mod base;
mod claim;
mod context;
mod debian;
mod inventory;
mod k3s;
mod kind;
mod kubernetes;
mod programs;
mod recipe;
mod release;
mod stages;
mod wanted;
mod workshop;

use std::path::PathBuf;
use std::sync::Arc;

use nodejoin_core::kubernetes::VersionAsk;
use serde::Serialize;

use crate::engine::Engine;
use crate::error::DockerError;
use crate::settings::ImageSettings;
use recipe::{Parent, Recipe};
pub(crate) use stages::Stages;
pub(crate) use workshop::Lock;
use workshop::{Bench, Target, Workshop};

pub use inventory::{ListedImage, Pruned};

/// An image that is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImageRef {
    /// Its name and tag, such as `nodejoin/al2:0123456789ab`.
    pub name: String,
    /// The version of the Kubernetes programs in it, such as `v1.20.2`.
    pub kubernetes: String,
}

/// How the making of an image goes on.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum ImageEvent {
    /// An image is not there and is being made.
    Started {
        /// Its name and tag.
        image: String,
        /// The file that takes all output.
        log: PathBuf,
    },
    /// A step of it.
    Step {
        /// Its name and tag.
        image: String,
        /// What the builder said.
        text: String,
    },
    /// It is there.
    Done {
        /// Its name and tag.
        image: String,
        /// How long it took.
        seconds: f64,
    },
}

/// Who is told how the making of images goes on.
pub type Progress = Arc<dyn Fn(ImageEvent) + Send + Sync>;

/// Makes, finds, lists and removes images.
#[derive(Clone)]
pub struct Images {
    workshop: Workshop,
}

impl Images {
    /// Images on this engine. Nothing is made yet.
    #[must_use]
    pub fn new(engine: Engine, settings: ImageSettings, progress: Progress) -> Self {
        Self {
            workshop: Workshop {
                engine,
                settings,
                progress,
            },
        }
    }

    /// The same, with another version of Kubernetes; `None` is what can be had without asking.
    #[must_use]
    pub fn with_kubernetes(&self, wanted: Option<&VersionAsk>) -> Self {
        let mut other = self.clone();
        other.workshop.settings.kubernetes = wanted.map(ToString::to_string);
        other
    }

    /// A node image by the name of its recipe, made where it is not there.
    ///
    /// # Errors
    /// When there is no such recipe, or it cannot be built; the error names the file with the output.
    pub async fn node(&self, name: &str) -> Result<ImageRef, DockerError> {
        let known = Recipe::nodes();
        if !known.iter().any(|node| node == name) {
            return Err(DockerError::UnknownImage {
                name: name.to_owned(),
                known,
            });
        }
        self.workshop.derived(&format!("nodes/{name}"), "node").await
    }

    /// The image of a local control plane, made where it is not there.
    ///
    /// # Errors
    /// When it cannot be built; the error names the file with the output.
    pub async fn control_plane(&self) -> Result<ImageRef, DockerError> {
        self.workshop.derived(CONTROL_PLANE, CONTROL_PLANE).await
    }

    /// The image that all others start from, made where it is not there.
    ///
    /// # Errors
    /// When no registry answers and it cannot be made on this host either.
    pub async fn base(&self) -> Result<String, DockerError> {
        self.workshop.base().await
    }

    /// The image that carries the Kubernetes programs, made where it is not there.
    ///
    /// # Errors
    /// When a folder of programs is not whole, a download fails, or they cannot be built.
    pub async fn kubernetes(&self) -> Result<ImageRef, DockerError> {
        self.workshop.kubernetes().await
    }

    /// The names of all node images there are recipes for.
    #[must_use]
    pub fn node_names() -> Vec<String> {
        Recipe::nodes()
    }

    /// The names of recipes whose image is not there, of those that every run needs.
    ///
    /// # Errors
    /// When the engine refuses, or a folder of programs is not whole.
    pub async fn absent(&self) -> Result<Vec<String>, DockerError> {
        let mut absent = Vec::new();
        for folder in inventory::folders()
            .iter()
            .filter(|folder| !["kubernetes", k3s::STAND_IN, kind::FOLDER].contains(&folder.as_str()))
        {
            if self.workshop.current_image(folder).await?.is_none() {
                absent.push(folder.clone());
            }
        }
        Ok(absent)
    }

    /// An image with a shell that is there already, for probes.
    pub async fn shell_image(&self) -> Option<String> {
        let base = self.workshop.base_target().await.ok()?.image();
        if self.workshop.find(&base).await.ok()?.is_some() {
            return Some(base);
        }
        let listed = self.list().await.ok()?;
        listed
            .into_iter()
            .find(|image| image.role != "kubernetes")
            .map(|image| image.name)
    }

    /// Every image of ours that is there, the current ones first.
    ///
    /// # Errors
    /// When the engine refuses.
    pub async fn list(&self) -> Result<Vec<ListedImage>, DockerError> {
        self.workshop.list().await
    }

    /// Removes the images of ours that the current recipes do not make, and what builds left.
    ///
    /// # Errors
    /// When the engine refuses to list them; one that cannot be removed is no error but is said.
    pub async fn prune(&self) -> Result<Pruned, DockerError> {
        self.workshop.prune().await
    }
}

impl Workshop {
    /// The image that a recipe makes today, where it is there: with the best Kubernetes that it was made with.
    async fn current_image(&self, folder: &str) -> Result<Option<ImageRef>, DockerError> {
        let recipe = Recipe::load(folder)?;
        let base = self.base_target().await?.image();
        for candidate in self.kubernetes_candidates().await? {
            let kubernetes = ImageRef {
                name: candidate.image(),
                kubernetes: String::new(),
            };
            let target = derived_target(&recipe, "", &base, &kubernetes)?;
            if let Some(found) = self.known(&target.image()).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// An image from a recipe with parents, made where it is not there.
    async fn derived(&self, folder: &str, role: &'static str) -> Result<ImageRef, DockerError> {
        if let Some(found) = self.current_image(folder).await? {
            return Ok(found);
        }
        let recipe = Recipe::load(folder)?;
        let (base, kubernetes) = (self.base().await?, self.kubernetes().await?);
        if recipe.parents()?.contains(&Parent::ControlPlane) {
            Box::pin(self.derived(CONTROL_PLANE, CONTROL_PLANE)).await?;
        }
        let target = derived_target(&recipe, role, &base, &kubernetes)?;
        if let Some(mut bench) = self.bench(&target).await? {
            let parents = parents(&recipe, &base, &kubernetes)?;
            let arguments = parents
                .into_iter()
                .map(|(parent, image)| (parent.argument().to_owned(), image))
                .collect();
            let files = recipe.build_files().into_iter().map(Into::into).collect();
            self.build(&mut bench, &target, arguments, files).await?;
            self.clear_stages(&bench, &target.name).await;
            bench.done();
        }
        self.made(&target.image()).await
    }

    /// Removes what the stages of a recipe's build left.
    async fn clear_stages(&self, bench: &Bench, name: &str) {
        if let Err(error) = Stages::default()
            .remove(&self.engine, name, Some(bench.claim()), false)
            .await
        {
            tracing::debug!(name, %error, "build stages could not be removed; `nodejoin images prune` tries again");
        }
    }

    /// Tells of a step of an image before its bench is taken.
    fn tell(&self, target: &Target, text: &str) {
        (self.progress)(ImageEvent::Step {
            image: target.image(),
            text: text.to_owned(),
        });
    }
}

/// What the image of a recipe is, with these parents.
fn derived_target(
    recipe: &Recipe,
    role: &'static str,
    base: &str,
    kubernetes: &ImageRef,
) -> Result<Target, DockerError> {
    let parents = parents(recipe, base, kubernetes)?;
    let has_programs = parents.iter().any(|(parent, _)| *parent != Parent::Base);
    Ok(Target {
        name: recipe.name().to_owned(),
        role,
        hash: recipe.hash(&parents),
        kubernetes: has_programs.then(|| kubernetes.kubernetes.clone()),
    })
}

fn parents(recipe: &Recipe, base: &str, kubernetes: &ImageRef) -> Result<Vec<(Parent, String)>, DockerError> {
    let image = |parent| match parent {
        Parent::Base => Ok(base.to_owned()),
        Parent::Kubernetes => Ok(kubernetes.name.clone()),
        Parent::ControlPlane => {
            let recipe = Recipe::load(CONTROL_PLANE)?;
            Ok(derived_target(&recipe, "", base, kubernetes)?.image())
        }
    };
    let parents = recipe.parents()?.into_iter();
    parents.map(|parent| Ok((parent, image(parent)?))).collect()
}

/// The folder of the recipe of a `local` control plane, and its role.
const CONTROL_PLANE: &str = "control-plane";
