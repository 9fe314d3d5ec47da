//! Images that the harness builds, named by the hash of everything they are built from.

mod base;
mod build_lock;
mod builder;
mod context;
mod control_plane;
mod dangling;
mod debian;
mod download;
mod external;
mod inventory;
mod k3s;
mod kind;
mod kubernetes;
mod packages_ahead;
mod programs;
mod recipe;
mod release;
mod version_candidates;

use std::path::PathBuf;
use std::sync::Arc;

use nodejoin_core::kubernetes::{Version, VersionRequest};
use nodejoin_core::observation::ImageFacts;
use nodejoin_core::plan::ImagePlan;
use serde::Serialize;

use crate::engine::Engine;
use crate::error::DockerError;
use crate::settings::ImageSettings;
use builder::{BuildSession, BuildTarget, Builder};
use control_plane::LOCAL;
pub(crate) use dangling::DanglingBuilds;
use recipe::{ParentImage, Recipe};

pub use download::DownloadProgress;
pub use external::TOOLS;
pub use inventory::{ListedImage, Pruned};
pub use release::KubernetesRelease;

/// An existing image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImageRef {
    /// Name and tag, such as `nodejoin/al2:0123456789ab`.
    pub name: String,
    /// Version of the Kubernetes programs in the image, such as `v1.20.2`.
    pub kubernetes: String,
    /// What an image has that the harness did not build; `None` for its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facts: Option<ImageFacts>,
}

impl ImageRef {
    /// An image of the harness.
    #[must_use]
    pub fn own(name: impl Into<String>, kubernetes: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            kubernetes: kubernetes.into(),
            facts: None,
        }
    }
}

/// Progress of building an image.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum ImageEvent {
    /// Another process builds the image.
    Waiting {
        /// Name and tag.
        image: String,
    },
    /// The image is missing and its build starts.
    Started {
        /// Name and tag.
        image: String,
        /// The file with all output of the build.
        log: PathBuf,
    },
    /// The build starts a step.
    Step {
        /// Name and tag.
        image: String,
        /// Text of the step.
        text: String,
    },
    /// A file for the image is downloaded.
    Download {
        /// Name and tag.
        image: String,
        progress: DownloadProgress,
    },
    /// A node image that the harness did not build is ready.
    Inspected {
        /// Name and tag of the imported image.
        image: String,
        facts: Box<ImageFacts>,
    },
    /// The image is built.
    Done {
        /// Name and tag.
        image: String,
        /// Duration of the build.
        seconds: f64,
    },
}

/// Receives the progress of builds.
pub type ImageProgress = Arc<dyn Fn(ImageEvent) + Send + Sync>;

/// Builds, finds, lists and removes images.
#[derive(Clone)]
pub struct Images {
    builder: Builder,
}

impl Images {
    /// Images on an engine. Nothing is built yet.
    #[must_use]
    pub fn new(engine: Engine, settings: ImageSettings, progress: ImageProgress) -> Self {
        Self {
            builder: Builder {
                engine,
                settings,
                progress,
            },
        }
    }

    /// Uses another version of Kubernetes; `None` is the newest version that is available offline.
    #[must_use]
    pub fn with_kubernetes(&self, version: Option<&VersionRequest>) -> Self {
        let mut other = self.clone();
        other.builder.settings.kubernetes = version.map(ToString::to_string);
        other
    }

    /// The node image of a recipe, built if it is missing.
    ///
    /// # Errors
    /// When there is no such recipe, or the build fails; the error contains the path of the build log.
    pub async fn node(&self, name: &str) -> Result<ImageRef, DockerError> {
        let known = Recipe::nodes();
        if !known.iter().any(|node| node == name) {
            return Err(DockerError::UnknownImage {
                name: name.to_owned(),
                known,
            });
        }
        self.builder.derived(&format!("nodes/{name}"), "node").await
    }

    /// The image of a `local` control plane, built if it is missing.
    ///
    /// # Errors
    /// When the build fails; the error contains the path of the build log.
    pub async fn control_plane(&self) -> Result<ImageRef, DockerError> {
        self.builder.derived(LOCAL, LOCAL).await
    }

    /// The base image of all others, built if it is missing.
    ///
    /// # Errors
    /// When no registry responds and the image cannot be built on this host.
    pub async fn base(&self) -> Result<String, DockerError> {
        self.builder.base().await
    }

    /// The image with the Kubernetes programs, built if it is missing.
    ///
    /// # Errors
    /// When a folder of programs is incomplete, or a download or the build fails.
    pub async fn kubernetes(&self) -> Result<ImageRef, DockerError> {
        self.builder.kubernetes().await
    }

    /// The names of all node images with a recipe.
    #[must_use]
    pub fn node_names() -> Vec<String> {
        Recipe::nodes()
    }

    /// The folders of recipes that every run needs and whose image is missing.
    ///
    /// # Errors
    /// When the engine refuses a request, or a folder of programs is incomplete.
    pub async fn missing_images(&self) -> Result<Vec<String>, DockerError> {
        let mut missing = Vec::new();
        for folder in folders_of_every_run() {
            if self.builder.current_image(&folder).await?.is_none() {
                missing.push(folder);
            }
        }
        Ok(missing)
    }

