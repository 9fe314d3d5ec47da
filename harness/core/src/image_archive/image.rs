//! An image in the form that a registry serves: manifests, and the positions of its blobs.

use oci_spec::image::ImageConfiguration;
use sha2::{Digest, Sha256};

use super::error::NotAnImage;
use crate::plan::architecture::Architecture;

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
    pub(super) fn of(media_type: &str, bytes: Vec<u8>) -> Self {
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

impl ImageArchive {
    /// Checks the platforms of the configurations against the host.
    pub(super) fn check(platforms: &[String], required: Architecture) -> Result<(), NotAnImage> {
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
pub(super) fn platform(config: &ImageConfiguration) -> String {
    format!("{}/{}", config.os(), config.architecture())
}

/// The digest of a document, as a registry names it.
pub(super) fn digest(bytes: &[u8]) -> String {
    named(&Sha256::digest(bytes))
}

/// The name of a hash.
pub(super) fn named(hash: &[u8]) -> String {
    format!("sha256:{}", hex::encode(hash))
}
