//! Archives of both formats, broken ones, and the texts of their errors.

use std::io::{Cursor, Write as _};

use serde_json::{Value, json};

use super::image::digest;
use super::*;

const HERE: Architecture = Architecture::X86_64;

/// An archive with these files; a content that begins with `->` is a symbolic link.
fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        if let Some(target) = bytes.strip_prefix(b"->") {
            header.set_entry_type(tar::EntryType::Symlink);
            header.set_size(0);
            let target = std::str::from_utf8(target).unwrap();
            tar.append_link(&mut header, name, target).unwrap();
        } else {
            header.set_size(bytes.len() as u64);
            tar.append_data(&mut header, name, *bytes).unwrap();
        }
    }
    tar.into_inner().unwrap()
}

fn read(bytes: &[u8]) -> Result<ImageArchive, String> {
    ImageArchive::read(Cursor::new(bytes), HERE).map_err(|error| format!("{error}\n{}", error.hint()))
}

/// The bytes of a blob.
fn blob<'a>(archive: &'a [u8], image: &ImageArchive, digest: &str) -> &'a [u8] {
    let blob = image.blobs.iter().find(|blob| blob.digest == digest).unwrap();
    let begin = usize::try_from(blob.offset).unwrap();
    &archive[begin..begin + usize::try_from(blob.length).unwrap()]
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn config(architecture: &str, layers: &[&[u8]]) -> Vec<u8> {
    let diff_ids: Vec<String> = layers.iter().map(|layer| digest(layer)).collect();
    json!({ "architecture": architecture, "os": "linux", "rootfs": { "type": "layers", "diff_ids": diff_ids } })
        .to_string()
        .into_bytes()
}

pub(crate) fn saved(architecture: &str) -> Vec<u8> {
    let config = config(architecture, &[b"one", b"two", b"one"]);
    let listed = json!([{ "Config": "c.json", "RepoTags": ["web:1"], "Layers": ["a/layer.tar", "b/layer.tar", "c/layer.tar"] }]);
    archive(&[
        ("a/layer.tar", b"one"),
        ("b/layer.tar", &gzip(b"two")),
        ("c/layer.tar", b"->../a/layer.tar"),
        ("c.json", &config),
        ("manifest.json", listed.to_string().as_bytes()),
    ])
}

#[test]
fn docker_archives_get_the_manifest_of_a_push() {
    let bytes = saved("amd64");
    let image = read(&bytes).unwrap();
    let manifest: Value = serde_json::from_slice(&image.manifests[0].bytes).unwrap();
    assert_eq!(image.manifests.len(), 1);
    assert_eq!(image.manifests[0].digest, digest(&image.manifests[0].bytes));
    assert_eq!(manifest["mediaType"], image.manifests[0].media_type);
    let layers = manifest["layers"].as_array().unwrap();
    let kinds: Vec<&str> = layers
        .iter()
        .map(|layer| layer["mediaType"].as_str().unwrap())
        .collect();
    let plain = "application/vnd.docker.image.rootfs.diff.tar";
    assert_eq!(
        kinds,
        [plain, "application/vnd.docker.image.rootfs.diff.tar.gzip", plain]
    );
    for (layer, content) in layers
        .iter()
        .zip([b"one".to_vec(), gzip(b"two"), b"one".to_vec()])
    {
        let named = layer["digest"].as_str().unwrap();
        assert_eq!(named, digest(&content));
        assert_eq!(layer["size"], content.len());
        assert_eq!(blob(&bytes, &image, named), content);
    }
    let named = manifest["config"]["digest"].as_str().unwrap();
    assert_eq!(digest(blob(&bytes, &image, named)), named);
}

/// The files of a layout: a list of two platforms, of which the second has no layer here.
fn layout(platforms: &[&str], with_layers: &[bool]) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let manifest_type = "application/vnd.oci.image.manifest.v1+json";
    let mut add = |media_type: &str, bytes: Vec<u8>, is_there: bool| {
        let digest = digest(&bytes);
        let size = bytes.len();
        if is_there {
            files.push((format!("blobs/sha256/{}", &digest[7..]), bytes));
        }
        json!({ "mediaType": media_type, "digest": digest, "size": size })
    };
    let mut manifests = Vec::new();
    for (platform, is_there) in platforms.iter().zip(with_layers) {
        let layer = format!("layer of {platform}").into_bytes();
        let config_type = "application/vnd.oci.image.config.v1+json";
        let config = add(config_type, config(platform, &[&layer]), true);
        let layer = add("application/vnd.oci.image.layer.v1.tar", layer, *is_there);
        let manifest = json!({ "schemaVersion": 2, "config": config, "layers": [layer] });
        manifests.push(add(manifest_type, manifest.to_string().into_bytes(), true));
    }
    // A manifest that this layout does not hold at all.
    manifests.push(json!({ "mediaType": manifest_type, "digest": digest(b"elsewhere"), "size": 9 }));
    let media_type = "application/vnd.oci.image.index.v1+json";
    let list = json!({ "schemaVersion": 2, "mediaType": media_type, "manifests": manifests });
    let mut list = add(media_type, list.to_string().into_bytes(), true);
    list["annotations"] = json!({ "org.opencontainers.image.ref.name": "one" });
    let mut other_name = list.clone();
    other_name["annotations"] = json!({ "org.opencontainers.image.ref.name": "two" });
    let index = json!({ "schemaVersion": 2, "manifests": [list, other_name] });
    files.push(("./index.json".to_owned(), index.to_string().into_bytes()));
    files
}