    /// The versions of Kubernetes that need no download, some of them several times. The first is that of a run without
    /// a request.
    ///
    /// # Errors
    /// When the engine refuses a request, or a folder of programs is incomplete.
    pub async fn offline_versions(&self) -> Result<Vec<Version>, DockerError> {
        self.builder.offline_versions().await
    }

    /// Checks that a source provides the requested version of Kubernetes, and builds nothing.
    ///
    /// # Errors
    /// [`DockerError::NoKubernetes`] with why each source does not provide it, or a refusal of the engine.
    pub async fn check_version(&self, requested: &VersionRequest) -> Result<(), DockerError> {
        self.builder.check_version(requested).await
    }

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
    /// The existing image that the current recipe builds, with the best available version of Kubernetes.
    async fn current_image(&self, folder: &str) -> Result<Option<ImageRef>, DockerError> {
        let recipe = Recipe::load(folder)?;
        let base = self.base_target().await?.image();
        for candidate in self.version_candidates().await? {
            let kubernetes = ImageRef::own(candidate.image(), "");
            let target = derived_target(&recipe, "", &base, &kubernetes)?;
            if let Some(found) = self.find_versioned(&target.image()).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The image of a recipe with parents, built if it is missing.
    async fn derived(&self, folder: &str, role: &'static str) -> Result<ImageRef, DockerError> {
        if let Some(found) = self.current_image(folder).await? {
            return Ok(found);
        }
        let recipe = Recipe::load(folder)?;
        let base = self.base().await?;
        let kubernetes = match self.existing_kubernetes().await? {
            Some(existing) => existing,
            None => {
                let packages = async {
                    self.install_packages(&base).await;
                    Ok(())
                };
                tokio::try_join!(self.kubernetes(), packages)?.0
            }
        };
        for (folder, role) in recipe.parents()?.into_iter().filter_map(ParentImage::derived) {
            Box::pin(self.derived(folder, role)).await?;
        }
        let target = derived_target(&recipe, role, &base, &kubernetes)?;
        if let Some(mut session) = self.begin(&target).await? {
            let parents = parents(&recipe, &base, &kubernetes)?;
            let arguments = parents
                .into_iter()
                .map(|(parent, image)| (parent.argument().to_owned(), image))
                .collect();
            let files = recipe.build_files().into_iter().map(Into::into).collect();
            self.build(&mut session, &target, arguments, files).await?;
            self.remove_dangling(&session, &target.name).await;
            session.finish();
        }
        self.find_built(&target.image()).await
    }

    /// Removes leftovers of the build stages of a recipe.
    async fn remove_dangling(&self, session: &BuildSession, name: &str) {
        if let Err(error) = DanglingBuilds::default()
            .remove(&self.engine, name, Some(session.build_lock()), false)
            .await
        {
            tracing::debug!(name, %error, "could not remove build stages; `nodejoin images prune` tries again");
        }
    }

    /// Reports a download before the build session of an image begins.
    fn report_download(&self, target: &BuildTarget, progress: DownloadProgress) {
        (self.progress)(ImageEvent::Download {
            image: target.image(),
            progress,
        });
    }

    /// Reports a step before the build session of an image begins.
    fn report_step(&self, target: &BuildTarget, text: &str) {
        (self.progress)(ImageEvent::Step {
            image: target.image(),
            text: text.to_owned(),
        });
    }
}

/// The folders of the recipes that every run needs.
fn folders_of_every_run() -> impl Iterator<Item = String> {
    dangling::folders().into_iter().filter(|folder| {
        ![programs::FOLDER, external::TOOLBOX].contains(&folder.as_str())
            && !control_plane::is_on_demand(folder)
            && !is_on_demand_node(folder)
    })
}

/// Whether a recipe folder is that of a node image that only scenarios which name it need.
fn is_on_demand_node(folder: &str) -> bool {
    folder
        .strip_prefix("nodes/")
        .is_some_and(|name| name != ImagePlan::DEFAULT)
}

/// The build target of a recipe with these parents.
fn derived_target(
    recipe: &Recipe,
    role: &'static str,
    base: &str,
    kubernetes: &ImageRef,
) -> Result<BuildTarget, DockerError> {
    let parents = parents(recipe, base, kubernetes)?;
    let has_programs = parents.iter().any(|(parent, _)| *parent != ParentImage::Base);
    Ok(BuildTarget {
        name: recipe.name().to_owned(),
        role,
        hash: recipe.hash(&parents),
        kubernetes: has_programs.then(|| kubernetes.kubernetes.clone()),
    })
}

fn parents(
    recipe: &Recipe,
    base: &str,
    kubernetes: &ImageRef,
) -> Result<Vec<(ParentImage, String)>, DockerError> {
    let image = |parent: ParentImage| match (parent, parent.derived()) {
        (_, Some((folder, _))) => Ok(derived_target(&Recipe::load(folder)?, "", base, kubernetes)?.image()),
        (ParentImage::Base, None) => Ok(base.to_owned()),
        (ParentImage::Kubernetes | ParentImage::ControlPlane | ParentImage::Al2, None) => {
            Ok(kubernetes.name.clone())
        }
    };
    let parents = recipe.parents()?.into_iter();
    parents.map(|parent| Ok((parent, image(parent)?))).collect()
}
