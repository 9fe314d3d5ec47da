//! Why a file, a folder or an image cannot be a node image.

use std::io;

use nodejoin_core::plan::architecture::Architecture;

/// Why a file, a folder or an image cannot be a node image.
#[derive(Debug, thiserror::Error)]
pub enum ImageProblem {
    /// The engine has no image of this name.
    #[error("the container engine has no such image")]
    Missing,
    /// The file or folder cannot be read.
    #[error("it cannot be read")]
    Unreadable(#[source] io::Error),
    /// The archive ends too early, or its compression is damaged.
    #[error("the archive is truncated or damaged")]
    Damaged(#[source] io::Error),
    /// A file would land outside the root file system.
    #[error("the archive contains the path `{path}`: expected paths inside the root file system")]
    OutsidePath { path: String },
    /// It contains something else.
    #[error("it is not a root file system: {why}")]
    NotRootFs { why: String },
    /// An OCI image layout violates its format.
    #[error("the OCI image layout is invalid: {0}")]
    Layout(String),
    /// Nothing can be the first process.
    #[error("it contains no systemd: expected /usr/lib/systemd/systemd or /lib/systemd/systemd")]
    NoInit,
    /// A program is there and does not run.
    #[error("its {program} reports no version; the last line of `{program} --version` is `{output}`")]
    NoVersion { program: String, output: String },
    /// Its programs are for another processor.
    #[error("its programs are for {}, but nodes run on {required}", .has.map_or("another processor", Architecture::kernel))]
    Architecture {
        /// `None` for an architecture that no EKS node has.
        has: Option<Architecture>,
        required: Architecture,
    },
}

impl ImageProblem {
    /// How to solve it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Missing => {
                "`docker images` lists the images; `docker load`, `docker build` or `docker pull` adds one"
            }
            Self::Unreadable(_) => {
                "check the path and its permissions; a folder that belongs to root is read as root. An image of the container engine \
                 needs no import: name it in `image`"
            }
            Self::Damaged(_) => {
                "create the archive again, for example with `tar --create --file ami.tar --directory ROOT .`"
            }
            Self::OutsidePath { .. } => {
                "create the archive with relative paths: `tar --create --file ami.tar --directory ROOT .`"
            }
            Self::NotRootFs { .. } => {
                "name a tar archive of the root of a Linux system (plain, gzip, zstd or xz), its folder, or a folder with an OCI \
                 image layout"
            }
            Self::Layout(_) => {
                "create it with `skopeo copy ... oci:FOLDER`, or load the image with `docker load` and set `image` to its name"
            }
            Self::NoInit => {
                "a node boots with systemd: install it in the image (in Debian the package `systemd-sysv`)"
            }
            Self::NoVersion { .. } => {
                "run the command in the image, for example with `docker run --rm IMAGE`, and mend what it lacks"
            }
            Self::Architecture { .. } => "use an image for the processor of this machine",
        }
    }
}
