//! Images of recipes with parents: those of nodes, of control planes and of the toolbox.

use crate::error::DockerError;
use crate::images::builder::{BuildTarget, Builder};
use crate::images::engine_images::Images;
use crate::images::folders;
use crate::images::image_ref::ImageRef;
use crate::images::recipe::{LOCAL_CONTROL_PLANE, ParentImage, Recipe};

impl Images {
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
        self.builder
            .derived(LOCAL_CONTROL_PLANE, LOCAL_CONTROL_PLANE)
            .await
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
        for folder in folders::of_every_run() {
            if self.builder.current_image(&folder).await?.is_none() {
                missing.push(folder);
            }
        }
        Ok(missing)
    }
}

impl Builder {
    /// The existing image that the current recipe builds, with the best available version of Kubernetes.
    pub(crate) async fn current_image(&self, folder: &str) -> Result<Option<ImageRef>, DockerError> {
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
    pub(crate) async fn derived(&self, folder: &str, role: &'static str) -> Result<ImageRef, DockerError> {
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
}

/// The build target of a recipe with these parents.
pub(crate) fn derived_target(
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
