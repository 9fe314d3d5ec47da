//! Node images that the harness did not build: images of the container engine, and root file systems on this machine.
//!
//! ```text
//! archive, folder --survey----> import \
//! OCI image layout --digests-> load    } raw -> container + toolbox -inspect-> facts -commit-> NAME:HASH
//! image of the engine -------> tag    /
//! ```
//!
//! Nothing is imported before all paths are checked, and after an error no image remains. The toolbox contains the
//! programs that the harness runs inside a node, so that it relies on no program of the image.

mod archive;
mod assembly;
mod folder;
mod import;
mod layout;

use std::path::Path;

use nodejoin_core::observation::ImagePart;
use nodejoin_core::plan::{ImagePlan, ImageSource};

use crate::error::DockerError;
use crate::image_problem::ImageProblem;
use crate::images::builder::{BuildTarget, Builder};
use crate::images::content_hash::ContentHash;
use crate::images::engine_images::Images;
use crate::images::image_ref::ImageRef;
use crate::images::progress::ImageEvent;
use crate::labels;
use assembly::Assembly;
use import::ImageImport;

pub(crate) use import::PREFIX;

/// Recipe folder and role of the image with the toolbox.
pub(crate) const TOOLBOX: &str = "toolbox";
/// Path of the toolbox in a node.
pub const TOOLS: &str = "/opt/nodejoin/toolbox/bin";

impl Images {
    /// The node image of a plan: built, or imported, if it is missing.
    ///
    /// # Errors
    /// When there is no such image, it cannot be a node, or a build fails.
    pub async fn of_plan(&self, image: &ImagePlan) -> Result<ImageRef, DockerError> {
        match image.source() {
            ImageSource::BuiltIn(name) => self.node(name).await,
            ImageSource::Engine(_) | ImageSource::RootFs(_) => {
                let found = self.builder.external(image.source()).await?;
                if let Some(facts) = &found.facts {
                    (self.builder.progress)(ImageEvent::Inspected {
                        image: found.name.clone(),
                        facts: Box::new(facts.clone()),
                    });
                }
                Ok(found)
            }
        }
    }

    /// Checks that the container engine has an image of this name.
    ///
    /// # Errors
    /// When it has none, or refuses the request.
    pub async fn check_engine_image(&self, name: &str) -> Result<(), DockerError> {
        match self.builder.find(name).await? {
            Some(_) => Ok(()),
            None => Err(DockerError::NodeImage {
                image: name.to_owned(),
                problem: ImageProblem::Missing,
            }),
        }
    }

    /// Imports a root file system, unless this was done before.
    ///
    /// # Errors
    /// When it is not a root file system for this machine, or the engine refuses it.
    pub async fn import(&self, path: &Path) -> Result<ImageRef, DockerError> {
        self.of_plan(&ImagePlan::of_rootfs(path)).await
    }
}

impl Builder {
    async fn external(&self, source: ImageSource<'_>) -> Result<ImageRef, DockerError> {
        let toolbox = Box::pin(self.derived(TOOLBOX, TOOLBOX)).await?.name;
        let import = ImageImport::new(self, source).await?;
        let content = match &import.content {
            Some(content) => content.clone(),
            None => import.read(self).await?,
        };
        let node = self.imported(&import, &content, &toolbox).await?;
        let lacks_kubelet = node
            .facts
            .as_ref()
            .is_some_and(|facts| facts.lacks(ImagePart::Kubelet));
        match lacks_kubelet {
            true => self.with_kubelet(&import, node).await,
            false => Ok(node),
        }
    }

