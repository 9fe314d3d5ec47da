//! Node images that the harness did not build: imported once, completed, listed, and refused without remains.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bollard::query_parameters::{ListImagesOptionsBuilder, RemoveImageOptionsBuilder};
use nodejoin_core::plan::ImagePlan;
use nodejoin_docker::{DockerError, Engine, ImageProblem, ImageRef, ImageSettings, Images};
use sha2::{Digest as _, Sha256};

use super::support::engine;

fn images(engine: &Engine) -> Images {
    let settings = ImageSettings::from_lookup(|name| std::env::var(name).ok());
    Images::new(engine.clone(), settings, Arc::new(|event| eprintln!("{event:?}")))
}

/// The smallest folder that can be a node image: an ELF program in the place of systemd, and no shell.
fn system(root: &Path) {
    fs::create_dir_all(root.join("etc")).unwrap();
    fs::create_dir_all(root.join("usr/bin")).unwrap();
    fs::create_dir_all(root.join("usr/lib/systemd")).unwrap();
    fs::write(
        root.join("etc/os-release"),
        "NAME=Tiny\nPRETTY_NAME='Tiny \"1\"'\n",
    )
    .unwrap();
    fs::copy("/bin/true", root.join("usr/lib/systemd/systemd")).unwrap();
    fs::write(root.join("usr/bin/tool"), "abc").unwrap();
    fs::set_permissions(root.join("usr/bin/tool"), fs::Permissions::from_mode(0o750)).unwrap();
    symlink("usr/bin", root.join("bin")).unwrap();
}

async fn remove(engine: &Engine, image: &str) {
    let options = RemoveImageOptionsBuilder::new().force(true).build();
    engine
        .docker()
        .remove_image(image, Some(options), None)
        .await
        .unwrap();
}

/// Names of all images with a text in them.
async fn named(engine: &Engine, text: &str) -> Vec<String> {
    let options = ListImagesOptionsBuilder::new().build();
    let all = engine.docker().list_images(Some(options)).await.unwrap();
    let names = all.into_iter().flat_map(|image| image.repo_tags);
    names.filter(|name| name.contains(text)).collect()
}

async fn is_current(images: &Images, image: &ImageRef) -> bool {
    let listed = images.list().await.unwrap();
    listed
        .iter()
        .find(|listed| listed.name == image.name)
        .unwrap()
        .is_current
}

#[tokio::test(flavor = "multi_thread")]
async fn a_root_file_system_is_imported_once_and_stale_when_it_changes() {
    let engine = engine().await;
    let images = images(&engine);
    let folder = tempfile::Builder::new()
        .prefix("nodejoin-tiny")
        .tempdir()
        .unwrap();
    let root = folder.path().join("tinysystem");
    system(&root);
    let imported = images.import(&root).await.unwrap();
    let facts = imported.facts.clone().unwrap();
    assert_eq!(
        facts.summary(),
        "Tiny \"1\", no cloud-init, no kubelet, no container runtime, no AWS CLI"
    );
    assert_eq!(facts.init.as_deref(), Some("/usr/lib/systemd/systemd"));
    // Without a kubelet it gets that of the harness.
    assert_eq!(imported.kubernetes, images.kubernetes().await.unwrap().kubernetes);
    // A kubelet is larger than everything else in the image.
    let size = engine.docker().inspect_image(&imported.name).await.unwrap().size;
    assert!(size.is_some_and(|bytes| bytes > 80_000_000), "{size:?}");
    let tool = engine.read_image_file(&imported.name, "/opt/nodejoin/toolbox/bin/base64", "/bin/tool");
    assert_eq!(tool.await.unwrap(), b"abc");
    assert_eq!(images.import(&root).await.unwrap(), imported);
    assert!(is_current(&images, &imported).await);

    // An image of the engine, which lacks a kubelet and everything else, too.
    let own = engine.docker();
    let tag = bollard::query_parameters::TagImageOptions {
        repo: Some("nodejoin-test-ami".to_owned()),
        tag: Some("1".to_owned()),
    };
    own.tag_image(&imported.name, Some(tag)).await.unwrap();
    let of_engine = images
        .of_plan(&ImagePlan::named("nodejoin-test-ami:1"))
        .await
        .unwrap();
    assert!(
        of_engine.name.starts_with("nodejoin/import-nodejoin-test-ami:"),
        "{of_engine:?}"
    );
    assert!(is_current(&images, &of_engine).await);

    fs::write(root.join("usr/bin/tool"), "changed").unwrap();
    assert!(!is_current(&images, &imported).await);
    remove(&engine, &of_engine.name).await;
    remove(&engine, "nodejoin-test-ami:1").await;
    for name in named(&engine, "nodejoin/import-tinysystem").await {
        remove(&engine, &name).await;
    }
}

