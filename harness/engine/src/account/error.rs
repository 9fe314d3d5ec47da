//! Errors of serving or changing an account.

use std::io;
use std::path::PathBuf;

use nodejoin_cluster::ClusterError;
use nodejoin_core::plan::change::Refused;
use nodejoin_core::user_data::UserDataError;
use nodejoin_fake_aws::FakeAwsError;

use crate::error::EngineError;

/// An account could not be served or changed.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// A port was not available, or a certificate could not be created.
    #[error("could not start the fake AWS")]
    Fakes(#[from] FakeAwsError),
    #[error("could not start the token webhook")]
    Webhook(#[from] ClusterError),
    /// An image that the account lists is not available.
    #[error(transparent)]
    Image(Box<EngineError>),
    #[error("could not render the user data")]
    UserData(#[from] UserDataError),
    /// Another process uses the folder.
    #[error("another `nodejoin aws` uses the folder `{}`", .folder.display())]
    Taken { folder: PathBuf },
    /// The folder has a file that no `nodejoin aws` wrote, or that was changed since.
    #[error("`{}` is not a file of `nodejoin aws`", .path.display())]
    Foreign { path: PathBuf },
    #[error("could not write `{}`", .path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("could not create the control socket of `nodejoin aws set`")]
    Control(#[source] io::Error),
    /// No process uses the folder.
    #[error("no `nodejoin aws` uses the folder `{}`", .folder.display())]
    NotRunning { folder: PathBuf },
    /// The process that uses the folder sent no valid response.
    #[error("no response from the `nodejoin aws` of `{}`", .folder.display())]
    NoResponse {
        folder: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The change is invalid.
    #[error("nothing was changed")]
    Refused(#[source] Refused),
}

impl AccountError {
    /// The action that resolves the error; `None` when none is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Fakes(error) => error.hint(),
            Self::Webhook(ClusterError::Listen { address, .. }) => Some(format!(
                "pass an address other than {address} with `--webhook`; port 0 picks a free port"
            )),
            Self::Webhook(error) => error.hint(),
            Self::Image(error) => error.hint(),
            Self::UserData(error) => Some(error.hint()),
            Self::Foreign { .. } => Some(
                "pass another folder with `--folder`; only files of `nodejoin aws` are replaced".to_owned(),
            ),
            Self::Taken { .. } => Some("pass another folder with `--folder`".to_owned()),
            Self::Write { .. } => Some("pass another folder with `--folder`".to_owned()),
            Self::NotRunning { folder } => Some(format!(
                "start one with `nodejoin aws --folder {}`, or pass the folder of a running one with `--folder`",
                folder.display()
            )),
            Self::Refused(refused) => refused.hint.clone(),
            Self::Control(_) | Self::NoResponse { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    #[test]
    fn texts_and_hints_match_their_snapshot() {
        let folder = || PathBuf::from("/tmp/nodejoin-aws");
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let webhook = AccountError::Webhook(ClusterError::Listen {
            address: "127.0.0.1:9443".parse().unwrap(),
            source: full(),
        });
        let errors = [
            webhook,
            AccountError::Taken { folder: folder() },
            AccountError::Foreign { path: folder() },
            AccountError::Write {
                path: folder(),
                source: full(),
            },
            AccountError::Control(full()),
            AccountError::NotRunning { folder: folder() },
            AccountError::NoResponse {
                folder: folder(),
                source: full(),
            },
            AccountError::Refused(Refused::new("what", "hint")),
        ];
        let mut all = String::new();
        for error in errors {
            writeln!(all, "{error}").unwrap();
            error
                .hint()
                .iter()
                .for_each(|hint| writeln!(all, "  do: {hint}").unwrap());
        }
        insta::assert_snapshot!("errors", all);
    }
}
