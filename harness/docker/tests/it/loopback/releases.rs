//! Downloads of Kubernetes releases: proxies, checksums, redirects and timeouts.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_docker::{DockerError, ImageSettings, KubernetesRelease};
use tokio::net::TcpListener;

use super::release_server::{ReleaseServer, architecture, release};

/// Port 9 is reserved for the discard service, which nothing offers: the connection is refused immediately.
const CLOSED: &str = "http://127.0.0.1:9";
/// The top-level domain `invalid` has no hosts, so only a proxy can serve it.
const BEHIND_PROXY: &str = "http://releases.invalid";

fn settings(cache: &Path, release_url: &str, proxies: &[(&str, &str)]) -> ImageSettings {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    ImageSettings {
        release_url: release_url.to_owned(),
        connect_timeout: Duration::from_secs(2),
        proxies: proxies.iter().map(owned).collect(),
        ..ImageSettings::with_cache(cache)
    }
}

async fn fetch(settings: &ImageSettings, version: &str) -> Result<usize, DockerError> {
    let release = KubernetesRelease::new(settings, version, architecture(), TimeFactor::ONE)?;
    Ok(release.fetch(|_| (), |_| ()).await?.len())
}

fn files_below(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries
        .map(|entry| entry.path())
        .flat_map(|path| match path.is_dir() {
            true => files_below(&path),
            false => vec![path.display().to_string()],
        });
    files.collect()
}

#[tokio::test]
async fn a_release_is_downloaded_once_through_redirects() {
    let cache = tempfile::tempdir().unwrap();
    let server = ReleaseServer::start(release("v1.99.1")).await;
    let settings = settings(cache.path(), &server.url, &[]);
    assert_eq!(fetch(&settings, "v1.99.1").await.unwrap(), 6);
    let requests = server.requests();
    assert!(
        requests.iter().any(|line| line.contains("/cdn/release/")),
        "{requests:?}"
    );
    assert_eq!(fetch(&settings, "v1.99.1").await.unwrap(), 6);
    assert_eq!(server.requests(), requests, "nothing is downloaded a second time");
}

#[tokio::test]
async fn a_download_reports_its_bytes() {
    let cache = tempfile::tempdir().unwrap();
    let server = ReleaseServer::start(release("v1.99.1")).await;
    let settings = settings(cache.path(), &server.url, &[]);
    let release = KubernetesRelease::new(&settings, "v1.99.1", architecture(), TimeFactor::ONE).unwrap();
    let reports = std::sync::Mutex::new(Vec::new());
    let files = release.fetch(|_| (), |progress| reports.lock().unwrap().push(progress));
    for (name, path) in files.await.unwrap() {
        let size = std::fs::metadata(path).unwrap().len();
        let reports = reports.lock().unwrap();
        let last = reports.iter().rfind(|progress| progress.file == name).unwrap();
        assert_eq!((last.bytes, last.total), (size, Some(size)), "{name}");
    }
}

#[tokio::test]
async fn downloads_use_the_proxy_of_each_variable_for_http() {
    for variable in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        let cache = tempfile::tempdir().unwrap();
        let proxy = ReleaseServer::start(release("v1.99.1")).await;
        let settings = settings(cache.path(), BEHIND_PROXY, &[(variable, &proxy.url)]);
        assert_eq!(fetch(&settings, "v1.99.1").await.unwrap(), 6, "{variable}");
        let requests = proxy.requests();
        let is_proxied = |line: &String| line.starts_with(&format!("GET {BEHIND_PROXY}/"));
        assert!(requests.iter().all(is_proxied), "{variable}: {requests:?}");
    }
}

#[tokio::test]
async fn downloads_over_https_open_a_tunnel_through_the_proxy() {
    let cache = tempfile::tempdir().unwrap();
    let proxy = ReleaseServer::start(HashMap::new()).await;
    let settings = settings(
        cache.path(),
        "https://releases.invalid",
        &[("HTTPS_PROXY", &proxy.url)],
    );
    let error = fetch(&settings, "v1.99.1").await.unwrap_err();
    assert!(matches!(error, DockerError::Download { .. }), "{error}");
    let requests = proxy.requests();
    let is_tunnel = |line: &String| line.starts_with("CONNECT releases.invalid:443 ");
    assert!(
        !requests.is_empty() && requests.iter().all(is_tunnel),
        "{requests:?}"
    );
}

#[tokio::test]
async fn hosts_of_no_proxy_are_downloaded_from_directly() {
    let cache = tempfile::tempdir().unwrap();
    let server = ReleaseServer::start(release("v1.99.1")).await;
    let proxied = settings(cache.path(), &server.url, &[("http_proxy", CLOSED)]);
    let error = fetch(&proxied, "v1.99.1").await.unwrap_err();
    assert!(matches!(error, DockerError::Download { .. }), "{error}");
    let direct = settings(
        cache.path(),
        &server.url,
        &[("http_proxy", CLOSED), ("NO_PROXY", "127.0.0.0/8")],
    );
    assert_eq!(fetch(&direct, "v1.99.1").await.unwrap(), 6);
}

#[tokio::test]
async fn a_program_that_does_not_match_its_checksum_is_rejected_and_removed() {
    let cache = tempfile::tempdir().unwrap();
    let mut files = release("v1.99.2");
    let changed = files
        .iter_mut()
        .find(|(path, _)| path.ends_with("/kubelet"))
        .unwrap();
    changed.1.extend_from_slice(b"# changed by a proxy\n");
    let server = ReleaseServer::start(files).await;
    let error = fetch(&settings(cache.path(), &server.url, &[]), "v1.99.2")
        .await
        .unwrap_err();
    assert!(
        matches!(&error, DockerError::Checksum { url, .. } if url.ends_with("/kubelet")),
        "{error}"
    );
    let kept: Vec<_> = files_below(cache.path())
        .into_iter()
        .filter(|path| path.contains("kubelet"))
        .collect();
    assert_eq!(kept, Vec::<String>::new());
}

#[tokio::test]
async fn an_unknown_version_is_reported_with_its_url() {
    let cache = tempfile::tempdir().unwrap();
    let server = ReleaseServer::start(HashMap::new()).await;
    let error = fetch(&settings(cache.path(), &server.url, &[]), "v1.99.3")
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("/release/v1.99.3/bin/linux/"),
        "{error}"
    );
    assert!(error.to_string().contains("404"), "{error}");
}

#[tokio::test]
async fn a_silent_server_times_out() {
    let cache = tempfile::tempdir().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let error = fetch(&settings(cache.path(), &url, &[]), "v1.99.4")
        .await
        .unwrap_err();
    assert!(error.to_string().contains("no response within 4 s"), "{error}");
}

#[tokio::test]
async fn the_newest_release_of_a_minor_version_is_named_by_the_server() {
    let cache = tempfile::tempdir().unwrap();
    let text = b"v1.97.4\n".to_vec();
    let server = ReleaseServer::start([("/release/stable-1.97.txt".to_owned(), text)].into()).await;
    let settings = settings(cache.path(), &server.url, &[]);
    let release = KubernetesRelease::new(&settings, "v1.20.2", architecture(), TimeFactor::ONE).unwrap();
    let stable = release.stable("1.97".parse().unwrap()).await.unwrap();
    assert_eq!(stable.to_string(), "v1.97.4");
}
