//! The connection to a container engine, and the facts about it.

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
use crate::object::ObjectKind;
use crate::privileges::Privileges;
use crate::removal::Remover;
use crate::settings::ImageSettings;

/// The oldest supported API: private cgroup namespaces were added with it.
const OLDEST_API: (usize, usize) = (1, 41);
/// Timeout for the first response of an engine.
const HELLO_TIMEOUT: Duration = Duration::from_secs(20);
/// Timeout of a single request.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(120);

/// A connection to a container engine. Clones share it.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Connection>,
}

struct Connection {
    docker: Docker,
    host: String,
    facts: EngineFacts,
    cache: PathBuf,
    time_factor: TimeFactor,
    /// Probed once: privileges do not change while an engine runs.
    privileges: Mutex<Option<Privileges>>,
    /// The complete volumes of images, by the image's name; empty for an image without one.
    image_volumes: Mutex<HashMap<String, Vec<ImageVolume>>>,
}

/// A volume with a folder of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageVolume {
    /// The folder's path in the image.
    pub folder: &'static str,
    /// The name of the volume.
    pub name: String,
}

/// What an engine reports about itself and its host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EngineFacts {
    /// The id of the engine, which survives restarts.
    pub id: String,
    /// Version of the engine, such as `26.1.5`.
    pub server_version: String,
    /// The newest API version that the engine supports, such as `1.45`.
    pub api_version: String,
    /// Version of control groups: 1 or 2.
    pub cgroup_version: u8,
    /// `cgroupfs` or `systemd`.
    pub cgroup_driver: String,
    /// Name of the storage driver, such as `overlay2`.
    pub storage_driver: String,
    /// The component that stores images.
    pub image_store: ImageStore,
    /// Security options, such as `name=seccomp,profile=default`.
    pub security_options: Vec<String>,
    /// Number of processors.
    pub cpus: u64,
    /// Memory in bytes.
    pub memory: u64,
    /// Architecture by Docker's name: `x86_64`, `aarch64`.
    pub architecture: String,
    /// Version of the kernel that containers run on.
    pub kernel: String,
    /// The operating system that the engine runs on.
    pub operating_system: String,
    /// The engine's data folder.
    pub root: PathBuf,
}

/// The component that stores the images of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ImageStore {
    /// Docker's own store: the id of an image is the hash of its configuration.
    #[default]
    Docker,
    /// containerd's store, the default since Docker 29: the id of an image is the hash of its manifest.
    Containerd,
}

/// Rejects a scheme that the client does not support, before anything waits for it.
fn check_scheme(host: &str) -> Result<(), DockerError> {
    match host.split_once("://") {
        Some(("unix" | "tcp" | "http", _)) => Ok(()),
        _ => Err(DockerError::UnsupportedHost {
            host: host.to_owned(),
        }),
    }
}

impl Engine {
    /// Connects to the engine at DOCKER_HOST (default: the local engine).
    ///
    /// # Errors
    /// When no engine responds (the hint says how to start one), or its version is not supported.
    pub async fn connect() -> Result<Self, DockerError> {
        let lookup = |name: &str| std::env::var(name).ok();
        let factor = time_factor(lookup)?;
        Self::connect_with(ImageSettings::from_lookup(lookup).cache, factor).await
    }

    /// Connects with another cache folder and without a time factor.
    ///
    /// # Errors
    /// When no engine responds, or its version is not supported.
    pub async fn connect_with_cache(cache: impl Into<PathBuf>) -> Result<Self, DockerError> {
        Self::connect_with(cache, TimeFactor::ONE).await
    }

