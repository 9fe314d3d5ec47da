//! Where the Kubernetes programs come from: a folder, and releases on a loopback server of the official layout.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod common;

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bollard::query_parameters::RemoveImageOptions;
use common::engine;
use nodejoin_docker::{Assets, DockerError, Engine, ImageSettings, Images};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

const PROGRAMS: [&str; 5] = [
    "kube-apiserver",
    "kube-controller-manager",
    "kubelet",
    "kubeadm",
    "kubectl",
];

fn images(engine: &Engine, settings: &ImageSettings) -> Images {
    Images::new(
        engine.clone(),
        settings.clone(),
        Arc::new(|event| eprintln!("{event:?}")),
    )
}

/// A program that says this version, and whose content is no other test's.
fn program(version: &str) -> Vec<u8> {
    format!("#!/bin/sh\necho Kubernetes {version}\n# {:?}\n", common::run_id()).into_bytes()
}

async fn remove(engine: &Engine, image: &str) {
    engine
        .docker()
        .remove_image(image, None::<RemoveImageOptions>, None)
        .await
        .unwrap();
}

/// Answers GET requests from a table; everything else is a 404. A location redirects.
async fn serve(files: HashMap<String, Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).await.unwrap_or_default();
            let request = String::from_utf8_lossy(&request[..length]).into_owned();
            let path = request.split_whitespace().nth(1).unwrap_or_default();
            let direct = path.strip_prefix("/cdn").unwrap_or(path);
            let answer = match files.get(direct) {
                // The official address sends everybody to its CDN.
                Some(_) if direct == path => format!("HTTP/1.1 302 Found\r\nlocation: /cdn{path}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").into_bytes(),
                Some(body) => {
                    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
                    [head.as_bytes(), body].concat()
                }
                None => b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec(),
            };
            let _ = stream.write_all(&answer).await;
        }
    });
    format!("http://{address}")
}

/// A release as it is published, for this machine's architecture.
fn release(version: &str) -> HashMap<String, Vec<u8>> {
    let architecture = if cfg!(target_arch = "aarch64") {
        "arm64"
    } else {
        "amd64"
    };
    let mut files = HashMap::new();
    for name in PROGRAMS.into_iter().chain(["kube-scheduler"]) {
        let path = format!("/release/{version}/bin/linux/{architecture}/{name}");
        let content = program(version);
        files.insert(
            format!("{path}.sha256"),
            hex::encode(Sha256::digest(&content)).into_bytes(),
        );
        files.insert(path, content);
    }
    files
}

