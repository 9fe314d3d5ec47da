//! Errors between a keeper and its clients.

use std::io;
use std::path::PathBuf;

/// A keeper cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    #[error("could not create the folder `{}` of keepers", .path.display())]
    Folder {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Another user could listen there, or read plans.
    #[error("`{}` is not a private folder of this user: expected a folder with mode 0700", .path.display())]
    NotPrivate { path: PathBuf },
    #[error("could not read what identifies this program and its folder")]
    Identity(#[source] io::Error),
    #[error("could not listen on `{}`", .path.display())]
    Listen {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The process at the socket belongs to another user.
    #[error("the keeper at `{}` belongs to another user", .path.display())]
    OtherUser { path: PathBuf },
    /// It ends, and the caller may start another one.
    #[error("the keeper did not accept the run")]
    NotAccepted,
    #[error("the keeper ended before the run did; its log is `{}`", .log.display())]
    Ended { log: PathBuf },
    #[error("the keeper sent what this program cannot read")]
    Unreadable(#[source] io::Error),
}

impl KeeperError {
    /// What the user can do.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Folder { .. } | Self::NotPrivate { .. } | Self::OtherUser { .. } => {
                "set XDG_RUNTIME_DIR to a private folder, or pass `--no-keeper`"
            }
            Self::Listen { .. } => {
                "set XDG_RUNTIME_DIR to a writable folder with a short path: a socket's path has at most 107 bytes"
            }
            Self::Ended { .. } => "`nodejoin sweep` removes what it left; pass `--no-keeper` to run without one",
            Self::Identity(_) | Self::NotAccepted | Self::Unreadable(_) => "pass `--no-keeper` to run without one",
        }
        .to_owned()
    }
}
