//! Folders with an OCI image layout, converted to the format of `docker load`, which every engine reads.

use std::fs::{self, File};
use std::io::{self, Read, Seek as _, Write};
use std::path::Path;

use nodejoin_core::plan::architecture::Architecture;
use oci_spec::image::{Descriptor, ImageConfiguration, ImageIndex, ImageManifest, MediaType};
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use super::archive;
use crate::image_problem::ImageProblem;

const INDEX: &str = "index.json";
/// Lists may contain lists; real images nest them once.
const MAX_DEPTH: usize = 4;

/// Whether a folder contains an OCI image layout.
pub(super) fn is_layout(folder: &Path) -> bool {
    folder.join("oci-layout").is_file() && folder.join(INDEX).is_file()
}

/// An image of a layout whose blobs match their digests.
pub(super) struct Layout {
    config: Vec<u8>,
    /// Each layer, decompressed, in an unnamed file.
    layers: Vec<File>,
    /// Digest of the manifest.
    pub(super) digest: String,
}

impl Layout {
    /// Reads the image for an architecture and checks all digests and paths. `temporary` creates a file for each layer.
    pub(super) fn read(
        folder: &Path,
        required: Architecture,
        temporary: impl Fn() -> io::Result<File>,
    ) -> Result<Self, ImageProblem> {
        let index: ImageIndex = parsed(INDEX, &read(&folder.join(INDEX))?)?;
        let (digest, manifest) = manifest(folder, &index, required, 0)?;
        let config = blob(folder, manifest.config())?;
        let parsed: ImageConfiguration = parsed("configuration", &config)?;
        if parsed.architecture().to_string() != required.go() {
            let has = Architecture::ALL
                .into_iter()
                .find(|known| known.go() == parsed.architecture().to_string());
            return Err(ImageProblem::Architecture { has, required });
        }
        let layers = manifest.layers().iter();
        let layers = layers.map(|layer| decompressed(folder, layer, &temporary));
        Ok(Self {
            config,
            layers: layers.collect::<Result<_, _>>()?,
            digest,
        })
    }

    /// Writes the image as `docker save` does, under a name with a tag.
    pub(super) fn write(mut self, name: &str, to: impl Write) -> io::Result<()> {
        let mut packed = tar::Builder::new(to);
        let names: Vec<_> = (0..self.layers.len())
            .map(|index| format!("{index}/layer.tar"))
            .collect();
        let manifest = serde_json::json!([{ "Config": "config.json", "RepoTags": [name], "Layers": names }]);
        append(&mut packed, "manifest.json", manifest.to_string().as_bytes())?;
        append(&mut packed, "config.json", &self.config)?;
        for (layer, name) in self.layers.iter_mut().zip(&names) {
            layer.rewind()?;
            let mut header = header(layer.metadata()?.len());
            packed.append_data(&mut header, name, layer)?;
        }
        packed.into_inner()?.flush()
    }
}

fn append(packed: &mut tar::Builder<impl Write>, name: &str, content: &[u8]) -> io::Result<()> {
    packed.append_data(&mut header(content.len() as u64), name, content)
}

fn header(size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o644);
    header.set_mtime(1);
    header
}

/// The manifest for an architecture. A single manifest may lack a platform: its configuration has one.
fn manifest(
    folder: &Path,
    index: &ImageIndex,
    required: Architecture,
    depth: usize,
) -> Result<(String, ImageManifest), ImageProblem> {
    let is_required = |one: &&Descriptor| {
        let platform = one.platform().as_ref();
        platform.is_some_and(|platform| platform.architecture().to_string() == required.go())
    };
    let listed = index.manifests();
    let chosen = match listed.as_slice() {
        [only] => only,
        _ => listed.iter().find(is_required).ok_or_else(|| {
            ImageProblem::Layout(format!(
                "`{INDEX}` lists {} images and none for linux/{}",
                listed.len(),
                required.go()
            ))
        })?,
    };
    let bytes = blob(folder, chosen)?;
    if *chosen.media_type() != MediaType::ImageIndex {
        return Ok((chosen.digest().to_string(), parsed("manifest", &bytes)?));
    }
    if depth == MAX_DEPTH {
        return Err(ImageProblem::Layout("its lists are nested too deeply".to_owned()));
    }
    manifest(folder, &parsed("list of manifests", &bytes)?, required, depth + 1)
}

fn path_of(folder: &Path, descriptor: &Descriptor) -> std::path::PathBuf {
    let digest = descriptor.digest();
    folder
        .join("blobs")
        .join(digest.algorithm().to_string())
        .join(digest.digest())
}

/// A small document that matches its digest.
fn blob(folder: &Path, descriptor: &Descriptor) -> Result<Vec<u8>, ImageProblem> {
    let path = path_of(folder, descriptor);
    let bytes = read(&path)?;
    check_digest(&path, descriptor, Sha256::digest(&bytes).as_slice())?;
    Ok(bytes)
}

fn check_digest(path: &Path, descriptor: &Descriptor, hash: &[u8]) -> Result<(), ImageProblem> {
    if descriptor.digest().digest() == hex::encode(hash) {
        return Ok(());
    }
    let problem = format!("the content of `{}` does not match its digest", path.display());
    Err(ImageProblem::Layout(problem))
}

fn decompressed(
    folder: &Path,
    layer: &Descriptor,
    temporary: &impl Fn() -> io::Result<File>,
) -> Result<File, ImageProblem> {
    let path = path_of(folder, layer);
    let missing = |error| ImageProblem::Layout(format!("cannot read `{}`: {error}", path.display()));
    let mut file = File::open(&path).map_err(missing)?;
    let mut hash = Sha256::new();
    io::copy(&mut file, &mut hash).map_err(ImageProblem::Unreadable)?;
    check_digest(&path, layer, hash.finalize().as_slice())?;
    let mut unpacked = temporary().map_err(ImageProblem::Unreadable)?;
    let mut reader = archive::open(file).map_err(ImageProblem::Damaged)?;
    io::copy(&mut reader, &mut unpacked).map_err(ImageProblem::Damaged)?;
    unpacked.rewind().map_err(ImageProblem::Unreadable)?;
    archive::check_layer(&unpacked)?;
    Ok(unpacked)
}

fn read(path: &Path) -> Result<Vec<u8>, ImageProblem> {
    let problem =
        |error: io::Error| ImageProblem::Layout(format!("cannot read `{}`: {error}", path.display()));
    let mut bytes = Vec::new();
    // Documents are small. The limit keeps a layer that is listed as a document out of memory.
    let file = fs::File::open(path).map_err(problem)?;
    file.take(8 << 20).read_to_end(&mut bytes).map_err(problem)?;
    Ok(bytes)
}

fn parsed<T: DeserializeOwned>(what: &str, bytes: &[u8]) -> Result<T, ImageProblem> {
    serde_json::from_slice(bytes).map_err(|error| ImageProblem::Layout(format!("invalid {what}: {error}")))
}
