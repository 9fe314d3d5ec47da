//! The format of `docker save` before Docker 25, also called `docker-archive`: a `manifest.json` that names a
//! configuration and layers. It contains no registry manifest; this module creates the one that a push would create.

use std::io::{Read, Seek};

use serde_json::{Value, json};

use super::pack::Pack;
use super::{Extent, ImageArchive, ImageManifest, NotAnImage, digest, pack, platform};
use crate::plan::architecture::Architecture;

const MANIFEST_TYPE: &str = "application/vnd.docker.distribution.manifest.v2+json";
const CONFIG_TYPE: &str = "application/vnd.docker.container.image.v1+json";
const LAYER_TYPE: &str = "application/vnd.docker.image.rootfs.diff.tar";
const GZIP_LAYER_TYPE: &str = "application/vnd.docker.image.rootfs.diff.tar.gzip";

pub(super) fn read<R: Read + Seek>(
    pack: &mut Pack<R>,
    required: Architecture,
) -> Result<ImageArchive, NotAnImage> {
    let image = only(&pack.json("manifest.json")?)?;
    let name = text(&image["Config"])?;
    let bytes = pack.bytes(name)?;
    let config = pack::json(name, &bytes)?;
    ImageArchive::check(&[platform(&config)], required)?;
    let config_blob = pack.extent(name, &digest(&bytes))?;
    let layers = layers(pack, &image, &config)?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": descriptor(CONFIG_TYPE, &config_blob),
        "layers": layers.iter().map(|(kind, blob)| descriptor(kind, blob)).collect::<Vec<_>>(),
    });
    Ok(ImageArchive {
        manifests: vec![ImageManifest::of(
            MANIFEST_TYPE,
            manifest.to_string().into_bytes(),
        )],
        blobs: layers
            .into_iter()
            .map(|(_, blob)| blob)
            .chain([config_blob])
            .collect(),
    })
}

fn only(listed: &Value) -> Result<Value, NotAnImage> {
    match listed.as_array().map(Vec::as_slice) {
        Some([image]) => Ok(image.clone()),
        None | Some([]) => Err(NotAnImage::Broken("`manifest.json` lists no image".to_owned())),
        Some(images) => Err(NotAnImage::Several(images.iter().map(name).collect())),
    }
}

fn name(image: &Value) -> String {
    let tag = image["RepoTags"][0].as_str();
    tag.or(image["Config"].as_str()).unwrap_or("(no name)").to_owned()
}

fn text(value: &Value) -> Result<&str, NotAnImage> {
    value
        .as_str()
        .ok_or_else(|| NotAnImage::Broken("`manifest.json` names no configuration or layers".to_owned()))
}

/// The layers with their media types. The configuration has the digests of uncompressed layers.
fn layers<R: Read + Seek>(
    pack: &mut Pack<R>,
    image: &Value,
    config: &Value,
) -> Result<Vec<(&'static str, Extent)>, NotAnImage> {
    let none = Vec::new();
    let names = image["Layers"].as_array().unwrap_or(&none);
    let digests = config["rootfs"]["diff_ids"].as_array().unwrap_or(&none);
    if names.len() != digests.len() {
        let (names, digests) = (names.len(), digests.len());
        return Err(NotAnImage::Broken(format!(
            "the image has {names} layers, but its configuration lists {digests}"
        )));
    }
    names
        .iter()
        .zip(digests)
        .map(|(name, digest)| {
            let (name, digest) = (text(name)?, text(digest)?);
            if pack.is_gzip(name)? {
                let digest = pack.digest(name)?;
                return Ok((GZIP_LAYER_TYPE, pack.extent(name, &digest)?));
            }
            Ok((LAYER_TYPE, pack.extent(name, digest)?))
        })
        .collect()
}

fn descriptor(media_type: &str, blob: &Extent) -> Value {
    json!({ "mediaType": media_type, "size": blob.length, "digest": blob.digest })
}
