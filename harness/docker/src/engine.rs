//! The connection to a container engine, and what is known of it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bollard::Docker;
use bollard::models::{SystemInfo, SystemInfoCgroupVersionEnum};
use nodejoin_core::plan::architecture::Architecture;
use nodejoin_core::run::time_factor::TimeFactor;
use testcontainers::core::client::docker_client_instance;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::error::{DEFAULT_HOST, DockerError};
use crate::privileges::Privileges;
use crate::settings::ImageSettings;

/// The oldest API that has everything: private cgroup namespaces came with it.
const OLDEST_API: (usize, usize) = (1, 41);
/// How long an engine may take to say who it is.
const HELLO: Duration = Duration::from_secs(20);

/// A container engine that answers. Clones share the connection.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    docker: Docker,
    host: String,
    facts: Facts,
    cache: PathBuf,
    time_factor: TimeFactor,
    /// By image: what was probed stays true as long as the engine runs.
    privileges: Mutex<HashMap<String, Privileges>>,
}

/// What an engine says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// The engine's own id; it stays through restarts.
    pub id: String,
    /// Its version.
    pub server_version: String,
    /// The newest API it speaks.
    pub api_version: String,
    /// 1 or 2.
    pub cgroup_version: u8,
    /// `cgroupfs` or `systemd`.
    pub cgroup_driver: String,
    /// Such as `overlay2`.
    pub storage_driver: String,
    /// Who keeps the images.
    pub image_store: ImageStore,
    /// Such as `name=seccomp,profile=default`.
    pub security_options: Vec<String>,
    /// Processors.
    pub cpus: u64,
    /// Memory in bytes.
    pub memory: u64,
    /// As Docker names it: `x86_64`, `aarch64`.
    pub architecture: String,
    /// The kernel that containers run on.
    pub kernel: String,
    /// The system that the engine runs on.
    pub operating_system: String,
    /// The folder of its data.
    pub root: PathBuf,
}

/// Who keeps an engine's images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ImageStore {
    /// Docker itself: the id of an image is the hash of its configuration.
    #[default]
    Docker,
    /// containerd, the default from Docker 29 on: the id of an image is the hash of its manifest.
    Containerd,
}

impl Engine {
    /// Connects to the engine that DOCKER_HOST names, else to the local one.
    ///
    /// # Errors
    /// When none answers (the hint says how to start one), or it is too old.
    pub async fn connect() -> Result<Self, DockerError> {
        let lookup = |name: &str| std::env::var(name).ok();
        let factor = time_factor(lookup)?;
        Self::connect_with(ImageSettings::from_lookup(lookup).cache, factor).await
    }

    /// The same, with another folder for what is worth keeping about the engine.
    ///
    /// # Errors
    /// As for [`Engine::connect`].
    pub async fn connect_with_cache(cache: impl Into<PathBuf>) -> Result<Self, DockerError> {
        Self::connect_with(cache, TimeFactor::ONE).await
    }

    /// The same, on a machine that is so much slower.
    ///
    /// # Errors
    /// As for [`Engine::connect`].
    pub async fn connect_with(
        cache: impl Into<PathBuf>,
        time_factor: TimeFactor,
    ) -> Result<Self, DockerError> {
        let host = std::env::var(crate::env::DOCKER_HOST).unwrap_or_else(|_| DEFAULT_HOST.to_owned());
        let unreachable = |source| DockerError::Unreachable {
            host: host.clone(),
            source,
        };
        // The client of testcontainers knows where engines listen; two opinions about that would part containers from networks.
        let docker = docker_client_instance()
            .await
            .map_err(|error| unreachable(error.into()))?;
        let hello = timeout(time_factor.limit(HELLO), async {
            docker.negotiate_version().await
        });
        let docker = match hello.await {
            Ok(answer) => answer.map_err(|error| unreachable(error.into()))?,
            Err(late) => return Err(unreachable(late.into())),
        };
        let facts = facts(&docker).await?;
        if parse_api(&facts.api_version) < Some(OLDEST_API) {
            return Err(DockerError::TooOld {
                version: facts.server_version,
                api: facts.api_version,
            });
        }
        let privileges = Mutex::default();
        Ok(Self {
            inner: Arc::new(Inner {
                docker,
                host,
                facts,
                cache: cache.into(),
                time_factor,
                privileges,
            }),
        })
    }

    /// What the engine says of itself.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.inner.facts
    }

    /// The client, for what this crate does not offer.
    #[must_use]
    pub fn docker(&self) -> &Docker {
        &self.inner.docker
    }

    /// By what the limits of everything that is done with it are multiplied.
    #[must_use]
    pub fn time_factor(&self) -> TimeFactor {
        self.inner.time_factor
    }

    /// Whether it runs on this machine, as far as its address tells.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.inner.host.starts_with("unix://") || self.inner.host.starts_with('/')
    }

    /// Its processor, for something that is wanted for it.
    pub(crate) fn architecture(
        &self,
        what: &'static str,
        instead: &'static str,
    ) -> Result<Architecture, DockerError> {
        architecture(&self.facts().architecture, what, instead)
    }

    /// The newest API that it speaks, as numbers.
    pub(crate) fn api_version(&self) -> (usize, usize) {
        parse_api(&self.facts().api_version).unwrap_or(OLDEST_API)
    }

    pub(crate) fn cache(&self) -> &Path {
        &self.inner.cache
    }

    pub(crate) fn known_privileges(&self) -> &Mutex<HashMap<String, Privileges>> {
        &self.inner.privileges
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("host", &self.inner.host)
            .finish_non_exhaustive()
    }
}

