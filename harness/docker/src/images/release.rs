//! Official releases of Kubernetes, downloaded with their published checksums.
//!
//! ```text
//! <base URL>/release/<version>/bin/linux/<architecture>/<program>
//! <base URL>/release/<version>/bin/linux/<architecture>/<program>.sha256
//! <base URL>/release/stable-<minor>.txt                               the newest version of a minor version
//! ```

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use nodejoin_core::kubernetes::{Minor, Version};
use nodejoin_core::plan::architecture::Architecture;
use nodejoin_core::run::time_factor::TimeFactor;

use crate::error::DockerError;
use crate::images::download::{DownloadProgress, Downloader};
use crate::images::programs::{PROGRAMS, SCHEDULER};
use crate::settings::ImageSettings;

/// A release for one architecture on the release server of the settings.
#[derive(Debug, Clone)]
pub struct KubernetesRelease {
    base_url: String,
    version: String,
    architecture: Architecture,
    cache: PathBuf,
    downloader: Downloader,
}

impl KubernetesRelease {
    /// The release of a version such as `v1.32.1`.
    ///
    /// # Errors
    /// When a proxy of the settings is invalid.
    pub fn new(
        settings: &ImageSettings,
        version: &str,
        architecture: Architecture,
        factor: TimeFactor,
    ) -> Result<Self, DockerError> {
        Ok(Self {
            base_url: settings.release_url.clone(),
            version: version.to_owned(),
            architecture,
            cache: settings.cache.clone(),
            downloader: Downloader::new(settings, factor)?,
        })
    }

    /// Downloads the programs that the cache folder lacks, and returns the name and path of every program. Reports each
    /// download to `step`, and its bytes to `progress`.
    ///
    /// # Errors
    /// When a download fails, or a program does not match its published checksum.
    pub async fn fetch(
        &self,
        step: impl Fn(&str),
        progress: impl Fn(DownloadProgress),
    ) -> Result<Vec<(String, PathBuf)>, DockerError> {
        let folder = self
            .cache
            .join("releases")
            .join(&self.version)
            .join(self.architecture.go());
        std::fs::create_dir_all(&folder).map_err(DockerError::io("create folder", &folder))?;
        let mut files = Vec::new();
        for program in PROGRAMS.into_iter().chain([SCHEDULER]) {
            let file = folder.join(program);
            // Only a file that matched its checksum is renamed to this name.
            if !file.is_file() {
                step(&format!(
                    "download {program} {} from {}",
                    self.version, self.base_url
                ));
                self.fetch_program(program, &file, &progress).await?;
            }
            files.push((program.to_owned(), file));
        }
        Ok(files)
    }

    /// Whether the server responds in time and has this release.
    pub(crate) async fn is_reachable(&self) -> bool {
        self.published_checksum("kubelet").await.is_ok()
    }

    /// The newest release of a minor version.
    ///
    /// # Errors
    /// When the download fails, or the server names no release of this minor version.
    pub async fn stable(&self, minor: Minor) -> Result<Version, DockerError> {
        let url = format!("{}/release/stable-{minor}.txt", self.base_url);
        let text = self.downloader.text(&url).await?;
        let version = text
            .trim()
            .parse()
            .ok()
            .filter(|version: &Version| version.minor() == minor);
        version.ok_or_else(|| DockerError::Download {
            url,
            reason: format!("invalid content: expected a release of {minor}"),
        })
    }

    async fn fetch_program(
        &self,
        program: &str,
        file: &Path,
        progress: impl Fn(DownloadProgress),
    ) -> Result<(), DockerError> {
        let expected = self.published_checksum(program).await?;
        let url = self.url(program);
        let part = file.with_extension(format!("part-{}", std::process::id()));
        let fetched = async {
            let actual = self.downloader.file(&url, &part, progress).await?;
            if actual != expected {
                return Err(DockerError::Checksum {
                    url,
                    expected,
                    actual,
                });
            }
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&part, executable).map_err(DockerError::io("make executable", &part))?;
            std::fs::rename(&part, file).map_err(DockerError::io("rename", &part))
        };
        let fetched = fetched.await;
        if fetched.is_err() {
            let _ = std::fs::remove_file(&part);
        }
        fetched
    }

    /// The checksum in the file beside a program.
    pub(crate) async fn published_checksum(&self, program: &str) -> Result<String, DockerError> {
        let url = format!("{}.sha256", self.url(program));
        let text = self.downloader.text(&url).await?;
        // Some releases publish the checksum alone, others append the file name.
        let checksum = text.split_whitespace().next().unwrap_or_default().to_lowercase();
        if checksum.len() != 64 || !checksum.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let reason = "invalid content: expected a SHA-256 checksum".to_owned();
            return Err(DockerError::Download { url, reason });
        }
        Ok(checksum)
    }

    fn url(&self, program: &str) -> String {
        let (version, architecture) = (&self.version, self.architecture.go());
        format!(
            "{}/release/{version}/bin/linux/{architecture}/{program}",
            self.base_url
        )
    }
}

/// The versions whose release for an architecture is complete in the cache folder.
pub(crate) fn downloaded(cache: &Path, architecture: Architecture) -> Vec<Version> {
    let folders = std::fs::read_dir(cache.join("releases"));
    let folders = folders.into_iter().flatten().flatten().map(|entry| entry.path());
    let is_complete = |folder: &PathBuf| {
        let has = |program: &&str| folder.join(architecture.go()).join(program).is_file();
        PROGRAMS.iter().all(has)
    };
    let complete = folders.filter(is_complete);
    complete
        .filter_map(|folder| folder.file_name()?.to_str()?.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_downloaded_for_the_architecture_of_the_engine() {
        let urls = [
            "https://dl.k8s.io/release/v1.29.4/bin/linux/amd64/kubelet",
            "https://dl.k8s.io/release/v1.29.4/bin/linux/arm64/kubelet",
        ];
        for (architecture, url) in Architecture::ALL.into_iter().zip(urls) {
            let settings = ImageSettings::with_cache("/cache");
            let release = KubernetesRelease::new(&settings, "v1.29.4", architecture, TimeFactor::ONE);
            assert_eq!(release.unwrap().url("kubelet"), url);
        }
    }
}
