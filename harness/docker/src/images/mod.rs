//! Images that the harness makes for itself, named by the hash of everything they are made of.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;

use crate::engine::Engine;
use crate::error::DockerError;
use crate::settings::ImageSettings;

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
    engine: Engine,
    settings: ImageSettings,
    progress: Progress,
}

impl Images {
    /// Images on this engine. Nothing is made yet.
    #[must_use]
    pub fn new(engine: Engine, settings: ImageSettings, progress: Progress) -> Self {
        Self {
            engine,
            settings,
            progress,
        }
    }

    /// A node image by the name of its recipe, made where it is not there.
    ///
    /// # Errors
    /// When there is no such recipe, or it cannot be built; the error names the file with the output.
    pub async fn node(&self, name: &str) -> Result<ImageRef, DockerError> {
        Err(DockerError::UnknownImage {
            name: name.to_owned(),
            known: Vec::new(),
        })
    }

    /// The image of a local control plane, made where it is not there.
    ///
    /// # Errors
    /// When it cannot be built; the error names the file with the output.
    pub async fn control_plane(&self) -> Result<ImageRef, DockerError> {
        Err(DockerError::UnknownImage {
            name: "control-plane".to_owned(),
            known: Vec::new(),
        })
    }
}
