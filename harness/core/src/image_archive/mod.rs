//! Container image archives, written by `docker save` or packed from OCI image layouts: the manifests and blobs that
//! a registry serves, and their offsets in the archive.
//!
//! Reads the small documents only. Layers stay in the archive, whose size therefore does not matter.

mod docker;
mod oci;
mod pack;

use std::io::{self, Read, Seek};

use oci_spec::image::ImageConfiguration;
use sha2::{Digest, Sha256};

use crate::plan::architecture::Architecture;
use pack::Pack;

/// An image in the form that a registry serves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageArchive {
    /// The manifest or list of manifests that a tag refers to, then the manifests of that list.
    pub manifests: Vec<ImageManifest>,
    /// Configurations and layers.
    pub blobs: Vec<Extent>,
}

/// A manifest, or a list of manifests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageManifest {
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// Media type.
    pub media_type: String,
    /// The document as stored.
    pub bytes: Vec<u8>,
}

impl ImageManifest {
    fn of(media_type: &str, bytes: Vec<u8>) -> Self {
        Self {
            digest: digest(&bytes),
            media_type: media_type.to_owned(),
            bytes,
        }
    }
}

/// The position of a blob in the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    pub offset: u64,
    pub length: u64,
}

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

impl ImageArchive {
    /// Reads an archive, and checks that its image is for this architecture.
    ///
    /// # Errors
    /// The archive contains no usable image.
    pub fn read(archive: impl Read + Seek, required: Architecture) -> Result<Self, NotAnImage> {
        let mut pack = Pack::open(archive)?;
        if pack.has("index.json") {
            oci::read(&mut pack, required)
        } else if pack.has("manifest.json") {
            docker::read(&mut pack, required)
        } else {
            Err(NotAnImage::Neither)
        }
    }

    /// Checks the platforms of the configurations against the host.
    fn check(platforms: &[String], required: Architecture) -> Result<(), NotAnImage> {
        if platforms.contains(&format!("linux/{}", required.go())) {
            return Ok(());
        }
        // Attestations of a build are stored as images of the platform `unknown/unknown`.
        let images = platforms
            .iter()
            .filter(|platform| !platform.starts_with("unknown/"));
        let has = images.map(String::as_str).collect::<Vec<_>>().join(", ");
        Err(NotAnImage::Architecture { has, required })
    }
}

/// The platform in a configuration, such as `linux/amd64`.
fn platform(config: &ImageConfiguration) -> String {
    format!("{}/{}", config.os(), config.architecture())
}

fn digest(bytes: &[u8]) -> String {
    named(&Sha256::digest(bytes))
}

fn named(hash: &[u8]) -> String {
    format!("sha256:{}", hex::encode(hash))
}

#[cfg(test)]
pub(crate) mod tests;
