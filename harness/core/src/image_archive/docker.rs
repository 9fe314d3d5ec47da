//! The format of `docker save` before Docker 25, also called `docker-archive`: a `manifest.json` that names a
//! configuration and layers. It contains no registry manifest; this module creates the one that a push would create.

use std::io::{Read, Seek};

use oci_spec::image::ImageConfiguration;
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::NotAnImage;
use super::image::{Extent, ImageArchive, ImageManifest, digest, platform};
use super::pack::{self, Pack};
use crate::plan::architecture::Architecture;

const MANIFEST_TYPE: &str = "application/vnd.docker.distribution.manifest.v2+json";
const CONFIG_TYPE: &str = "application/vnd.docker.container.image.v1+json";
const LAYER_TYPE: &str = "application/vnd.docker.image.rootfs.diff.tar";
const GZIP_LAYER_TYPE: &str = "application/vnd.docker.image.rootfs.diff.tar.gzip";

/// An entry of `manifest.json`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SavedImage {
    config: String,
    #[serde(default)]
    repo_tags: Option<Vec<String>>,
    #[serde(default)]
    layers: Vec<String>,
}

pub(super) fn read<R: Read + Seek>(
    pack: &mut Pack<R>,
    required: Architecture,
) -> Result<ImageArchive, NotAnImage> {
    let image = only(pack.json("manifest.json")?)?;
    let bytes = pack.bytes(&image.config)?;
    let config: ImageConfiguration = pack::json(&image.config, &bytes)?;
    ImageArchive::check(&[platform(&config)], required)?;
    let config_blob = pack.extent(&image.config, &digest(&bytes))?;
    let layers = layers(pack, &image.layers, config.rootfs().diff_ids())?;
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

fn only(mut listed: Vec<SavedImage>) -> Result<SavedImage, NotAnImage> {
    match (listed.pop(), listed.is_empty()) {
        (Some(image), true) => Ok(image),
        (None, _) => Err(NotAnImage::Broken("`manifest.json` lists no image".to_owned())),
        (Some(last), false) => Err(NotAnImage::Several(
            listed.iter().chain([&last]).map(name).collect(),
        )),
    }
}

fn name(image: &SavedImage) -> String {
    let tag = image.repo_tags.iter().flatten().next();
    tag.unwrap_or(&image.config).clone()
}

/// The layers with their media types. The configuration has the digests of uncompressed layers.
fn layers<R: Read + Seek>(
    pack: &mut Pack<R>,
    names: &[String],
    digests: &[String],
) -> Result<Vec<(&'static str, Extent)>, NotAnImage> {
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
