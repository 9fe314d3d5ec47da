//! What can go wrong with the container engine and with images, and the way out.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use bollard::errors::Error as EngineWord;
use nodejoin_core::kubernetes::{InvalidVersion, VersionAsk};
use nodejoin_core::run::error_chain::chain;

/// Something that was asked of the container engine, or for an image, was not done.
#[derive(Debug, thiserror::Error)]
pub enum DockerError {
    /// No engine answers.
    #[error("no container engine answers at `{host}`")]
    Unreachable {
        /// Where it was looked for.
        host: String,
        /// What the connection said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The engine speaks an API that is too old.
    #[error(
        "the container engine {version} speaks API {api}, and 1.41 (Docker 20.10) is the oldest that will do"
    )]
    TooOld {
        /// Its version.
        version: String,
        /// The API it speaks.
        api: String,
    },
    /// The environment's factor of time is none.
    #[error("the variable NODEJOIN_TIME_FACTOR cannot be used")]
    TimeFactor(#[source] nodejoin_core::run::time_factor::NoTimeFactor),
    /// The engine refused, or the connection broke.
    #[error("could not {operation} `{object}`")]
    Engine {
        /// What was tried.
        operation: &'static str,
        /// With what.
        object: String,
        /// The engine's word.
        #[source]
        source: Box<EngineWord>,
    },
    /// A container did not start; nothing of it is left unless a later tear-down says so.
    #[error("could not start container `{name}` from image `{image}`{}", log_lines(.lines))]
    Start {
        /// Its name.
        name: String,
        /// Its image.
        image: String,
        /// The last lines of its output, where it had any.
        lines: String,
        /// The engine's word.
        #[source]
        source: Box<testcontainers::TestcontainersError>,
    },
    /// A container or network is not what it was made to be.
    #[error("{object} {wrong}")]
    Unexpected {
        /// Which.
        object: String,
        /// In which way.
        wrong: String,
    },
    /// The run is being torn down: nothing new is made.
    #[error("could not make {object}: run `{run}` is being torn down")]
    Ending {
        /// What was asked for.
        object: String,
        /// The run.
        run: String,
    },
    /// Something took too long.
    #[error("could not {operation} `{object}` within {} s", .limit.as_secs())]
    TimedOut {
        /// What was tried.
        operation: &'static str,
        /// With what.
        object: String,
        /// How long.
        limit: Duration,
    },
    /// There is no recipe of this name.
    #[error("there is no node image `{name}`; there are: {}", .known.join(", "))]
    UnknownImage {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A recipe cannot be used as it stands.
    #[error("the recipe of image `{recipe}` cannot be used: {wrong}")]
    Recipe {
        /// The recipe.
        recipe: String,
        /// Why.
        wrong: String,
    },
    /// A build ended without an image.
    #[error("could not build image `{image}`: {reason}\nits last lines, of `{}`:\n{lines}", .log.display())]
    Build {
        /// The image.
        image: String,
        /// The builder's word.
        reason: String,
        /// The file with all its output.
        log: PathBuf,
        /// The last lines of that.
        lines: String,
    },
    /// There is no way to a base image.
    #[error("could not make the base image `{image}`: {}", .tried.join("; "))]
    Base {
        /// The image.
        image: String,
        /// Every way that was tried and why it failed.
        tried: Vec<String>,
        /// The file with all output.
        log: PathBuf,
    },
    /// An image that others publish is not there.
    #[error("image `{image}` is not here and could not be pulled: {reason}")]
    NotPulled {
        /// The image.
        image: String,
        /// The engine's word.
        reason: String,
    },
    /// A package of Debian could not be had.
    #[error("could not unpack the package `{package}` of Debian {release}: {reason}")]
    Package {
        /// Its name.
        package: String,
        /// The release of Debian.
        release: String,
        /// Why.
        reason: String,
    },
    /// An image is of another version of Kubernetes than was asked for.
    #[error("image `{image}` has Kubernetes {seen}, and {wanted} is wanted")]
    ImageVersion {
        /// The image.
        image: String,
        /// What it says it has.
        seen: String,
        /// What was asked for.
        wanted: String,
    },
    /// A folder of Kubernetes programs lacks some.
    #[error("`{}`, named by {variable}, has no {}", .folder.display(), .missing.join(", no "))]
    Assets {
        /// The folder.
        folder: PathBuf,
        /// The variable that named it.
        variable: String,
        /// What it should have had.
        missing: Vec<String>,
    },
    /// A program of Kubernetes cannot be used.
    #[error("`{}` cannot be used: {wrong}", .program.display())]
    Program {
        /// The file.
        program: PathBuf,
        /// Why.
        wrong: String,
    },
    /// The engine's processor is one that nothing is published for.
    #[error("there is no {what} for the container engine's processor")]
    Architecture {
        /// What is wanted.
        what: &'static str,
        /// What can be set instead.
        instead: &'static str,
        /// The processor.
        #[source]
        source: nodejoin_core::plan::architecture::UnknownArchitecture,
    },
    /// A version that is none.
    #[error(transparent)]
    Version(InvalidVersion),
    /// A version that cannot be had in any way.
    #[error("Kubernetes {wanted} cannot be had: {}", .tried.join("; "))]
    NoKubernetes {
        /// What was asked for.
        wanted: VersionAsk,
        /// Every way to it, and why it is none.
        tried: Vec<String>,
    },
    /// A file of a release could not be downloaded.
    #[error("could not download `{url}`: {reason}")]
    Download {
        /// Its address.
        url: String,
        /// Why.
        reason: String,
    },
    /// A downloaded file is not the published one.
    #[error("`{url}` is not what was published: its SHA-256 is {seen}, and {expected} was published")]
    Checksum {
        /// Its address.
        url: String,
        /// The published sum.
        expected: String,
        /// The sum of what came.
        seen: String,
    },
    /// A file or folder of the cache could not be used.
    #[error("could not {operation} `{}`", .path.display())]
    Io {
        /// What was tried.
        operation: &'static str,
        /// With which.
        path: PathBuf,
        /// The system's word.
        #[source]
        source: io::Error,
    },
}

impl DockerError {
    /// The way out, where one is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Unreachable { host, source } => return Some(start_hint(host, &chain(source.as_ref()))),
            Self::TooOld { .. } => "install Docker Engine 20.10 or newer",
            Self::Engine { source, .. } => return engine_hint(source),
            Self::Start { .. } => "`nodejoin doctor` checks what the engine allows",
            Self::TimedOut { .. } => {
                "`nodejoin doctor` tells how busy this machine is; `nodejoin sweep` removes what was left"
            }
            Self::UnknownImage { .. } => "set `image.name` in the scenario to one of them",
            Self::Build { .. } => {
                "the build needs a mirror of Debian; behind a proxy set `http_proxy` and `https_proxy`"
            }
            Self::Base { .. } => {
                "let the engine reach a registry, or install `mmdebstrap`, or make an image of Debian bookworm yourself \
                 and tag it as `nodejoin/base:<the tag above>`"
            }
            Self::NotPulled { .. } => {
                "let the engine reach the image's registry, or bring the image with `docker load`, or set NODEJOIN_K3S_IMAGE to \
                 one that is here"
            }
            Self::Package { .. } => {
                "install the program yourself, or set NODEJOIN_DEBIAN_MIRROR to a mirror that answers"
            }
            Self::ImageVersion { .. } => {
                "name an image of that version in NODEJOIN_KIND_IMAGE, or ask for the version that it has by `--kubernetes`"
            }
            Self::Assets { .. } => "put the programs there, or unset the variable",
            Self::Architecture { instead, .. } => instead,
            Self::TimeFactor(_) => "set it to a number such as `10`, or unset it",
            Self::Program { .. } => "it must be a Linux program of this machine's architecture",
            Self::Version(error) => error.hint(),
            Self::NoKubernetes { .. } => {
                "set NODEJOIN_ASSETS to a folder with its programs, or to one with such a folder for each version; or \
                 NODEJOIN_RELEASE_URL to a mirror of https://dl.k8s.io; or ask for 1.20, which is built from Debian's source"
            }
            Self::Download { .. } => {
                "set NODEJOIN_ASSETS to a folder with the programs, NODEJOIN_RELEASE_URL to a mirror, \
                 or ask for no version: then they are built from Debian's source package"
            }
            Self::Checksum { .. } => {
                "a proxy may have changed it; try again, or set NODEJOIN_RELEASE_URL to another mirror"
            }
            Self::Io { .. } => "set NODEJOIN_CACHE to a folder that can be written",
            Self::Unexpected { .. } | Self::Ending { .. } | Self::Recipe { .. } => return None,
        };
        Some(hint.to_owned())
    }

    /// An error of the engine while doing something with an object.
    pub(crate) fn engine(
        operation: &'static str,
        object: impl Into<String>,
    ) -> impl FnOnce(EngineWord) -> Self {
        let object = object.into();
        move |source| match source {
            EngineWord::RequestTimeoutError => Self::TimedOut {
                operation,
                object,
                limit: Duration::from_secs(120),
            },
            source => Self::Engine {
                operation,
                object,
                source: Box::new(source),
            },
        }
    }

    /// An error of the file system.
    pub(crate) fn io(operation: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            operation,
            path,
            source,
        }
    }
}

