//! What can go wrong where an account is served or changed.

use std::io;
use std::path::PathBuf;

use nodejoin_cluster::ClusterError;
use nodejoin_core::plan::change::Refused;
use nodejoin_core::user_data::UserDataError;
use nodejoin_fake_aws::FakeAwsError;

use crate::error::EngineError;

/// An account could not be served, or not be changed.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// A port could not be had, or a certificate not be made.
    #[error("the fake AWS could not be started")]
    Fakes(#[from] FakeAwsError),
    /// The webhook could not be started.
    #[error("the token webhook could not be started")]
    Webhook(#[from] ClusterError),
    /// An image that the account lists cannot be had.
    #[error(transparent)]
    Image(Box<EngineError>),
    /// The user data could not be filled in.
    #[error("the user data could not be filled in")]
    UserData(#[from] UserDataError),
    /// Another one serves from the folder.
    #[error("another `nodejoin aws` serves from `{}`", .folder.display())]
    Taken {
        /// The folder.
        folder: PathBuf,
    },
    /// A file could not be written.
    #[error("could not write `{}`", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The control socket could not be had.
    #[error("could not listen for `nodejoin aws set`")]
    Control(#[source] io::Error),
    /// Nobody serves from the folder.
    #[error("no `nodejoin aws` serves from `{}`", .folder.display())]
    Nobody {
        /// The folder.
        folder: PathBuf,
    },
    /// The one that serves did not answer as it should.
    #[error("the `nodejoin aws` of `{}` did not answer", .folder.display())]
    Silent {
        /// The folder.
        folder: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The change cannot be.
    #[error("nothing was changed")]
    Refused(#[source] Refused),
}

impl AccountError {
    /// The way out, where one is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Fakes(error) => error.hint(),
            Self::Webhook(ClusterError::Listen { address, .. }) => Some(format!(
                "give `--webhook` another address than {address}; port 0 is a free one"
            )),
            Self::Webhook(error) => error.hint().map(str::to_owned),
            Self::Image(error) => error.hint(),
            Self::UserData(error) => Some(error.hint()),
            Self::Taken { .. } => Some("give this one a folder of its own with `--folder`".to_owned()),
            Self::Write { .. } => Some("give another folder with `--folder`".to_owned()),
            Self::Nobody { folder } => Some(format!(
                "start one with `nodejoin aws --folder {}`, or name the folder of the one that is meant with `--folder`",
                folder.display()
            )),
            Self::Refused(refused) => refused.hint.clone(),
            Self::Control(_) | Self::Silent { .. } => None,
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
            AccountError::Write {
                path: folder(),
                source: full(),
            },
            AccountError::Control(full()),
            AccountError::Nobody { folder: folder() },
            AccountError::Silent {
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
