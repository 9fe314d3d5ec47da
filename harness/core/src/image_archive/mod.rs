//! Container image archives, written by `docker save` or packed from OCI image layouts: the manifests and blobs that
//! a registry serves, and their offsets in the archive.
//!
//! Reads the small documents only. Layers stay in the archive, whose size therefore does not matter.

mod docker;
mod error;
mod image;
mod oci;
mod pack;

use std::io::{Read, Seek};

pub use error::NotAnImage;
pub use image::{Extent, ImageArchive, ImageManifest};

use crate::plan::architecture::Architecture;
use pack::Pack;

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
}

#[cfg(test)]
pub(crate) mod tests;