/// The system as an archive in each compression, and as an OCI image layout.
fn forms(root: &Path, folder: &Path) -> Vec<PathBuf> {
    let mut archive = tar::Builder::new(Vec::new());
    archive.follow_symlinks(false);
    archive.append_dir_all(".", root).unwrap();
    let plain = archive.into_inner().unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).unwrap();
    let gzip = gzip.finish().unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
    xz.write_all(&plain).unwrap();
    layout(&folder.join("layout"), &gzip, &plain);
    let files = [
        ("tar", plain.clone()),
        ("tar.gz", gzip),
        ("tar.xz", xz.finish().unwrap()),
        ("tar.zst", zstd::encode_all(plain.as_slice(), 1).unwrap()),
    ];
    let mut paths = vec![root.to_owned(), folder.join("layout")];
    for (extension, bytes) in files {
        let path = folder.join(format!("formsofasystem.{extension}"));
        fs::write(&path, bytes).unwrap();
        paths.push(path);
    }
    paths
}

/// Writes an OCI image layout with one layer.
fn layout(folder: &Path, layer: &[u8], uncompressed: &[u8]) {
    fs::create_dir_all(folder.join("blobs/sha256")).unwrap();
    let digest = |bytes: &[u8]| hex::encode(Sha256::digest(bytes));
    let blob = |kind: &str, bytes: &[u8]| {
        fs::write(folder.join("blobs/sha256").join(digest(bytes)), bytes).unwrap();
        serde_json::json!({
            "mediaType": format!("application/vnd.oci.image.{kind}"), "digest": format!("sha256:{}", digest(bytes)), "size": bytes.len(),
        })
    };
    let architecture = if cfg!(target_arch = "aarch64") {
        "arm64"
    } else {
        "amd64"
    };
    let config = serde_json::json!({
        "architecture": architecture, "os": "linux",
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", digest(uncompressed))] },
    });
    let manifest = serde_json::json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": blob("config.v1+json", config.to_string().as_bytes()),
        "layers": [blob("layer.v1.tar+gzip", layer)],
    });
    let index = serde_json::json!({
        "schemaVersion": 2, "manifests": [blob("manifest.v1+json", manifest.to_string().as_bytes())],
    });
    fs::write(folder.join("index.json"), index.to_string()).unwrap();
    fs::write(folder.join("oci-layout"), r#"{ "imageLayoutVersion": "1.0.0" }"#).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_form_of_a_root_file_system_is_the_same_system() {
    let engine = engine().await;
    let images = images(&engine);
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("formsofasystem");
    system(&root);
    // A file that the engine must not take for one of its own, and a name beyond the 100 characters of old archives.
    let long = format!("etc/{}", "x".repeat(120));
    File::create(root.join(&long))
        .unwrap()
        .write_all(b"long")
        .unwrap();
    let mut names = Vec::new();
    for form in forms(&root, folder.path()) {
        let imported = images.import(&form).await.unwrap();
        let facts = imported.facts.clone().unwrap();
        let expected = "Tiny \"1\", no cloud-init, no kubelet, no container runtime, no AWS CLI";
        assert_eq!(facts.summary(), expected, "{form:?}");
        for (path, expected) in [("/bin/tool", "abc"), (&format!("/{long}"), "long")] {
            let read = engine.read_image_file(&imported.name, "/opt/nodejoin/toolbox/bin/base64", path);
            assert_eq!(read.await.unwrap(), expected.as_bytes(), "{path} of {form:?}");
        }
        names.push(imported.name);
    }
    // Archives with equal content are one image, however they are compressed.
    assert_eq!(
        names[2..].iter().collect::<std::collections::BTreeSet<_>>().len(),
        1,
        "{names:?}"
    );
    for text in ["nodejoin/import-formsofasystem", "nodejoin/import-layout"] {
        for name in named(&engine, text).await {
            remove(&engine, &name).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_image_leaves_nothing_behind() {
    let engine = engine().await;
    let images = images(&engine);
    let folder = tempfile::tempdir().unwrap();
    // Another processor is found only in the engine: the image is removed again.
    let root = folder.path().join("otherprocessor");
    system(&root);
    let init = root.join("usr/lib/systemd/systemd");
    let mut elf = fs::read(&init).unwrap();
    elf[18] = 0x16;
    fs::write(&init, elf).unwrap();
    let error = images.import(&root).await.unwrap_err();
    let is_expected = matches!(
        &error,
        DockerError::NodeImage {
            problem: ImageProblem::Architecture { .. },
            ..
        }
    );
    assert!(is_expected, "{error:?}");
    assert_eq!(named(&engine, "otherprocessor").await, Vec::<String>::new());
    let missing = images
        .of_plan(&ImagePlan::named("nodejoin-test-missing:1"))
        .await
        .unwrap_err();
    assert!(missing.hint().unwrap().contains("docker images"), "{missing:?}");
}
