//! What `docker save` wrote until Docker 25, and others write as `docker-archive`: a `manifest.json` that names a configuration and
//! layers. It has no manifest of a registry, so one is made, as a push would make it.

use std::io::{Read, Seek};

use serde_json::{Value, json};

use super::pack::Pack;
use super::{Extent, ImageArchive, Manifest, NotAnImage, digest, pack, platform};
use crate::plan::architecture::Architecture;

const MANIFEST_TYPE: &str = "application/vnd.docker.distribution.manifest.v2+json";
const CONFIG_TYPE: &str = "application/vnd.docker.container.image.v1+json";
const LAYER_TYPE: &str = "application/vnd.docker.image.rootfs.diff.tar";
const GZIP_LAYER_TYPE: &str = "application/vnd.docker.image.rootfs.diff.tar.gzip";

pub(super) fn read<R: Read + Seek>(
    pack: &mut Pack<R>,
    wanted: Architecture,
) -> Result<ImageArchive, NotAnImage> {
    let image = only(&pack.json("manifest.json")?)?;
    let name = text(&image["Config"])?;
    let bytes = pack.bytes(name)?;
    let config = pack::json(name, &bytes)?;
    ImageArchive::check(&[platform(&config)], wanted)?;
    let config_blob = pack.extent(name, &digest(&bytes))?;
    let layers = layers(pack, &image, &config)?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": descriptor(CONFIG_TYPE, &config_blob),
        "layers": layers.iter().map(|(kind, blob)| descriptor(kind, blob)).collect::<Vec<_>>(),
    });
    Ok(ImageArchive {
        manifests: vec![Manifest::of(MANIFEST_TYPE, manifest.to_string().into_bytes())],
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
        None | Some([]) => Err(NotAnImage::Broken(
            "its `manifest.json` lists no image".to_owned(),
        )),
        Some(images) => Err(NotAnImage::Several(images.iter().map(name).collect())),
    }
}

fn name(image: &Value) -> String {
    let tag = image["RepoTags"][0].as_str();
    tag.or(image["Config"].as_str())
        .unwrap_or("one without a name")
        .to_owned()
}

fn text(value: &Value) -> Result<&str, NotAnImage> {
    value
        .as_str()
        .ok_or_else(|| NotAnImage::Broken("its `manifest.json` names no configuration and layers".to_owned()))
}

/// The layers with their media types. A layer that is not compressed has the digest that the configuration says.
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
            "it has {names} layers, and its configuration {digests}"
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
