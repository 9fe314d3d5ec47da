//! What can go wrong around a scenario: never the node's fault.

use nodejoin_cluster::ClusterError;
use nodejoin_docker::DockerError;
use nodejoin_node::NodeError;

/// The harness could not tell whether the node joins.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The container engine refused something.
    #[error("the container engine could not be used")]
    Docker(#[from] DockerError),
    /// The control plane did not start, or went away.
    #[error("the control plane could not be used")]
    Cluster(#[from] ClusterError),
    /// The node's container could not be made, or could not be asked.
    #[error("the node's container could not be used")]
    Node(#[from] NodeError),
    /// What all scenarios share did not start; each of them says so.
    #[error(transparent)]
    Shared(std::sync::Arc<EngineError>),
    /// The fakes could not be started.
    #[error("the fake AWS could not be started")]
    Fakes(#[source] nodejoin_fake_aws::FakeAwsError),
    /// An image that the scenario lists cannot be had.
    #[error(transparent)]
    Image(nodejoin_core::input::problem::ScenarioError),
    /// The scenario's user data could not be filled in.
    #[error("the user data of `{scenario}` could not be filled in")]
    UserData {
        /// The scenario.
        scenario: String,
        /// Why.
        #[source]
        source: nodejoin_core::user_data::UserDataError,
    },
    /// Upstream does not support the node's kubelet with the control plane.
    #[error(transparent)]
    Skew(#[from] nodejoin_core::kubernetes::SkewError),
    /// What a provider is made of is not here. Where nobody requires it, its scenarios are skipped.
    #[error("the control plane `{name}` cannot be had here: {reason}")]
    Unavailable {
        /// Its name.
        name: nodejoin_core::plan::ProviderName,
        /// What is missing.
        reason: String,
        /// How to get it.
        hint: String,
    },
    /// A file of the run could not be written.
    #[error("could not write `{path}`")]
    Write {
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

impl EngineError {
    /// The way out, where one is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Shared(error) => error.hint(),
            Self::Docker(error) => error.hint(),
            Self::Cluster(error) => error.hint().map(str::to_owned),
            Self::Node(error) => Some(error.hint().to_owned()),
            Self::Fakes(error) => error.hint(),
            Self::Image(error) => error.hint().map(str::to_owned),
            Self::UserData { source, .. } => Some(source.hint()),
            Self::Skew(error) => Some(error.hint()),
            Self::Unavailable { hint, .. } => Some(hint.clone()),
            Self::Write { .. } => Some("give another folder with `--artifacts-dir`".to_owned()),
        }
    }

    /// The error and its causes, one after the other.
    #[must_use]
    pub fn chain(&self) -> String {
        nodejoin_core::run::error_chain::chain(self)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::io;
    use std::sync::Arc;

    use nodejoin_core::kubernetes::Minor;
    use nodejoin_core::plan::ProviderName;
    use nodejoin_core::user_data::UserDataError;

    use super::*;

    fn docker() -> DockerError {
        DockerError::NotPulled {
            image: "rancher/k3s".to_owned(),
            reason: "no such host".to_owned(),
        }
    }

    fn full() -> io::Error {
        io::Error::from(io::ErrorKind::StorageFull)
    }

    /// An error of each variant whose text is written in this file. Texts of other crates have their own snapshots.
    fn errors() -> Vec<EngineError> {
        let unavailable = || EngineError::Unavailable {
            name: ProviderName::K3s,
            reason: "no image".to_owned(),
            hint: "load one".to_owned(),
        };
        vec![
            EngineError::Docker(docker()),
            EngineError::Node(NodeError::Answer {
                node: "i-1".to_owned(),
                source: full(),
            }),
            EngineError::Shared(Arc::new(unavailable())),
            EngineError::UserData {
                scenario: "al2/joins".to_owned(),
                source: UserDataError::TooLarge { size: 20_000 },
            },
            EngineError::Skew(
                nodejoin_core::kubernetes::check_skew(Minor::of("v1.20.1"), Minor::of("v1.32.0"))
                    .unwrap_err(),
            ),
            unavailable(),
            EngineError::Write {
                path: "/evidence/x".into(),
                source: full(),
            },
        ]
    }

    #[test]
    fn texts_and_hints_match_their_snapshot() {
        let mut all = String::new();
        for error in errors() {
            let hint = match &error {
                EngineError::Unavailable { hint, .. } => Some(hint.clone()),
                EngineError::Write { .. } => error.hint(),
                _ => None,
            };
            writeln!(all, "{error}").unwrap();
            hint.iter()
                .for_each(|hint| writeln!(all, "  do: {hint}").unwrap());
        }
        insta::assert_snapshot!("errors", all);
    }
}