/// The factor of an environment.
fn time_factor(lookup: impl Fn(&str) -> Option<String>) -> Result<TimeFactor, DockerError> {
    let text = lookup(crate::env::NODEJOIN_TIME_FACTOR).filter(|text| !text.is_empty());
    let factor = text.as_deref().map(str::parse).transpose();
    Ok(factor.map_err(DockerError::TimeFactor)?.unwrap_or_default())
}

async fn facts(docker: &Docker) -> Result<Facts, DockerError> {
    let ask = || DockerError::engine("ask for the facts of", "the engine");
    let version = docker.version().await.map_err(ask())?;
    let info = docker.info().await.map_err(ask())?;
    Ok(read(info, version.api_version.unwrap_or_default()))
}

fn read(info: SystemInfo, api_version: String) -> Facts {
    Facts {
        id: info.id.unwrap_or_default(),
        server_version: info.server_version.unwrap_or_default(),
        api_version,
        cgroup_version: match info.cgroup_version {
            Some(SystemInfoCgroupVersionEnum::_2) => 2,
            _ => 1,
        },
        cgroup_driver: info
            .cgroup_driver
            .map(|driver| driver.to_string())
            .unwrap_or_default(),
        image_store: image_store(info.driver_status.as_deref().unwrap_or_default()),
        storage_driver: info.driver.unwrap_or_default(),
        security_options: info.security_options.unwrap_or_default(),
        cpus: info.ncpu.unwrap_or_default().unsigned_abs(),
        memory: info.mem_total.unwrap_or_default().unsigned_abs(),
        architecture: info.architecture.unwrap_or_default(),
        kernel: info.kernel_version.unwrap_or_default(),
        operating_system: info.operating_system.unwrap_or_default(),
        root: info.docker_root_dir.unwrap_or_default().into(),
    }
}

fn architecture(name: &str, what: &'static str, instead: &'static str) -> Result<Architecture, DockerError> {
    let named = name.parse();
    named.map_err(|source| DockerError::Architecture {
        what,
        instead,
        source,
    })
}

/// What Docker says of its driver: with containerd's store, that it is a snapshotter of containerd's.
fn image_store(driver_status: &[Vec<String>]) -> ImageStore {
    let is_containerd = |row: &Vec<String>| matches!(&row[..], [key, value] if key == "driver-type" && value.starts_with("io.containerd.snapshotter."));
    match driver_status.iter().any(is_containerd) {
        true => ImageStore::Containerd,
        false => ImageStore::Docker,
    }
}

fn parse_api(version: &str) -> Option<(usize, usize)> {
    let (major, minor) = version.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_of_the_environment_is_read_or_refused() {
        let of = |text: &'static str| time_factor(move |_| Some(text.to_owned()));
        assert_eq!(of("7.5").unwrap(), "7.5".parse().unwrap());
        assert_eq!(of("").unwrap(), TimeFactor::ONE);
        assert_eq!(time_factor(|_| None).unwrap(), TimeFactor::ONE);
        let refused = of("0").unwrap_err();
        assert!(refused.to_string().contains("NODEJOIN_TIME_FACTOR"), "{refused}");
        assert!(refused.hint().is_some());
    }

    #[test]
    fn the_keeper_of_images_is_read_from_what_docker_says_of_its_driver() {
        let rows = |rows: &[(&str, &str)]| -> Vec<Vec<String>> {
            rows.iter()
                .map(|(key, value)| vec![(*key).to_owned(), (*value).to_owned()])
                .collect()
        };
        for (status, wanted) in [
            (
                rows(&[("driver-type", "io.containerd.snapshotter.v1")]),
                ImageStore::Containerd,
            ),
            (
                rows(&[("Backing Filesystem", "extfs"), ("Supports d_type", "true")]),
                ImageStore::Docker,
            ),
            (rows(&[]), ImageStore::Docker),
            (vec![vec!["driver-type".to_owned()]], ImageStore::Docker),
        ] {
            assert_eq!(image_store(&status), wanted, "{status:?}");
        }
    }

    #[test]
    fn an_unknown_processor_is_an_error_that_says_what_to_set() {
        let instead = "set NODEJOIN_ASSETS to a folder with the programs for it";
        let of = |name: &str| architecture(name, "release of Kubernetes", instead);
        assert_eq!(of("x86_64").unwrap(), Architecture::X86_64);
        assert_eq!(of("aarch64").unwrap(), Architecture::Aarch64);
        let refused = of("riscv64").unwrap_err();
        let said = nodejoin_core::run::error_chain::chain(&refused);
        assert!(
            said.starts_with("there is no release of Kubernetes for"),
            "{said}"
        );
        assert!(said.contains("`riscv64`"), "{said}");
        assert_eq!(refused.hint().as_deref(), Some(instead));
    }

    #[test]
    fn api_versions_are_compared_as_numbers() {
        assert!(parse_api("1.9") < Some(OLDEST_API));
        assert!(parse_api("1.41") >= Some(OLDEST_API));
        assert!(parse_api("2.0") >= Some(OLDEST_API));
        assert!(parse_api("") < Some(OLDEST_API));
    }
}
