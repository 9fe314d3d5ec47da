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
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        text
    }
}