/// The status with which the engine answered, where it did.
pub(crate) fn status(error: &EngineWord) -> Option<u16> {
    match error {
        EngineWord::DockerResponseServerError { status_code, .. } => Some(*status_code),
        _ => None,
    }
}

fn log_lines(lines: &str) -> String {
    if lines.is_empty() {
        String::new()
    } else {
        format!("; its last lines:\n{lines}")
    }
}

fn start_hint(host: &str, said: &str) -> String {
    if said.to_lowercase().contains("permission denied") {
        return "add yourself to the group `docker` (`sudo usermod -aG docker $USER`), then log in again"
            .to_owned();
    }
    if host != DEFAULT_HOST {
        return format!("DOCKER_HOST says `{host}`: start the engine there, or unset it");
    }
    "start it with `sudo systemctl start docker` (`sudo service docker start` without systemd; Docker Desktop: start the \
     application), or set DOCKER_HOST to where it listens"
        .to_owned()
}

/// Where Docker listens unless it is told otherwise.
pub(crate) const DEFAULT_HOST: &str = "unix:///var/run/docker.sock";

fn engine_hint(source: &EngineWord) -> Option<String> {
    let EngineWord::DockerResponseServerError { message, .. } = source else {
        return None;
    };
    let known = [
        (
            "address pool",
            "Docker has no subnet left: remove unused networks with `nodejoin sweep` or `docker network prune`",
        ),
        (
            "no space left",
            "the disk is full: `nodejoin images prune` and `docker system prune` free some",
        ),
        (
            "too many open files",
            "raise fs.inotify.max_user_instances, see `nodejoin doctor`",
        ),
        ("No such container", "it ended or was removed by somebody else"),
    ];
    known
        .iter()
        .find(|(part, _)| message.contains(part))
        .map(|(_, hint)| (*hint).to_owned())
}

#[cfg(test)]
mod tests;