fn settings(cache: &Path, url: &str, version: &str) -> ImageSettings {
    ImageSettings {
        release_url: url.to_owned(),
        kubernetes: Some(version.to_owned()),
        connect_limit: Duration::from_secs(2),
        ..ImageSettings::with_cache(cache)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_downloaded_once_and_becomes_an_image() {
    let (engine, cache) = (engine().await, tempfile::tempdir().unwrap());
    let url = serve(release("v1.99.1")).await;
    let images = images(&engine, &settings(cache.path(), &url, "1.99.1"));
    let made = images.kubernetes().await.unwrap();
    assert_eq!(made.kubernetes, "v1.99.1");
    let begun = Instant::now();
    assert_eq!(images.kubernetes().await.unwrap(), made);
    assert!(
        begun.elapsed() < Duration::from_millis(200),
        "{:?}",
        begun.elapsed()
    );
    remove(&engine, &made.name).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_minor_version_is_the_newest_release_that_the_server_tells_and_stays_it_without_the_server() {
    let (engine, cache) = (engine().await, tempfile::tempdir().unwrap());
    let mut files = release("v1.97.4");
    files.insert("/release/stable-1.97.txt".to_owned(), b"v1.97.4\n".to_vec());
    let url = serve(files).await;
    let made = images(&engine, &settings(cache.path(), &url, "1.97"))
        .kubernetes()
        .await
        .unwrap();
    assert_eq!(made.kubernetes, "v1.97.4");
    let nowhere = "http://127.0.0.1:9";
    let again = images(&engine, &settings(cache.path(), nowhere, "1.97"));
    assert_eq!(again.kubernetes().await.unwrap(), made, "its image is there");
    remove(&engine, &made.name).await;
    assert_eq!(
        again.kubernetes().await.unwrap(),
        made,
        "its programs were downloaded"
    );
    remove(&engine, &made.name).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_of_folders_has_each_version_that_is_asked_for_and_every_way_to_another_is_told() {
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
    let wanted = images.with_kubernetes(Some(&"1.95".parse().unwrap()));
    let older = wanted.kubernetes().await.unwrap();
    assert_eq!(older.kubernetes, "v1.95.3");
    for image in [newest, older] {
        remove(&engine, &image.name).await;
    }
    let none = images.with_kubernetes(Some(&"1.94".parse().unwrap()));
    let error = none.kubernetes().await.unwrap_err();
    let told = error.to_string();
    assert!(told.starts_with("Kubernetes 1.94 cannot be had: "), "{told}");
    for way in [
        "named by NODEJOIN_ASSETS, has v1.96.1, v1.95.3",
        "Debian's source package is v1.20.2",
        "stable-1.94.txt",
    ] {
        assert!(told.contains(way), "{told}");
    }
    assert!(error.hint().unwrap().contains("NODEJOIN_RELEASE_URL"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_not_the_published_one_is_refused() {
    let (engine, cache) = (engine().await, tempfile::tempdir().unwrap());
    let mut files = release("v1.99.2");
    let changed = files
        .iter_mut()
        .find(|(path, _)| path.ends_with("/kubelet"))
        .unwrap();
    changed.1.extend_from_slice(b"# changed on the way\n");
    let url = serve(files).await;
    let error = images(&engine, &settings(cache.path(), &url, "v1.99.2"))
        .kubernetes()
        .await
        .unwrap_err();
    assert!(
        matches!(&error, DockerError::Checksum { url, .. } if url.ends_with("/kubelet")),
        "{error}"
    );
    let kept = walk(cache.path())
        .into_iter()
        .filter(|path| path.contains("kubelet"))
        .collect::<Vec<_>>();
    assert_eq!(kept, Vec::<String>::new(), "nothing of it stays in the cache");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_was_never_released_is_said_with_its_address() {
    let (engine, cache) = (engine().await, tempfile::tempdir().unwrap());
    let url = serve(HashMap::new()).await;
    let error = images(&engine, &settings(cache.path(), &url, "v1.99.3"))
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
async fn a_server_that_does_not_answer_is_given_up_soon() {
    let (engine, cache) = (engine().await, tempfile::tempdir().unwrap());
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let begun = Instant::now();
    let error = images(&engine, &settings(cache.path(), &url, "v1.99.4"))
        .kubernetes()
        .await
        .unwrap_err();
    assert!(matches!(error, DockerError::NoKubernetes { .. }), "{error}");
    assert!(error.to_string().contains("no answer within 4 s"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_of_programs_becomes_an_image_and_must_be_whole() {
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
            .ends_with("named by KUBEBUILDER_ASSETS, has no kubelet"),
        "{error}"
    );

    let kubelet = folder.path().join("kubelet");
    std::fs::write(&kubelet, program("v1.98.7")).unwrap();
    std::fs::set_permissions(&kubelet, std::fs::Permissions::from_mode(0o755)).unwrap();
    let made = images.kubernetes().await.unwrap();
    assert_eq!(made.kubernetes, "v1.98.7");
    assert_eq!(images.kubernetes().await.unwrap(), made);
    // Another content is another image.
    std::fs::write(folder.path().join("kubectl"), program("v1.98.7")).unwrap();
    let other = images.kubernetes().await.unwrap();
    assert_ne!(other.name, made.name);
    // A scheduler may lie beside them, and is then in the image too.
    std::fs::write(folder.path().join("kube-scheduler"), program("v1.98.7")).unwrap();
    let scheduling = images.kubernetes().await.unwrap();
    assert_ne!(scheduling.name, other.name);
    for image in [made, other, scheduling] {
        remove(&engine, &image.name).await;
    }
}

fn walk(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let paths = entries.flat_map(|path| {
        if path.is_dir() {
            walk(&path)
        } else {
            vec![path.display().to_string()]
        }
    });
    paths.filter(|path| path.contains("/releases/")).collect()
}
