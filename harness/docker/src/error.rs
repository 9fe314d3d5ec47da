//! Errors of the container engine and of images, with hints.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use bollard::errors::Error as BollardError;
use nodejoin_core::kubernetes::{InvalidVersion, VersionRequest};
use nodejoin_core::run::error_chain::chain;

use crate::image_problem::ImageProblem;

/// Docker's default address.
pub(crate) const DEFAULT_HOST: &str = "unix:///var/run/docker.sock";

/// A request to the container engine, or for an image, failed.
#[derive(Debug, thiserror::Error)]
pub enum DockerError {
    /// No engine responds.
    #[error("no container engine responds at `{host}`")]
    Unreachable {
        /// Address of the engine.
        host: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// DOCKER_HOST has a scheme that the client does not support.
    #[error("unsupported scheme in DOCKER_HOST `{host}`: expected unix://, tcp:// or http://")]
    UnsupportedHost { host: String },
    /// The API version of the engine is not supported.
    #[error(
        "container engine {version} with API {api} is too old: expected API 1.41 (Docker 20.10) or newer"
    )]
    TooOld { version: String, api: String },
    /// The time factor of the environment is invalid.
    #[error("invalid environment variable NODEJOIN_TIME_FACTOR")]
    TimeFactor(#[source] nodejoin_core::run::time_factor::InvalidTimeFactor),
    /// The engine refused a request, or the connection broke.
    #[error("could not {operation} `{object}`")]
    Engine {
        operation: &'static str,
        object: String,
        #[source]
        source: Box<BollardError>,
    },
    /// A container did not start. It is removed unless the tear-down reports it.
    #[error("could not start container `{name}` from image `{image}`{}", log_lines(.lines))]
    Start {
        name: String,
        image: String,
        /// The last lines of its output.
        lines: String,
        #[source]
        source: Box<testcontainers::TestcontainersError>,
    },
    /// An object is not in the expected state.
    #[error("{object} {problem}")]
    Unexpected { object: String, problem: String },
    /// The run is being torn down and accepts no new objects.
    #[error("could not create {object}: run `{run}` is being torn down")]
    Ending { object: String, run: String },
    /// An operation timed out.
    #[error("could not {operation} `{object}`: {}", timed_out(.timeout))]
    TimedOut {
        operation: &'static str,
        object: String,
        /// `None` if the connection to the engine timed out.
        timeout: Option<Duration>,
    },
    /// No recipe has this name.
    #[error("unknown node image `{name}`: expected one of {}", .known.join(", "))]
    UnknownImage { name: String, known: Vec<String> },
    /// A file, a folder or an image cannot be a node image. Nothing of it remains in the engine.
    #[error("cannot use `{image}` as a node image")]
    NodeImage {
        /// Name or path.
        image: String,
        #[source]
        problem: ImageProblem,
    },
    /// A recipe is invalid.
    #[error("invalid recipe of image `{recipe}`: {problem}")]
    Recipe { recipe: String, problem: String },
    /// A build failed.
    #[error("could not build image `{image}`: {reason}\nlast lines of `{}`:\n{lines}", .log.display())]
    Build {
        image: String,
        reason: String,
        /// The file with all output of the build.
        log: PathBuf,
        /// The last lines of the log.
        lines: String,
    },
    /// The base image can be neither pulled nor built.
    #[error("could not get the base image `{image}`: {}", .tried.join("; "))]
    Base {
        image: String,
        /// The reason why each attempt failed.
        tried: Vec<String>,
        /// The file with all output.
        log: PathBuf,
    },
    /// A published image is missing.
    #[error("image `{image}` is missing and could not be pulled: {reason}")]
    NotPulled { image: String, reason: String },
    /// A Debian package could not be unpacked.
    #[error("could not unpack package `{package}` of Debian {release}: {reason}")]
    Package {
        package: String,
        release: String,
        reason: String,
    },
    /// An image has another version of Kubernetes than requested.
    #[error("image `{image}` has Kubernetes {actual}: expected {requested}")]
    ImageVersion {
        image: String,
        actual: String,
        requested: String,
    },
    /// A folder lacks programs of Kubernetes.
    #[error("`{}`, set by {variable}, lacks {}", .folder.display(), .missing.join(", "))]
    Assets {
        folder: PathBuf,
        variable: String,
        missing: Vec<String>,
    },
    /// A program of Kubernetes is unusable.
    #[error("could not use `{}`: {problem}", .program.display())]
    Program { program: PathBuf, problem: String },
    /// Nothing is published for the architecture of the engine.
    #[error("no {what} is available for the architecture of the container engine")]
    Architecture {
        what: &'static str,
        /// The hint.
        instead: &'static str,
        #[source]
        source: nodejoin_core::plan::architecture::UnknownArchitecture,
    },
    /// A version of Kubernetes is invalid.
    #[error(transparent)]
    Version(InvalidVersion),
    /// No source provides a version of Kubernetes.
    #[error("Kubernetes {requested} is not available: {}", .tried.join("; "))]
    NoKubernetes {
        requested: VersionRequest,
        /// Why each source does not provide it.
        tried: Vec<String>,
    },
    /// A proxy of the environment is invalid.
    #[error("invalid proxy in the environment variable {variable}")]
    Proxy { variable: String },
    /// A file of a release could not be downloaded.
    #[error("could not download `{url}`: {reason}")]
    Download { url: String, reason: String },
    /// A downloaded file does not match its published checksum.
    #[error("checksum mismatch for `{url}`: expected SHA-256 {expected}, got {actual}")]
    Checksum {
        url: String,
        expected: String,
        actual: String,
    },
    /// An operation on a file or folder of the cache failed.
    #[error("could not {operation} `{}`", .path.display())]
    Io {
        operation: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl DockerError {
    /// How to fix the problem, if known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Unreachable { host, source } => return Some(start_hint(host, &chain(source.as_ref()))),
            Self::TooOld { .. } => "install Docker Engine 20.10 or newer",
            Self::Engine { source, .. } => return engine_hint(source),
            Self::Start { .. } => "run `nodejoin doctor` to check the privileges of containers",
            Self::TimedOut { .. } => {
                "raise NODEJOIN_TIME_FACTOR on a slow machine; `nodejoin sweep` removes leftovers"
            }
            Self::UnknownImage { .. } => {
                "set `image` of the scenario to one of them, to an image of the engine as `name:tag`, or to a root file system"
            }
            Self::NodeImage { problem, .. } => problem.hint(),
            Self::Build { .. } => {
                "the build needs a Debian mirror; behind a proxy set `http_proxy` and `https_proxy`"
            }
            Self::Base { .. } => {
                "give the engine access to a registry, install `mmdebstrap`, or tag an image of Debian bookworm as \
                 `nodejoin/base:<the tag above>`"
            }
            Self::NotPulled { .. } => {
                "give the engine access to the registry, load the image with `docker load`, or set NODEJOIN_K3S_IMAGE to an \
                 existing image"
            }
            Self::Package { .. } => {
                "install the program, or set NODEJOIN_DEBIAN_MIRROR to a reachable mirror"
            }
            Self::ImageVersion { .. } => {
                "set NODEJOIN_KIND_IMAGE to an image of that version, or request the version of the image with `--kubernetes`"
            }
            Self::Assets { .. } => "add the programs, or unset the variable",
            Self::Architecture { instead, .. } => instead,
            Self::UnsupportedHost { .. } => {
                "forward the engine's socket, for example with `ssh -L /tmp/docker.sock:/var/run/docker.sock HOST`, and set \
                 DOCKER_HOST to `unix:///tmp/docker.sock`"
            }
            Self::TimeFactor(_) => "set it to a number such as `10`, or unset it",
            Self::Program { .. } => "the file must be a Linux program for the architecture of this machine",
            Self::Version(error) => error.hint(),
            Self::NoKubernetes { .. } => {
                "set NODEJOIN_ASSETS to a folder with its programs, or with one such folder for each version; set \
                 NODEJOIN_RELEASE_URL to a mirror of https://dl.k8s.io; or request 1.20, which is built from Debian's source package"
            }
            Self::Download { .. } => {
                "set NODEJOIN_ASSETS to a folder with the programs, set NODEJOIN_RELEASE_URL to a mirror, \
                 or request no version to build the programs from Debian's source package; behind a proxy set `https_proxy`"
            }
            Self::Proxy { .. } => "set it to a URL such as `http://proxy.example:3128`, or unset it",
            Self::Checksum { .. } => {
                "a proxy may have changed the file; try again, or set NODEJOIN_RELEASE_URL to another mirror"
            }
            Self::Io { .. } => "set NODEJOIN_CACHE to a writable folder",
            Self::Unexpected { .. } | Self::Ending { .. } | Self::Recipe { .. } => return None,
        };
        Some(hint.to_owned())
    }

    /// Converts an error of the client during an operation on an object.
    pub(crate) fn engine(
        operation: &'static str,
        object: impl Into<String>,
    ) -> impl FnOnce(BollardError) -> Self {
        let object = object.into();
        move |source| match source {
            BollardError::RequestTimeoutError => Self::TimedOut {
                operation,
                object,
                timeout: None,
            },
            source => Self::Engine {
                operation,
                object,
                source: Box::new(source),
            },
        }
    }

    /// Converts an error of the file system.
    pub(crate) fn io(operation: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            operation,
            path,
            source,
        }
    }
}