    /// The image with the toolbox.
    async fn imported(
        &self,
        import: &ImageImport,
        content: &str,
        toolbox: &str,
    ) -> Result<ImageRef, DockerError> {
        let mut hash = ContentHash::new("import");
        hash.add(content).add(toolbox);
        let target = BuildTarget {
            name: import.image_name(),
            role: "node",
            hash: hash.short(),
            kubernetes: None,
        };
        if let Some(found) = self.find_external(&target.image()).await? {
            return Ok(found);
        }
        let Some(mut session) = self.begin(&target).await? else {
            return self.find_imported(&target.image()).await;
        };
        let raw = BuildTarget {
            hash: format!("{}-raw", target.hash),
            ..target.clone()
        };
        let made = async {
            import.load(self, &mut session, &raw).await?;
            session.step("add the tools of the harness, and read the versions of its programs");
            let command = format!("{TOOLS}/inspect-image");
            let assembly = Assembly::new(&self.engine, &target, &raw.image(), &command).await?;
            let made = self.complete(import, &assembly, &target, toolbox).await;
            assembly.remove().await;
            made
        };
        let made = made.await;
        self.remove_temporary(&raw.image()).await;
        made?;
        session.finish();
        self.find_imported(&target.image()).await
    }

    /// Adds the tools, and commits the image with what it has.
    async fn complete(
        &self,
        import: &ImageImport,
        assembly: &Assembly,
        target: &BuildTarget,
        toolbox: &str,
    ) -> Result<(), DockerError> {
        assembly.create_folders(&["opt", "opt/nodejoin"]).await?;
        assembly.copy(toolbox, "/toolbox", "/opt/nodejoin").await?;
        let (code, output) = assembly.run().await?;
        if code != 0 {
            return Err(DockerError::Unexpected {
                object: format!("image `{}`", import.source),
                problem: format!("could not be inspected: {}", output.trim()),
            });
        }
        let facts = import.facts(&output)?;
        let labelled = BuildTarget {
            kubernetes: facts.kubelet.clone(),
            ..target.clone()
        };
        assembly.commit(&labelled, &import.labels(&facts)).await
    }

    /// The image with a kubelet of the requested version.
    async fn with_kubelet(&self, import: &ImageImport, node: ImageRef) -> Result<ImageRef, DockerError> {
        let kubernetes = self.kubernetes().await?;
        let mut hash = ContentHash::new("import-kubelet");
        hash.add(&node.name).add(&kubernetes.name);
        let target = BuildTarget {
            name: import.image_name(),
            role: "node",
            hash: hash.short(),
            kubernetes: Some(kubernetes.kubernetes.clone()),
        };
        if let Some(session) = self.begin(&target).await? {
            let assembly = Assembly::new(&self.engine, &target, &node.name, "none").await?;
            let made = async {
                assembly
                    .copy(&kubernetes.name, "/kubernetes/kubelet", "/usr/bin")
                    .await?;
                assembly.commit(&target, "").await
            };
            let made = made.await;
            assembly.remove().await;
            made?;
            session.finish();
        }
        self.find_imported(&target.image()).await
    }

    /// Removes the temporary name of an image, and its layers unless another image has them.
    async fn remove_temporary(&self, image: &str) {
        let removed = self
            .engine
            .docker()
            .remove_image(image, None::<bollard::query_parameters::RemoveImageOptions>, None)
            .await;
        if let Err(error) = removed {
            tracing::debug!(image, %error, "could not remove the temporary image");
        }
    }

    async fn find_imported(&self, image: &str) -> Result<ImageRef, DockerError> {
        let found = self.find_built(image).await?;
        Ok(self.find_external(image).await?.unwrap_or(found))
    }

    /// An imported image with the facts of its label.
    async fn find_external(&self, image: &str) -> Result<Option<ImageRef>, DockerError> {
        let Some(found) = self.find(image).await? else {
            return Ok(None);
        };
        let labels = found.config.and_then(|config| config.labels).unwrap_or_default();
        let facts = labels
            .get(labels::FACTS)
            .and_then(|text| serde_json::from_str(text).ok());
        Ok(Some(ImageRef {
            name: image.to_owned(),
            kubernetes: labels.get(labels::KUBERNETES).cloned().unwrap_or_default(),
            facts,
        }))
    }
}
