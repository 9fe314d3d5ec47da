//! Official releases of Kubernetes, downloaded with their published checksums.
//!
//! ```text
//! <base>/release/<version>/bin/linux/<architecture>/<program>
//! <base>/release/<version>/bin/linux/<architecture>/<program>.sha256
//! <base>/release/stable-<minor>.txt                               the newest version of a minor one
//! ```

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::{Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use nodejoin_core::kubernetes::{Minor, Version};
use nodejoin_core::run::time_factor::TimeFactor;
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use crate::error::DockerError;
use crate::images::programs::{PROGRAMS, SCHEDULER};
use crate::settings::ImageSettings;

/// How long a download may be silent.
const IDLE: Duration = Duration::from_secs(60);
/// How often a server may send us elsewhere.
const REDIRECTS: usize = 5;

/// A release for one architecture, on a server.
pub(crate) struct Release {
    base: String,
    version: String,
    architecture: String,
    cache: PathBuf,
    connect_limit: Duration,
    /// How long a download may be silent.
    idle_limit: Duration,
    client: Client<HttpsConnector<HttpConnector>, Empty<Bytes>>,
}

impl Release {
    /// The release of a version, for an architecture as Go names it.
    pub(crate) fn of(
        settings: &ImageSettings,
        version: &str,
        architecture: &str,
        factor: TimeFactor,
    ) -> Self {
        let connect_limit = factor.limit(settings.connect_limit);
        let mut http = HttpConnector::new();
        http.set_connect_timeout(Some(connect_limit));
        http.enforce_http(false);
        // Named, not left to the process: it may have no default provider yet.
        let connector = HttpsConnectorBuilder::new()
            .with_provider_and_webpki_roots(rustls::crypto::ring::default_provider())
            .expect("ring has cipher suites for the default versions of TLS")
            .https_or_http()
            .enable_http1()
            .wrap_connector(http);
        Self {
            base: settings.release_url.clone(),
            version: version.to_owned(),
            architecture: architecture.to_owned(),
            cache: settings.cache.clone(),
            connect_limit,
            idle_limit: factor.limit(IDLE),
            client: Client::builder(TokioExecutor::new()).build(connector),
        }
    }

    /// Downloads what is not in the cache yet; `step` is told of each download.
    pub(crate) async fn fetch(&self, step: impl Fn(&str)) -> Result<Vec<(String, PathBuf)>, DockerError> {
        let folder = self
            .cache
            .join("releases")
            .join(&self.version)
            .join(&self.architecture);
        std::fs::create_dir_all(&folder).map_err(DockerError::io("make folder", &folder))?;
        let mut files = Vec::new();
        for program in PROGRAMS.into_iter().chain([SCHEDULER]) {
            let file = folder.join(program);
            // Only a file whose checksum was right is ever given this name.
            if !file.is_file() {
                step(&format!("download {program} {} from {}", self.version, self.base));
                self.fetch_one(program, &file).await?;
            }
            files.push((program.to_owned(), file));
        }
        Ok(files)
    }

    /// Whether the server has this release and answers in time.
    pub(crate) async fn is_reachable(&self) -> bool {
        self.published_sum("kubelet").await.is_ok()
    }

    /// The newest release of a minor version.
    pub(crate) async fn stable(&self, minor: Minor) -> Result<Version, DockerError> {
        let url = format!("{}/release/stable-{minor}.txt", self.base);
        let text = self.text(&url).await?;
        let version = text
            .trim()
            .parse()
            .ok()
            .filter(|it: &Version| it.minor() == minor);
        version.ok_or_else(|| DockerError::Download {
            url,
            reason: format!("it names no release of {minor}"),
        })
    }

    async fn fetch_one(&self, program: &str, file: &Path) -> Result<(), DockerError> {
        let expected = self.published_sum(program).await?;
        let url = self.url(program);
        let part = file.with_extension(format!("part-{}", std::process::id()));
        let seen = match self.download(&url, &part).await {
            Ok(seen) => seen,
            Err(error) => {
                let _ = std::fs::remove_file(&part);
                return Err(error);
            }
        };
        if seen != expected {
            let _ = std::fs::remove_file(&part);
            return Err(DockerError::Checksum { url, expected, seen });
        }
        make_executable(&part).map_err(DockerError::io("make executable", &part))?;
        std::fs::rename(&part, file).map_err(DockerError::io("rename", &part))
    }

    /// The checksum that stands beside a program.
    async fn published_sum(&self, program: &str) -> Result<String, DockerError> {
        let url = format!("{}.sha256", self.url(program));
        let text = self.text(&url).await?;
        // Some releases publish the sum alone, some with the file's name behind it.
        let sum = text.split_whitespace().next().unwrap_or_default().to_lowercase();
        if sum.len() != 64 || !sum.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let reason = "it is no SHA-256 sum".to_owned();
            return Err(DockerError::Download { url, reason });
        }
        Ok(sum)
    }

    /// A file of a line or two.
    async fn text(&self, url: &str) -> Result<String, DockerError> {
        let body = self.get(url).await?.into_body();
        let failed = |reason: String| DockerError::Download {
            url: url.to_owned(),
            reason,
        };
        let text = timeout(self.idle_limit, body.collect())
            .await
            .map_err(|_| failed(format!("silent for {} s", self.idle_limit.as_secs())))?;
        let text = text.map_err(|error| failed(error.to_string()))?.to_bytes();
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    async fn download(&self, url: &str, to: &Path) -> Result<String, DockerError> {
        let failed = |reason: String| DockerError::Download {
            url: url.to_owned(),
            reason,
        };
        let mut body = self.get(url).await?.into_body();
        let mut file = tokio::fs::File::create(to)
            .await
            .map_err(DockerError::io("write", to))?;
        let mut sum = Sha256::new();
        loop {
            let frame = timeout(self.idle_limit, body.frame())
                .await
                .map_err(|_| failed(format!("silent for {} s", self.idle_limit.as_secs())))?;
            let Some(frame) = frame else { break };
            if let Ok(piece) = frame.map_err(|error| failed(error.to_string()))?.into_data() {
                sum.update(&piece);
                file.write_all(&piece)
                    .await
                    .map_err(DockerError::io("write", to))?;
            }
        }
        file.flush().await.map_err(DockerError::io("write", to))?;
        Ok(hex::encode(sum.finalize()))
    }

    async fn get(&self, url: &str) -> Result<Response<Incoming>, DockerError> {
        let failed = |reason: String| DockerError::Download {
            url: url.to_owned(),
            reason,
        };
        let mut uri: Uri = url
            .parse()
            .map_err(|error: hyper::http::uri::InvalidUri| failed(error.to_string()))?;
        for _ in 0..REDIRECTS {
            let answer = timeout(self.connect_limit * 2, self.client.get(uri.clone())).await;
            let answer = answer
                .map_err(|_| failed(format!("no answer within {} s", self.connect_limit.as_secs() * 2)))?;
            let answer = answer.map_err(|error| failed(nodejoin_core::run::error_chain::chain(&error)))?;
            if !answer.status().is_redirection() {
                return if answer.status().is_success() {
                    Ok(answer)
                } else {
                    Err(failed(answer.status().to_string()))
                };
            }
            uri = redirect(&uri, &answer).ok_or_else(|| failed("it redirects to nowhere".to_owned()))?;
        }
        Err(failed(format!("more than {REDIRECTS} redirects")))
    }

    fn url(&self, program: &str) -> String {
        format!(
            "{}/release/{}/bin/linux/{}/{program}",
            self.base, self.version, self.architecture
        )
    }
}

/// Where an answer sends us; a path alone is on the same server. From https nobody sends us to http.
fn redirect(from: &Uri, answer: &Response<Incoming>) -> Option<Uri> {
    let to: Uri = answer.headers().get("location")?.to_str().ok()?.parse().ok()?;
    let mut parts = to.into_parts();
    parts.scheme = parts.scheme.or_else(|| from.scheme().cloned());
    parts.authority = parts.authority.or_else(|| from.authority().cloned());
    let to = Uri::from_parts(parts).ok()?;
    let weaker = from.scheme_str() == Some("https") && to.scheme_str() != Some("https");
    (!weaker).then_some(to)
}

/// The releases in a cache that are whole for an architecture.
pub(crate) fn downloaded(cache: &Path, architecture: &str) -> Vec<Version> {
    let folders = std::fs::read_dir(cache.join("releases"));
    let folders = folders.into_iter().flatten().flatten().map(|entry| entry.path());
    let is_whole = |folder: &PathBuf| {
        let has = |program: &&str| folder.join(architecture).join(program).is_file();
        PROGRAMS.iter().all(has)
    };
    let whole = folders.filter(is_whole);
    whole
        .filter_map(|folder| folder.file_name()?.to_str()?.parse().ok())
        .collect()
}

#[cfg(unix)]
fn make_executable(file: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use nodejoin_core::plan::architecture::Architecture;

    use super::*;

    #[test]
    fn a_release_is_that_of_the_engines_processor() {
        let wanted = [
            "https://dl.k8s.io/release/v1.29.4/bin/linux/amd64/kubelet",
            "https://dl.k8s.io/release/v1.29.4/bin/linux/arm64/kubelet",
        ];
        for (architecture, wanted) in Architecture::ALL.into_iter().zip(wanted) {
            let settings = ImageSettings::with_cache("/cache");
            let release = Release::of(&settings, "v1.29.4", architecture.go(), TimeFactor::ONE);
            assert_eq!(release.url("kubelet"), wanted);
        }
    }

    #[test]
    fn the_patience_with_servers_is_multiplied_too() {
        let settings = ImageSettings::with_cache("/cache");
        let release = Release::of(&settings, "v1.29.4", "amd64", "3".parse().unwrap());
        assert_eq!(release.idle_limit, IDLE * 3);
        assert_eq!(release.connect_limit, settings.connect_limit * 3);
    }
}