/// The HTTP status of the engine's response.
pub(crate) fn status(error: &BollardError) -> Option<u16> {
    match error {
        BollardError::DockerResponseServerError { status_code, .. } => Some(*status_code),
        _ => None,
    }
}

fn timed_out(timeout: &Option<Duration>) -> String {
    match timeout {
        Some(timeout) => format!("timed out after {} s", timeout.as_secs()),
        None => "the engine did not respond in time".to_owned(),
    }
}

fn log_lines(lines: &str) -> String {
    if lines.is_empty() {
        String::new()
    } else {
        format!("; last lines of its output:\n{lines}")
    }
}

fn start_hint(host: &str, cause: &str) -> String {
    if cause.to_lowercase().contains("permission denied") {
        return "add yourself to the group `docker` (`sudo usermod -aG docker $USER`), then log in again"
            .to_owned();
    }
    if host != DEFAULT_HOST {
        return format!("DOCKER_HOST is `{host}`: start the engine there, or unset DOCKER_HOST");
    }
    "start the engine with `sudo systemctl start docker` (without systemd: `sudo service docker start`; Docker Desktop: start \
     the application), or set DOCKER_HOST to its address"
        .to_owned()
}

fn engine_hint(source: &BollardError) -> Option<String> {
    let BollardError::DockerResponseServerError { message, .. } = source else {
        return None;
    };
    let known = [
        (
            "address pool",
            "Docker has no free subnet: remove unused networks with `nodejoin sweep` or `docker network prune`",
        ),
        (
            "no space left",
            "the disk is full: free space with `nodejoin images prune` and `docker system prune`",
        ),
        (
            "too many open files",
            "raise fs.inotify.max_user_instances; `nodejoin doctor` prints the command",
        ),
        (
            "No such container",
            "the container has ended, or another process removed it",
        ),
    ];
    known
        .iter()
        .find(|(part, _)| message.contains(part))
        .map(|(_, hint)| (*hint).to_owned())
}

#[cfg(test)]
mod tests;
