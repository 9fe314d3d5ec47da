//! OCI image layouts, which `docker save` also writes since Docker 25. Their documents are served unchanged.

use std::collections::BTreeSet;
use std::io::{Read, Seek};

use serde_json::Value;

use super::pack::{self, Pack};
use super::{Extent, ImageArchive, ImageManifest, NotAnImage, digest, platform};
use crate::plan::architecture::Architecture;

const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
/// Lists may contain lists; real images nest them once.
const MAX_DEPTH: usize = 4;

pub(super) fn read<R: Read + Seek>(
    pack: &mut Pack<R>,
    required: Architecture,
) -> Result<ImageArchive, NotAnImage> {
    let index = pack.json("index.json")?;
    let mut found = LayoutContents::default();
    found.any(pack, &only(&index)?, 0)?;
    if found.platforms.is_empty()
        && let Some(why) = found.missing
    {
        return Err(NotAnImage::Broken(why));
    }
    ImageArchive::check(&found.platforms, required)?;
    Ok(found.image)
}

/// The single image, which may have several names.
fn only(index: &Value) -> Result<Value, NotAnImage> {
    let listed = index["manifests"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let digests: BTreeSet<&str> = listed.iter().filter_map(|one| one["digest"].as_str()).collect();
    match (listed, digests.len()) {
        ([first, ..], 1) => Ok(first.clone()),
        (_, 0) => Err(NotAnImage::Broken("`index.json` lists no image".to_owned())),
        (images, _) => Err(NotAnImage::Several(images.iter().map(name).collect())),
    }
}

fn name(descriptor: &Value) -> String {
    let annotations = &descriptor["annotations"];
    let name = ["io.containerd.image.name", "org.opencontainers.image.ref.name"]
        .iter()
        .find_map(|key| annotations[key].as_str());
    name.or(descriptor["digest"].as_str())
        .unwrap_or("(no name)")
        .to_owned()
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
        descriptor: &Value,
        depth: usize,
    ) -> Result<(), NotAnImage> {
        let name = path(descriptor)?;
        let bytes = pack.bytes(&name)?;
        if descriptor["digest"] != digest(&bytes) {
            return Err(NotAnImage::Broken(format!(
                "the content of `{name}` does not match its digest"
            )));
        }
        let document = pack::json(&name, &bytes)?;
        let media_type = document["mediaType"]
            .as_str()
            .or(descriptor["mediaType"].as_str());
        self.image
            .manifests
            .push(ImageManifest::of(media_type.unwrap_or(MANIFEST_TYPE), bytes));
        match document["manifests"].as_array() {
            Some(list) if depth < MAX_DEPTH => list
                .iter()
                .filter(|one| path(one).is_ok_and(|name| pack.has(&name)))
                .cloned()
                .collect::<Vec<_>>()
                .iter()
                .try_for_each(|one| self.any(pack, one, depth + 1)),
            Some(_) => Err(NotAnImage::Broken(
                "the lists of manifests are nested too deeply".to_owned(),
            )),
            None => self.manifest(pack, &document),
        }
    }

    fn manifest<R: Read + Seek>(&mut self, pack: &mut Pack<R>, manifest: &Value) -> Result<(), NotAnImage> {
        let layers = manifest["layers"].as_array().into_iter().flatten();
        let mut blobs = Vec::new();
        for descriptor in [&manifest["config"]].into_iter().chain(layers) {
            match blob(pack, descriptor) {
                Ok(blob) => blobs.push(blob),
                Err(error) => drop(self.missing.get_or_insert(error.to_string())),
            }
        }
        let is_complete = blobs.len() == manifest["layers"].as_array().map_or(0, Vec::len) + 1;
        self.image.blobs.extend(blobs);
        if is_complete {
            let config = pack.json(&path(&manifest["config"])?)?;
            self.platforms.push(platform(&config));
        }
        Ok(())
    }
}

fn blob<R: Read + Seek>(pack: &mut Pack<R>, descriptor: &Value) -> Result<Extent, NotAnImage> {
    let digest = descriptor["digest"].as_str().unwrap_or_default();
    pack.extent(&path(descriptor)?, digest)
}

fn path(descriptor: &Value) -> Result<String, NotAnImage> {
    let digest = descriptor["digest"].as_str().unwrap_or_default();
    match digest.split_once(':') {
        Some((algorithm, hash)) => Ok(format!("blobs/{algorithm}/{hash}")),
        None => Err(NotAnImage::Broken("a descriptor has no digest".to_owned())),
    }
}
