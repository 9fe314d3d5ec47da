//! Why an archive contains no usable image.

use std::io;

use crate::plan::architecture::Architecture;

/// Why an archive contains no usable image.
#[derive(Debug, thiserror::Error)]
pub enum NotAnImage {
    /// It cannot be read, or is not a tar archive.
    #[error("cannot read the tar archive: {0}")]
    Unreadable(#[from] io::Error),
    /// The archive is compressed.
    #[error("the archive is compressed with {0}")]
    Compressed(&'static str),
    /// It has neither format.
    #[error("the archive has neither `index.json` (OCI image layout) nor `manifest.json` (`docker save`)")]
    Neither,
    /// It violates its format.
    #[error("{0}")]
    Broken(String),
    /// It has several images.
    #[error("the archive has {} images: {}", .0.len(), .0.join(", "))]
    Several(Vec<String>),
    /// Its image is for another platform.
    #[error("the image is for {has}, but nodes run on linux/{}", .required.go())]
    Architecture {
        /// Platforms of the image.
        has: String,
        /// Architecture of the host.
        required: Architecture,
    },
}

impl NotAnImage {
    /// How to solve it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Compressed(program) => format!("decompress it: `{program} --decompress`"),
            Self::Several(_) => "save each image to its own archive".to_owned(),
            Self::Architecture { required, .. } => format!(
                "build or pull the image with `--platform linux/{}` and save it again",
                required.go()
            ),
            Self::Unreadable(_) | Self::Neither | Self::Broken(_) => {
                "create one with `docker save --output FILE IMAGE` or `skopeo copy ... oci-archive:FILE`"
                    .to_owned()
            }
        }
    }
}
