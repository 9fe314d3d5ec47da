//! What is reported while images are built.

use std::path::PathBuf;
use std::sync::Arc;

use nodejoin_core::observation::ImageFacts;
use serde::Serialize;

use crate::images::download::DownloadProgress;

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
