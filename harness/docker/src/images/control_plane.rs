//! The image that each control plane starts from. A new control plane is one row of [`IMAGES`] and the function that
//! gets its image.

use futures::future::BoxFuture;
use nodejoin_core::plan::ProviderName;

use crate::error::DockerError;
use crate::images::engine_images::Images;
use crate::images::image_ref::ImageRef;
use crate::images::recipe::LOCAL_CONTROL_PLANE;
use crate::images::{k3s, kind};

const IMAGES: [ControlPlaneImage; 3] = [
    ControlPlaneImage {
        provider: ProviderName::Local,
        recipe: LOCAL_CONTROL_PLANE,
        is_on_demand: false,
        get: |images, _| Box::pin(images.control_plane()),
    },
    ControlPlaneImage {
        provider: ProviderName::K3s,
        recipe: k3s::STAND_IN,
        is_on_demand: true,
        get: |images, kubernetes| Box::pin(images.k3s(kubernetes)),
    },
    ControlPlaneImage {
        provider: ProviderName::Kind,
        recipe: kind::FOLDER,
        is_on_demand: true,
        get: |images, _| Box::pin(images.kind_node()),
    },
];

/// How to get the image of one control plane.
struct ControlPlaneImage {
    provider: ProviderName,
    /// Recipe folder and role of the image that is built here, of a stand-in if the published image is pulled.
    recipe: &'static str,
    /// Whether the image is built only for runs on this control plane.
    is_on_demand: bool,
    /// Builds or pulls the image for a version such as `v1.32.1` or `1.32`.
    get: for<'a> fn(&'a Images, &'a str) -> BoxFuture<'a, Result<ImageRef, DockerError>>,
}

impl Images {
    /// The image that a control plane starts from, built or pulled if it is missing; `None` if it needs none.
    /// `kubernetes` selects a published image where the settings request no version.
    ///
    /// # Errors
    /// When the image can be neither built nor pulled.
    pub async fn of_control_plane(
        &self,
        provider: ProviderName,
        kubernetes: &str,
    ) -> Result<Option<ImageRef>, DockerError> {
        match IMAGES.iter().find(|image| image.provider == provider) {
            Some(image) => (image.get)(self, kubernetes).await.map(Some),
            None => Ok(None),
        }
    }
}

/// The recipe folders of all control planes.
pub(crate) fn recipes() -> impl Iterator<Item = &'static str> {
    IMAGES.iter().map(|image| image.recipe)
}

/// Whether a recipe folder is built only for runs on its control plane.
pub(crate) fn is_on_demand(folder: &str) -> bool {
    let of_folder = |image: &&ControlPlaneImage| image.recipe == folder;
    IMAGES
        .iter()
        .find(of_folder)
        .is_some_and(|image| image.is_on_demand)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::images::recipe::Recipe;

    /// A provider that is added to core does not compile here until someone decides whether it needs an image.
    fn needs_image(provider: ProviderName) -> bool {
        match provider {
            ProviderName::Local | ProviderName::K3s | ProviderName::Kind => true,
            ProviderName::External => false,
        }
    }

    #[test]
    fn every_control_plane_that_needs_an_image_has_one_row_with_a_recipe() {
        for provider in ProviderName::ALL {
            let rows: Vec<_> = IMAGES.iter().filter(|image| image.provider == provider).collect();
            assert_eq!(rows.len(), usize::from(needs_image(provider)), "{provider}");
            for row in rows {
                assert!(Recipe::load(row.recipe).is_ok(), "{provider}");
            }
        }
    }
}
