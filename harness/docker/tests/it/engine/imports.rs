//! Node images that the harness did not build: imported once, completed, listed, and refused without remains.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::Arc;

use bollard::query_parameters::{ListImagesOptionsBuilder, RemoveImageOptionsBuilder};
use nodejoin_core::plan::ImagePlan;
use nodejoin_docker::{DockerError, Engine, ImageProblem, ImageRef, ImageSettings, Images};

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
