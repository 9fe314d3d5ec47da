//! OCI image layouts, which `docker save` also writes since Docker 25. Their documents are served unchanged.

use std::collections::BTreeSet;
use std::io::{Read, Seek};

use oci_spec::image::{
    Descriptor, Digest, ImageConfiguration, ImageIndex, ImageManifest as Manifest, MediaType,
};

use super::error::NotAnImage;
use super::image::{Extent, ImageArchive, ImageManifest, digest, platform};
use super::pack::{self, Pack};
use crate::plan::architecture::Architecture;

/// Lists may contain lists; real images nest them once.
const MAX_DEPTH: usize = 4;

pub(super) fn read<R: Read + Seek>(
    pack: &mut Pack<R>,
    required: Architecture,
) -> Result<ImageArchive, NotAnImage> {
    let index: ImageIndex = pack.json("index.json")?;
    let mut found = LayoutContents::default();
    found.any(pack, only(&index)?, 0)?;
    if found.platforms.is_empty()
        && let Some(why) = found.missing
    {
        return Err(NotAnImage::Broken(why));
    }
    ImageArchive::check(&found.platforms, required)?;
    Ok(found.image)
}

/// The single image, which may have several names.
fn only(index: &ImageIndex) -> Result<&Descriptor, NotAnImage> {
    let listed = index.manifests().as_slice();
    let digests: BTreeSet<&str> = listed.iter().map(|one| one.digest().as_ref()).collect();
    match (listed, digests.len()) {
        ([first, ..], 1) => Ok(first),
        ([], _) => Err(NotAnImage::Broken("`index.json` lists no image".to_owned())),
        (images, _) => Err(NotAnImage::Several(images.iter().map(name).collect())),
    }
}

fn name(descriptor: &Descriptor) -> String {
    let annotations = descriptor.annotations().as_ref();
    let name = ["io.containerd.image.name", "org.opencontainers.image.ref.name"]
        .iter()
        .find_map(|key| annotations?.get(*key));
    name.cloned().unwrap_or_else(|| descriptor.digest().to_string())
}

/// The contents of a layout.
#[derive(Default)]
struct LayoutContents {
    image: ImageArchive,
    /// Platforms of the complete images.
    platforms: Vec<String>,
    /// The first missing part of an incomplete image.
    missing: Option<String>,
}

impl LayoutContents {
    /// Reads a list or a manifest. Entries of a list may be missing: `docker save` of one platform keeps the complete
    /// list.
    fn any<R: Read + Seek>(
        &mut self,
        pack: &mut Pack<R>,
        descriptor: &Descriptor,
        depth: usize,
    ) -> Result<(), NotAnImage> {
        let name = path(descriptor.digest());
        let bytes = pack.bytes(&name)?;
        if descriptor.digest().as_ref() != digest(&bytes) {
            return Err(NotAnImage::Broken(format!(
                "the content of `{name}` does not match its digest"
            )));
        }
        let media_type = descriptor.media_type();
        self.image
            .manifests
            .push(ImageManifest::of(media_type.as_ref(), bytes.clone()));
        if !is_list(media_type) {
            return self.manifest(pack, &pack::json(&name, &bytes)?);
        }
        if depth == MAX_DEPTH {
            return Err(NotAnImage::Broken(
                "the lists of manifests are nested too deeply".to_owned(),
            ));
        }
        let list: ImageIndex = pack::json(&name, &bytes)?;
        let mut entries = list.manifests().iter();
        entries.try_for_each(|one| match pack.has(&path(one.digest())) {
            true => self.any(pack, one, depth + 1),
            false => Ok(()),
        })
    }

    fn manifest<R: Read + Seek>(
        &mut self,
        pack: &mut Pack<R>,
        manifest: &Manifest,
    ) -> Result<(), NotAnImage> {
        let mut is_complete = true;
        for descriptor in [manifest.config()].into_iter().chain(manifest.layers()) {
            match blob(pack, descriptor) {
                Ok(blob) => self.image.blobs.push(blob),
                Err(error) => {
                    is_complete = false;
                    self.missing.get_or_insert(error.to_string());
                }
            }
        }
        if is_complete {
            let config: ImageConfiguration = pack.json(&path(manifest.config().digest()))?;
            self.platforms.push(platform(&config));
        }
        Ok(())
    }
}

fn is_list(media_type: &MediaType) -> bool {
    const DOCKER: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
    *media_type == MediaType::ImageIndex || *media_type == MediaType::from(DOCKER)
}

fn blob<R: Read + Seek>(pack: &mut Pack<R>, descriptor: &Descriptor) -> Result<Extent, NotAnImage> {
    pack.extent(&path(descriptor.digest()), descriptor.digest().as_ref())
}

fn path(digest: &Digest) -> String {
    format!("blobs/{}/{}", digest.algorithm(), digest.digest())
}
