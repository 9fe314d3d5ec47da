//! Archives of container images, as `docker save` writes them and as OCI image layouts are packed: what a registry serves of
//! one, and where in the archive its content stands.
//!
//! Only the small documents are read. Layers stay where they are, so that an archive of gigabytes costs no more than its index.

mod docker;
mod oci;
mod pack;

use std::io::{self, Read, Seek};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::plan::architecture::Architecture;
use pack::Pack;

/// An image as a registry serves it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageArchive {
    /// What a tag leads to, a manifest or a list of them; then the manifests of that list.
    pub manifests: Vec<Manifest>,
    /// Configurations and layers.
    pub blobs: Vec<Extent>,
}

/// A manifest, or a list of manifests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// Media type.
    pub media_type: String,
    /// The document.
    pub bytes: Vec<u8>,
}

impl Manifest {
    fn of(media_type: &str, bytes: Vec<u8>) -> Self {
        Self {
            digest: digest(&bytes),
            media_type: media_type.to_owned(),
            bytes,
        }
    }
}

/// A blob's place in the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// Where it begins.
    pub offset: u64,
    /// How long it is.
    pub length: u64,
}

/// Why an archive has no image that could be served.
#[derive(Debug, thiserror::Error)]
pub enum NotAnImage {
    /// It cannot be read, or is no tar archive.
    #[error("it is no tar archive that could be read: {0}")]
    Unreadable(#[from] io::Error),
    /// It is compressed.
    #[error("it is compressed with {0}")]
    Compressed(&'static str),
    /// It is of neither format.
    #[error(
        "it has neither the `index.json` of an OCI image layout nor the `manifest.json` of `docker save`"
    )]
    Neither,
    /// A part of it is not as its format says.
    #[error("{0}")]
    Broken(String),
    /// It has more than one image.
    #[error("it has {} images: {}", .0.len(), .0.join(", "))]
    Several(Vec<String>),
    /// Its image is for other machines.
    #[error("its image is for {has}, and nodes run here on linux/{}", .wanted.go())]
    Architecture {
        /// What it is for.
        has: String,
        /// This machine's processor.
        wanted: Architecture,
    },
}

impl NotAnImage {
    /// The way out.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Compressed(program) => format!("unpack it, such as by `{program} --decompress`"),
            Self::Several(_) => "save one image alone, and list the others as images of their own".to_owned(),
            Self::Architecture { wanted, .. } => format!(
                "build or pull the image with `--platform linux/{}` and save it again",
                wanted.go()
            ),
            Self::Unreadable(_) | Self::Neither | Self::Broken(_) => {
                "write one with `docker save --output FILE IMAGE`, or `skopeo copy ... oci-archive:FILE`"
                    .to_owned()
            }
        }
    }
}

impl ImageArchive {
    /// Reads an archive, and sees that its image runs on this processor.
    ///
    /// # Errors
    /// Where there is no such image in it.
    pub fn read(archive: impl Read + Seek, wanted: Architecture) -> Result<Self, NotAnImage> {
        let mut pack = Pack::open(archive)?;
        if pack.has("index.json") {
            oci::read(&mut pack, wanted)
        } else if pack.has("manifest.json") {
            docker::read(&mut pack, wanted)
        } else {
            Err(NotAnImage::Neither)
        }
    }

    /// The processors and systems of configurations, held to this machine's.
    fn check(platforms: &[String], wanted: Architecture) -> Result<(), NotAnImage> {
        if platforms.contains(&format!("linux/{}", wanted.go())) {
            return Ok(());
        }
        // What says how an image was built stands beside it, as an image for no machine.
        let images = platforms
            .iter()
            .filter(|platform| !platform.starts_with("unknown/"));
        let has = images.map(String::as_str).collect::<Vec<_>>().join(", ");
        Err(NotAnImage::Architecture { has, wanted })
    }
}

/// `linux/amd64` of a configuration.
fn platform(config: &Value) -> String {
    let word = |key: &str| config[key].as_str().unwrap_or("unknown").to_owned();
    format!("{}/{}", word("os"), word("architecture"))
}

fn digest(bytes: &[u8]) -> String {
    named(&Sha256::digest(bytes))
}

fn named(hash: &[u8]) -> String {
    format!("sha256:{}", hex::encode(hash))
}

#[cfg(test)]
pub(crate) mod tests;
