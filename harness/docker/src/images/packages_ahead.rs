//! Packages of images, installed while Kubernetes is compiled or downloaded, which takes minutes.

use std::collections::HashMap;

use crate::error::DockerError;
use crate::images::builder::{BuildTarget, Builder};
use crate::images::folders;
use crate::images::recipe::{PACKAGES, ParentImage, Recipe};

impl Builder {
    /// Builds the stages with packages of the images that every run needs. The builds of these images find them in the
    /// engine's cache. What fails here fails again there, and is reported there.
    pub(crate) async fn install_packages(&self, base: &str) {
        for folder in folders::of_every_run() {
            if let Err(error) = self.packages_of(&folder, base).await {
                tracing::debug!(folder, %error, "could not install the packages of an image ahead of its build");
            }
        }
    }

    async fn packages_of(&self, folder: &str, base: &str) -> Result<(), DockerError> {
        let recipe = Recipe::load(folder)?;
        if !recipe.has_stage(PACKAGES) {
            return Ok(());
        }
        let hash = recipe.hash(&[(ParentImage::Base, base.to_owned())]);
        let target = BuildTarget {
            name: recipe.name().to_owned(),
            role: "build",
            hash: format!("{hash}-{PACKAGES}"),
            kubernetes: None,
        };
        let Some(mut session) = self.begin(&target).await? else {
            return Ok(());
        };
        let arguments = HashMap::from([(ParentImage::Base.argument().to_owned(), base.to_owned())]);
        let files = recipe.build_files().into_iter().map(Into::into).collect();
        // Its layers have no name: the build of the image uses them, and removes them if it does not.
        self.build_stage(&mut session, PACKAGES, arguments, files).await?;
        session.finish();
        Ok(())
    }
}
