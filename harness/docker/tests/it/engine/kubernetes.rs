//! Images with the Kubernetes programs, from a folder and from releases of a loopback server.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bollard::query_parameters::RemoveImageOptions;
use nodejoin_docker::{Assets, Engine, ImageSettings, Images};

use super::support::engine;
use crate::loopback::release_server::{PROGRAMS, ReleaseServer, program, release};

fn images(engine: &Engine, settings: &ImageSettings) -> Images {
    Images::new(
        engine.clone(),
        settings.clone(),
        Arc::new(|event| eprintln!("{event:?}")),
    )
}

async fn remove(engine: &Engine, image: &str) {
    engine
        .docker()
        .remove_image(image, None::<RemoveImageOptions>, None)
        .await
        .unwrap();
}

fn settings(cache: &Path, url: &str, version: &str) -> ImageSettings {
    ImageSettings {
        release_url: url.to_owned(),
        kubernetes: Some(version.to_owned()),
        connect_timeout: Duration::from_secs(2),
        ..ImageSettings::with_cache(cache)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_downloaded_once_and_becomes_an_image() {
    let (engine, cache) = (engine().await, tempfile::tempdir().unwrap());
    let server = ReleaseServer::start(release("v1.99.1")).await;
    let images = images(&engine, &settings(cache.path(), &server.url, "1.99.1"));
    let created = images.kubernetes().await.unwrap();
    assert_eq!(created.kubernetes, "v1.99.1");
    let requests = server.requests();
    assert_eq!(images.kubernetes().await.unwrap(), created);
    assert_eq!(server.requests(), requests, "nothing is downloaded again");
    remove(&engine, &created.name).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_minor_version_selects_the_newest_release_and_works_offline_afterwards() {
    let (engine, cache) = (engine().await, tempfile::tempdir().unwrap());
    let mut files = release("v1.97.4");
    files.insert("/release/stable-1.97.txt".to_owned(), b"v1.97.4\n".to_vec());
    let server = ReleaseServer::start(files).await;
    let created = images(&engine, &settings(cache.path(), &server.url, "1.97"))
        .kubernetes()
        .await
        .unwrap();
    assert_eq!(created.kubernetes, "v1.97.4");
    let nowhere = "http://127.0.0.1:9";
    let again = images(&engine, &settings(cache.path(), nowhere, "1.97"));
    assert_eq!(again.kubernetes().await.unwrap(), created, "its image exists");
    remove(&engine, &created.name).await;
    assert_eq!(
        again.kubernetes().await.unwrap(),
        created,
        "its programs were downloaded"
    );
    remove(&engine, &created.name).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_with_several_versions_provides_each_and_a_missing_version_lists_all_sources() {
    let (engine, cache, folder) = (
        engine().await,
        tempfile::tempdir().unwrap(),
        tempfile::tempdir().unwrap(),
    );
    for version in ["v1.95.3", "v1.96.1"] {
        let own = folder.path().join(version);
        std::fs::create_dir(&own).unwrap();
        for name in PROGRAMS {
            std::fs::write(own.join(name), program(version)).unwrap();
            std::fs::set_permissions(own.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    let assets = Assets {
        folder: folder.path().to_owned(),
        named_by: "NODEJOIN_ASSETS".to_owned(),
    };
    let settings = ImageSettings {
        assets: Some(assets),
        release_url: "http://127.0.0.1:9".to_owned(),
        ..ImageSettings::with_cache(cache.path())
    };
    let images = images(&engine, &settings);
    let newest = images.kubernetes().await.unwrap();
    assert_eq!(newest.kubernetes, "v1.96.1");
    let requested = images.with_kubernetes(Some(&"1.95".parse().unwrap()));
    let older = requested.kubernetes().await.unwrap();
    assert_eq!(older.kubernetes, "v1.95.3");
    for image in [newest, older] {
        remove(&engine, &image.name).await;
    }
    let none = images.with_kubernetes(Some(&"1.94".parse().unwrap()));
    let error = none.kubernetes().await.unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("Kubernetes 1.94 is not available: "), "{text}");
    for way in [
        "set by NODEJOIN_ASSETS, contains v1.96.1, v1.95.3",
        "Debian's source package is v1.20.2",
        "stable-1.94.txt",
    ] {
        assert!(text.contains(way), "{text}");
    }
    assert!(error.hint().unwrap().contains("NODEJOIN_RELEASE_URL"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreleased_version_is_reported_with_its_url_and_a_hint() {
    let (engine, cache) = (engine().await, tempfile::tempdir().unwrap());
    let server = ReleaseServer::start(HashMap::new()).await;
    let error = images(&engine, &settings(cache.path(), &server.url, "v1.99.3"))
        .kubernetes()
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("/release/v1.99.3/bin/linux/"),
        "{error}"
    );
    assert!(error.to_string().contains("404"), "{error}");
    assert!(error.hint().unwrap().contains("NODEJOIN_ASSETS"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_complete_folder_of_programs_becomes_an_image() {
    let (engine, cache, folder) = (
        engine().await,
        tempfile::tempdir().unwrap(),
        tempfile::tempdir().unwrap(),
    );
    let assets = Assets {
        folder: folder.path().to_owned(),
        named_by: "KUBEBUILDER_ASSETS".to_owned(),
    };
    let settings = ImageSettings {
        assets: Some(assets),
        ..ImageSettings::with_cache(cache.path())
    };
    for name in PROGRAMS.into_iter().filter(|name| *name != "kubelet") {
        std::fs::write(folder.path().join(name), program("v1.98.7")).unwrap();
    }
    let images = images(&engine, &settings);
    let error = images.kubernetes().await.unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("set by KUBEBUILDER_ASSETS, lacks kubelet"),
        "{error}"
    );

    let kubelet = folder.path().join("kubelet");
    std::fs::write(&kubelet, program("v1.98.7")).unwrap();
    std::fs::set_permissions(&kubelet, std::fs::Permissions::from_mode(0o755)).unwrap();
    let created = images.kubernetes().await.unwrap();
    assert_eq!(created.kubernetes, "v1.98.7");
    assert_eq!(images.kubernetes().await.unwrap(), created);
    // Another content yields another image.
    std::fs::write(folder.path().join("kubectl"), program("v1.98.7")).unwrap();
    let other = images.kubernetes().await.unwrap();
    assert_ne!(other.name, created.name);
    // An optional scheduler is part of the image.
    std::fs::write(folder.path().join("kube-scheduler"), program("v1.98.7")).unwrap();
    let scheduling = images.kubernetes().await.unwrap();
    assert_ne!(scheduling.name, other.name);
    for image in [created, other, scheduling] {
        remove(&engine, &image.name).await;
    }
}
