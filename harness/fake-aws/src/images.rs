//! Container images for the fake registry, packed in the process without a builder.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use nodejoin_core::image_archive::{Extent, ImageArchive, ImageManifest};
use nodejoin_core::plan::architecture::Architecture;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::content::{Content, FilePart};
use crate::error::FakeAwsError;

pub(crate) const MANIFEST_TYPE: &str = "application/vnd.docker.distribution.manifest.v2+json";
const CONFIG_TYPE: &str = "application/vnd.docker.container.image.v1+json";
const LAYER_TYPE: &str = "application/vnd.docker.image.rootfs.diff.tar.gzip";

/// The tags of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tags {
    /// Every tag: each AMI requests its own tag of the pause image.
    Any,
    Only(Vec<String>),
}

/// An image in a repository. Cloning one copies no content.
#[derive(Debug, Clone)]
pub struct RegistryImage {
    /// For example `eks/pause`.
    pub(crate) repository: String,
    pub(crate) tags: Tags,
    pub(crate) scope: RegistryScope,
    /// The manifest of the tags; for an image index, the manifests of its entries follow.
    manifests: Vec<Blob>,
    blobs: Vec<Blob>,
}

/// The registries with an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RegistryScope {
    /// The registries of all accounts: nodes pull from accounts of EKS.
    EveryAccount,
    /// The registry of the scenario's account.
    OwnAccount,
}

/// Content with its digest.
#[derive(Debug, Clone)]
pub(crate) struct Blob {
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    pub media_type: String,
    pub content: Content,
}

impl Blob {
    fn new(media_type: &str, bytes: Vec<u8>) -> Self {
        Self {
            digest: digest(&bytes),
            media_type: media_type.to_owned(),
            content: bytes.into(),
        }
    }

    fn of_manifest(manifest: ImageManifest) -> Self {
        Self {
            digest: manifest.digest,
            media_type: manifest.media_type,
            content: manifest.bytes.into(),
        }
    }

    /// A configuration or a layer, which stays in its archive. Registries serve both without their media type.
    fn of_extent(file: &Arc<File>, extent: Extent) -> Self {
        Self {
            digest: extent.digest,
            media_type: "application/octet-stream".to_owned(),
            content: Content::File(FilePart {
                file: Arc::clone(file),
                offset: extent.offset,
                length: extent.length,
            }),
        }
    }

    /// The text of a manifest; empty for other blobs, which may stay in files.
    #[must_use]
    pub(crate) fn text(&self) -> Cow<'_, str> {
        match &self.content {
            Content::Memory(bytes) => String::from_utf8_lossy(bytes),
            Content::File(_) => Cow::Borrowed(""),
        }
    }

    fn descriptor(&self) -> Value {
        json!({ "mediaType": self.media_type, "size": self.content.length(), "digest": self.digest })
    }
}

/// A layer: an uncompressed tar archive.
#[derive(Debug, Clone)]
pub(crate) struct ImageLayer(pub Vec<u8>);

impl RegistryImage {
    /// Packs an image.
    ///
    /// # Errors
    /// A layer cannot be compressed.
    pub(crate) fn pack(
        repository: &str,
        tags: Tags,
        command: &[&str],
        layers: &[ImageLayer],
    ) -> Result<Self, FakeAwsError> {
        let failed = |source| FakeAwsError::Image {
            repository: repository.to_owned(),
            source,
        };
        let packed = layers
            .iter()
            .map(|layer| gzip(&layer.0))
            .collect::<io::Result<Vec<_>>>()
            .map_err(failed)?;
        let layer_blobs: Vec<Blob> = packed
            .into_iter()
            .map(|bytes| Blob::new(LAYER_TYPE, bytes))
            .collect();
        let config = Blob::new(CONFIG_TYPE, config(command, layers).to_string().into_bytes());
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "config": config.descriptor(),
            "layers": layer_blobs.iter().map(Blob::descriptor).collect::<Vec<_>>(),
        });
        let manifest = Blob::new(MANIFEST_TYPE, manifest.to_string().into_bytes());
        let blobs = layer_blobs.into_iter().chain([config]).collect();
        Ok(Self {
            repository: repository.to_owned(),
            tags,
            scope: RegistryScope::EveryAccount,
            manifests: vec![manifest],
            blobs,
        })
    }

    /// The image of an archive, in the account's own registry. Configuration and layers stay in the file.
    #[must_use]
    pub fn stored(repository: &str, tags: Vec<String>, archive: ImageArchive, file: File) -> Self {
        let file = Arc::new(file);
        let blobs = archive.blobs.into_iter();
        Self {
            repository: repository.to_owned(),
            tags: Tags::Only(tags),
            scope: RegistryScope::OwnAccount,
            manifests: archive.manifests.into_iter().map(Blob::of_manifest).collect(),
            blobs: blobs.map(|extent| Blob::of_extent(&file, extent)).collect(),
        }
    }

    /// The same image in another repository.
    #[must_use]
    pub(crate) fn with_repository(&self, repository: &str) -> Self {
        Self {
            repository: repository.to_owned(),
            ..self.clone()
        }
    }

    /// Finds a manifest by tag or digest.
    #[must_use]
    pub(crate) fn manifest(&self, reference: &str) -> Option<&Blob> {
        if reference.starts_with("sha256:") {
            return self
                .manifests
                .iter()
                .find(|manifest| manifest.digest == reference);
        }
        let is_tag = match &self.tags {
            Tags::Any => true,
            Tags::Only(tags) => tags.iter().any(|tag| tag == reference),
        };
        self.manifests.first().filter(|_| is_tag)
    }

    /// The manifest of the tags.
    #[must_use]
    pub(crate) fn first_manifest(&self) -> Option<&Blob> {
        self.manifests.first()
    }

    /// The media type of the configuration; `None` for an image index.
    #[must_use]
    pub(crate) fn config_type(&self) -> Option<String> {
        let manifest = self.manifests.first()?;
        let manifest: Value = serde_json::from_str(&manifest.text()).ok()?;
        manifest["config"]["mediaType"].as_str().map(str::to_owned)
    }

    /// Size of all blobs in bytes.
    #[must_use]
    pub(crate) fn size(&self) -> u64 {
        self.blobs.iter().map(|blob| blob.content.length()).sum()
    }

    /// Finds a blob by digest.
    #[must_use]
    pub(crate) fn blob(&self, digest: &str) -> Option<&Blob> {
        self.blobs.iter().find(|blob| blob.digest == digest)
    }
}