    /// Connects with this cache folder, and with a factor that multiplies all timeouts of the connection.
    ///
    /// # Errors
    /// When no engine responds, or its version is not supported.
    pub async fn connect_with(
        cache: impl Into<PathBuf>,
        time_factor: TimeFactor,
    ) -> Result<Self, DockerError> {
        let host = std::env::var(nodejoin_core::run::env::DOCKER_HOST.name)
            .unwrap_or_else(|_| DEFAULT_HOST.to_owned());
        check_scheme(&host)?;
        let unreachable = |source| DockerError::Unreachable {
            host: host.clone(),
            source,
        };
        // The client of testcontainers decides where the engine listens: with a second rule, containers and networks
        // could end up on two engines.
        let docker = docker_client_instance()
            .await
            .map_err(|error| unreachable(error.into()))?
            .with_timeout(time_factor.scale(REQUEST_TIMEOUT));
        let hello = timeout(time_factor.scale(HELLO_TIMEOUT), async {
            docker.negotiate_version().await
        });
        let docker = match hello.await {
            Ok(response) => response.map_err(|error| unreachable(error.into()))?,
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
            inner: Arc::new(Connection {
                docker,
                host,
                facts,
                cache: cache.into(),
                time_factor,
                privileges,
                image_volumes: Mutex::default(),
            }),
        })
    }

    /// What the engine reports about itself and its host.
    #[must_use]
    pub fn facts(&self) -> &EngineFacts {
        &self.inner.facts
    }

    /// The client, for requests that this crate does not offer.
    #[must_use]
    pub fn docker(&self) -> &Docker {
        &self.inner.docker
    }

    /// The factor that multiplies the timeouts of all requests and waits.
    #[must_use]
    pub fn time_factor(&self) -> TimeFactor {
        self.inner.time_factor
    }

    /// Whether the engine runs on this machine, judged by its address.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.inner.host.starts_with("unix://") || self.inner.host.starts_with('/')
    }

    /// The architecture of the engine's host; `what` and `instead` go into the error if it is unknown.
    pub(crate) fn architecture(
        &self,
        what: &'static str,
        instead: &'static str,
    ) -> Result<Architecture, DockerError> {
        architecture(&self.facts().architecture, what, instead)
    }

    /// The newest API version that the engine supports, as numbers.
    pub(crate) fn api_version(&self) -> (usize, usize) {
        parse_api(&self.facts().api_version).unwrap_or(OLDEST_API)
    }

    /// Removes an object by name or id; one that is already gone is not an error.
    pub(crate) async fn remove(&self, kind: ObjectKind, name: &str) -> Result<(), DockerError> {
        Remover::new(self.docker(), self.time_factor())
            .remove(kind, name)
            .await
    }

    pub(crate) fn cache(&self) -> &Path {
        &self.inner.cache
    }

    pub(crate) fn known_image_volumes(&self) -> &Mutex<HashMap<String, Vec<ImageVolume>>> {
        &self.inner.image_volumes
    }

    pub(crate) fn known_privileges(&self) -> &Mutex<Option<Privileges>> {
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

/// The time factor of the environment.
fn time_factor(lookup: impl Fn(&str) -> Option<String>) -> Result<TimeFactor, DockerError> {
    let text = lookup(nodejoin_core::run::env::TIME_FACTOR.name).filter(|text| !text.is_empty());
    let factor = text.as_deref().map(str::parse).transpose();
    Ok(factor.map_err(DockerError::TimeFactor)?.unwrap_or_default())
}

async fn facts(docker: &Docker) -> Result<EngineFacts, DockerError> {
    let failed = || DockerError::engine("read", "docker info");
    let version = docker.version().await.map_err(failed())?;
    let info = docker.info().await.map_err(failed())?;
    Ok(read(info, version.api_version.unwrap_or_default()))
}

fn read(info: SystemInfo, api_version: String) -> EngineFacts {
    EngineFacts {
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

/// The image store by Docker's driver status, which names a snapshotter if containerd stores the images.
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
    fn the_time_factor_of_the_environment_is_validated() {
        let of = |text: &'static str| time_factor(move |_| Some(text.to_owned()));
        assert_eq!(of("7.5").unwrap(), "7.5".parse().unwrap());
        assert_eq!(of("").unwrap(), TimeFactor::ONE);
        assert_eq!(time_factor(|_| None).unwrap(), TimeFactor::ONE);
        let refused = of("0").unwrap_err();
        assert!(refused.to_string().contains("NODEJOIN_TIME_FACTOR"), "{refused}");
        assert!(refused.hint().is_some());
    }

    #[test]
    fn the_image_store_is_read_from_the_driver_status() {
        let rows = |rows: &[(&str, &str)]| -> Vec<Vec<String>> {
            rows.iter()
                .map(|(key, value)| vec![(*key).to_owned(), (*value).to_owned()])
                .collect()
        };
        for (status, expected) in [
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
            assert_eq!(image_store(&status), expected, "{status:?}");
        }
    }

    #[test]
    fn an_unknown_architecture_is_an_error_with_a_hint() {
        let instead = "set NODEJOIN_ASSETS to a folder with the programs for it";
        let of = |name: &str| architecture(name, "release of Kubernetes", instead);
        assert_eq!(of("x86_64").unwrap(), Architecture::X86_64);
        assert_eq!(of("aarch64").unwrap(), Architecture::Aarch64);
        let refused = of("riscv64").unwrap_err();
        let text = nodejoin_core::run::error_chain::chain(&refused);
        assert!(
            text.starts_with("no release of Kubernetes is available"),
            "{text}"
        );
        assert!(text.contains("`riscv64`"), "{text}");
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
