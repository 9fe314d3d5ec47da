//! An image on the engine, by its name.

use nodejoin_core::observation::ImageFacts;
use serde::Serialize;

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