/// The images that a node needs, made from a static busybox: `eks/pause` and `eks/pause-amd64` under every tag, and
/// `nodejoin/echo`, which serves its host name on port 8080.
///
/// # Errors
/// An image cannot be packed.
pub fn busybox_images(busybox: &[u8]) -> Result<Vec<RegistryImage>, FakeAwsError> {
    let layer = busybox_layer(busybox).map_err(|source| FakeAwsError::Image {
        repository: "busybox".to_owned(),
        source,
    })?;
    let layers = std::slice::from_ref(&layer);
    let pause = RegistryImage::pack("eks/pause", Tags::Any, &["/bin/sh", "-c", PAUSE], layers)?;
    let echo = RegistryImage::pack("nodejoin/echo", Tags::Any, &["/bin/sh", "-c", ECHO], layers)?;
    let older = pause.with_repository("eks/pause-amd64");
    Ok(vec![pause, older, echo])
}

/// The first process of a sandbox has no default signal handlers: without a trap, each pod would end only after its
/// grace period.
const PAUSE: &str = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done";
/// Serves one file with the host name.
const ECHO: &str = "mkdir -p /tmp/www && hostname > /tmp/www/index.html && cd /tmp/www || exit 1\n\
    httpd -f -p 8080 -h /tmp/www & server=$!\n\
    trap 'kill $server; exit 0' TERM INT\n\
    wait $server";

/// Names of busybox: enough for the commands above and for debugging.
const APPLETS: &[&str] = &[
    "sh", "sleep", "httpd", "hostname", "mkdir", "cat", "ls", "ps", "kill", "nc", "wget", "env", "id", "ip",
    "nslookup", "echo", "true",
];

fn busybox_layer(busybox: &[u8]) -> io::Result<ImageLayer> {
    let mut archive = tar::Builder::new(Vec::new());
    for folder in ["bin", "tmp", "etc"] {
        let mode = if folder == "tmp" { 0o1777 } else { 0o755 };
        let mut header = header(tar::EntryType::Directory, mode, 0);
        archive.append_data(&mut header, format!("{folder}/"), io::empty())?;
    }
    let mut program = header(tar::EntryType::Regular, 0o755, busybox.len() as u64);
    archive.append_data(&mut program, "bin/busybox", busybox)?;
    for applet in APPLETS {
        archive.append_link(
            &mut header(tar::EntryType::Symlink, 0o777, 0),
            format!("bin/{applet}"),
            "busybox",
        )?;
    }
    Ok(ImageLayer(archive.into_inner()?))
}

/// Fixed metadata: the same busybox yields the same digests.
fn header(kind: tar::EntryType, mode: u32, size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header
}

fn config(command: &[&str], layers: &[ImageLayer]) -> Value {
    // A node runs on this machine, so that its runtime expects this process' architecture.
    let here = std::env::consts::ARCH;
    let architecture = here.parse::<Architecture>().map_or(here, Architecture::go);
    json!({
        "architecture": architecture,
        "os": "linux",
        "created": "1970-01-01T00:00:00Z",
        "config": { "Env": ["PATH=/bin"], "Entrypoint": command, "WorkingDir": "/" },
        "rootfs": { "type": "layers", "diff_ids": layers.iter().map(|layer| digest(&layer.0)).collect::<Vec<_>>() },
        "history": layers.iter().map(|_| json!({ "created": "1970-01-01T00:00:00Z", "created_by": "nodejoin" })).collect::<Vec<_>>(),
    })
}

fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_name_their_blobs() {
        let images = busybox_images(b"not really busybox").unwrap();
        let pause = &images[0];
        let manifest = pause.manifest("3.5").unwrap();
        assert_eq!(
            pause.manifest(&manifest.digest).unwrap().content.in_memory(),
            manifest.content.in_memory()
        );
        let manifest: Value = serde_json::from_slice(manifest.content.in_memory()).unwrap();
        for digest in [&manifest["config"]["digest"], &manifest["layers"][0]["digest"]] {
            let digest = digest.as_str().unwrap();
            assert_eq!(
                super::digest(pause.blob(digest).unwrap().content.in_memory()),
                digest
            );
        }
        let again = busybox_images(b"not really busybox").unwrap();
        assert_eq!(again[0].manifests[0].digest, pause.manifests[0].digest);
    }

    #[test]
    fn tags_match_any_or_a_list() {
        let image = RegistryImage::pack("demo", Tags::Only(vec!["1".into()]), &["x"], &[]).unwrap();
        assert!(
            image.manifest("1").is_some()
                && image.manifest("2").is_none()
                && image.manifest("sha256:00").is_none()
        );
    }
}