fn packed(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
        .collect();
    archive(&files)
}

#[test]
fn a_layout_is_served_unchanged() {
    let bytes = packed(&layout(&["arm64", "amd64"], &[false, true]));
    let image = read(&bytes).unwrap();
    let kinds: Vec<&str> = image
        .manifests
        .iter()
        .map(|manifest| manifest.media_type.as_str())
        .collect();
    let manifest = "application/vnd.oci.image.manifest.v1+json";
    assert_eq!(
        kinds,
        ["application/vnd.oci.image.index.v1+json", manifest, manifest]
    );
    for manifest in &image.manifests {
        assert_eq!(manifest.digest, digest(&manifest.bytes));
    }
    let layer = b"layer of amd64";
    assert_eq!(blob(&bytes, &image, &digest(layer)), layer);
    assert!(
        !image
            .blobs
            .iter()
            .any(|blob| blob.digest == digest(b"layer of arm64"))
    );
}

#[test]
fn archives_without_a_usable_image_are_rejected_with_a_hint() {
    let two = json!([{ "Config": "a", "RepoTags": ["web:1"] }, { "Config": "b", "RepoTags": ["web:2"] }]);
    let empty_layout = json!({ "schemaVersion": 2, "manifests": [] }).to_string();
    let (one, other) = (digest(b"1"), digest(b"2"));
    let descriptor = |digest: &str| json!({ "mediaType": "text/plain", "digest": digest, "size": 1 });
    let two_of_layout = json!({ "schemaVersion": 2, "manifests": [descriptor(&one), descriptor(&other)] });
    let both = format!("the archive has 2 images: {one}, {other}");
    let unlike = json!([{ "Config": "c.json", "Layers": ["x", "y"] }]);
    let absent = json!([{ "Config": "c.json", "Layers": ["nowhere"] }]);
    let config = config("amd64", &[b"x"]);
    let mut forged = layout(&["amd64"], &[true]);
    let last = forged.len() - 2;
    forged[last].1.push(b' ');
    let table: Vec<(Vec<u8>, &str)> = vec![
        (b"#!/bin/sh\n".repeat(100), "cannot read the tar archive"),
        (b"PK".to_vec(), "cannot read the tar archive"),
        (gzip(b"x"), "the archive is compressed with gzip\ndecompress it"),
        (archive(&[("x", b"y")]), "neither `index.json` (OCI image layout)"),
        (
            archive(&[("manifest.json", b"{")]),
            "invalid JSON in `manifest.json`",
        ),
        (archive(&[("manifest.json", b"[]")]), "lists no image"),
        (
            archive(&[("manifest.json", two.to_string().as_bytes())]),
            "the archive has 2 images: web:1, web:2\nsave each image",
        ),
        (
            archive(&[("index.json", b"{}")]),
            "invalid JSON in `index.json`: missing field `schemaVersion`",
        ),
        (
            archive(&[("index.json", empty_layout.as_bytes())]),
            "`index.json` lists no image",
        ),
        (
            archive(&[("index.json", two_of_layout.to_string().as_bytes())]),
            &both,
        ),
        (
            archive(&[
                ("manifest.json", unlike.to_string().as_bytes()),
                ("c.json", &config),
            ]),
            "the image has 2 layers, but its configuration lists 1",
        ),
        (
            archive(&[
                ("manifest.json", absent.to_string().as_bytes()),
                ("c.json", &config),
            ]),
            "`nowhere` is missing",
        ),
        (packed(&forged), "does not match its digest"),
        (
            packed(&layout(&["amd64"], &[false])),
            "is missing\ncreate one with `docker save",
        ),
        (
            saved("arm64"),
            "the image is for linux/arm64, but nodes run on linux/amd64\nbuild or pull the image with `--platform linux/amd64`",
        ),
        (
            packed(&layout(&["arm64", "s390x"], &[true, true])),
            "the image is for linux/arm64, linux/s390x, but",
        ),
        (saved("amd64")[..1024].to_vec(), "neither"),
        (
            saved("amd64")[..514].to_vec(),
            "the archive is truncated in `a/layer.tar`",
        ),
    ];
    for (bytes, message) in table {
        let error = read(&bytes).expect_err(message);
        assert!(error.contains(message), "{message}:\n{error}");
    }
}

#[test]
fn link_loops_have_no_target() {
    let bytes = archive(&[("index.json", b"->b"), ("b", b"->index.json")]);
    assert!(read(&bytes).unwrap_err().contains("neither"));
}

#[test]
fn every_refusal_has_a_text_and_a_hint() {
    let refusals = [
        NotAnImage::Unreadable(std::io::Error::from(std::io::ErrorKind::UnexpectedEof)),
        NotAnImage::Compressed("gzip"),
        NotAnImage::Neither,
        NotAnImage::Broken("`index.json` lists no image".to_owned()),
        NotAnImage::Several(vec!["web:1".to_owned(), "web:2".to_owned()]),
        NotAnImage::Architecture {
            has: "linux/arm64".to_owned(),
            required: Architecture::X86_64,
        },
    ];
    let reports = refusals.map(|refusal| ("", format!("{refusal}\n  hint: {}", refusal.hint())));
    insta::assert_snapshot!(crate::testing::listing(reports));
}
