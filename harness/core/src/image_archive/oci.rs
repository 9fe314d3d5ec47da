//! An OCI image layout, which `docker save` writes too since Docker 25. Its documents are served as they are.

use std::collections::BTreeSet;
use std::io::{Read, Seek};

use serde_json::Value;

use super::pack::{self, Pack};
use super::{Extent, ImageArchive, Manifest, NotAnImage, digest, platform};
use crate::plan::architecture::Architecture;

const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
/// Lists of lists are allowed, and nobody writes them deep.
const DEEPEST: usize = 4;

pub(super) fn read<R: Read + Seek>(
    pack: &mut Pack<R>,
    wanted: Architecture,
) -> Result<ImageArchive, NotAnImage> {
    let index = pack.json("index.json")?;
    let mut found = Found::default();
    found.any(pack, &only(&index)?, 0)?;
    if found.platforms.is_empty()
        && let Some(why) = found.lacks
    {
        return Err(NotAnImage::Broken(why));
    }
    ImageArchive::check(&found.platforms, wanted)?;
    Ok(found.image)
}

/// The one image; it may be listed under several names.
fn only(index: &Value) -> Result<Value, NotAnImage> {
    let listed = index["manifests"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let digests: BTreeSet<&str> = listed.iter().filter_map(|one| one["digest"].as_str()).collect();
    match (listed, digests.len()) {
        ([first, ..], 1) => Ok(first.clone()),
        (_, 0) => Err(NotAnImage::Broken("its `index.json` lists no image".to_owned())),
        (images, _) => Err(NotAnImage::Several(images.iter().map(name).collect())),
    }
}

fn name(descriptor: &Value) -> String {
    let annotations = &descriptor["annotations"];
    let name = ["io.containerd.image.name", "org.opencontainers.image.ref.name"]
        .iter()
        .find_map(|key| annotations[key].as_str());
    name.or(descriptor["digest"].as_str())
        .unwrap_or("one without a name")
        .to_owned()
}

/// What is there so far.
#[derive(Default)]
struct Found {
    image: ImageArchive,
    /// The platforms of the images that are there as a whole.
    platforms: Vec<String>,
    /// What the first image lacks that is not.
    lacks: Option<String>,
}

impl Found {
    /// A list or a manifest. What a list names may be absent: `docker save` of one platform keeps the list of all.
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
                "`{name}` in it is not what its name says"
            )));
        }
        let document = pack::json(&name, &bytes)?;
        let told = document["mediaType"]
            .as_str()
            .or(descriptor["mediaType"].as_str());
        self.image
            .manifests
            .push(Manifest::of(told.unwrap_or(MANIFEST_TYPE), bytes));
        match document["manifests"].as_array() {
            Some(list) if depth < DEEPEST => list
                .iter()
                .filter(|one| path(one).is_ok_and(|name| pack.has(&name)))
                .cloned()
                .collect::<Vec<_>>()
                .iter()
                .try_for_each(|one| self.any(pack, one, depth + 1)),
            Some(_) => Err(NotAnImage::Broken(
                "its lists of manifests have no end".to_owned(),
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
                Err(error) => drop(self.lacks.get_or_insert(error.to_string())),
            }
        }
        let is_whole = blobs.len() == manifest["layers"].as_array().map_or(0, Vec::len) + 1;
        self.image.blobs.extend(blobs);
        if is_whole {
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
        None => Err(NotAnImage::Broken("a descriptor in it has no digest".to_owned())),
    }
}
