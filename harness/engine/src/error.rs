//! Errors of the harness around a scenario. None of them is the fault of the node.

use nodejoin_cluster::ClusterError;
use nodejoin_core::run::error_chain::chain;
use nodejoin_docker::DockerError;
use nodejoin_node::NodeError;

/// The harness could not decide whether the node joins.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The container engine, or an image. The texts of these errors name their object.
    #[error(transparent)]
    Docker(#[from] DockerError),
    /// The control plane did not start, or ended.
    #[error("the control plane failed")]
    Cluster(#[from] ClusterError),
    /// The node's container could not be created or read.
    #[error("the node's container failed")]
    Node(#[from] NodeError),
    /// The start of an environment failed; every scenario that needs the environment reports it.
    #[error(transparent)]
    Shared(std::sync::Arc<EngineError>),
    #[error("could not start the fake AWS")]
    Fakes(#[source] nodejoin_fake_aws::FakeAwsError),
    /// An image that the scenario lists is not available.
    #[error(transparent)]
    Image(nodejoin_core::input::problem::ScenarioError),
    #[error("could not render the user data of `{scenario}`")]
    UserData {
        scenario: String,
        #[source]
        source: nodejoin_core::user_data::UserDataError,
    },
    /// Kubernetes does not support the node's kubelet with the control plane.
    #[error(transparent)]
    Skew(#[from] nodejoin_core::kubernetes::SkewError),
    /// A control plane cannot run here. Its scenarios are skipped unless it is required.
    #[error("the control plane `{name}` is not available: {reason}")]
    Unavailable {
        name: nodejoin_core::plan::ProviderName,
        reason: String,
        /// How to make it available.
        hint: String,
    },
    /// The node's container did not become a machine.
    #[error("no machine of this image could be started: {why}")]
    NotMade { why: String },
    /// A file of the run could not be written.
    #[error("could not write `{path}`")]
    Write {
        path: std::path::PathBuf,
        #[source]
        source: std::io::Error,
    },
}

impl EngineError {
    /// The action that resolves the error; `None` when none is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Shared(error) => error.hint(),
            Self::Docker(error) => error.hint(),
            Self::Cluster(error) => error.hint(),
            Self::Node(error) => Some(error.hint().to_owned()),
            Self::Fakes(error) => error.hint(),
            Self::Image(error) => error.hint().map(str::to_owned),
            Self::UserData { source, .. } => Some(source.hint()),
            Self::Skew(error) => Some(error.hint()),
            Self::Unavailable { hint, .. } => Some(hint.clone()),
            Self::NotMade { .. } => Some(
                "try the image `al2`: if its node starts, the image lacks what this step needs".to_owned(),
            ),
            Self::Write { .. } => Some("pass another folder with `--artifacts-dir`".to_owned()),
        }
    }

    /// The error with its causes, each once, and the hint on a line of its own.
    pub(crate) fn with_hint(&self) -> String {
        match self.hint() {
            Some(hint) => format!("{}\n{hint}", chain(self)),
            None => chain(self),
        }
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
            EngineError::NotMade {
                why: "the node could not be made: mounting the views (status 1)".to_owned(),
            },
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
                EngineError::Write { .. } | EngineError::NotMade { .. } => error.hint(),
                _ => None,
            };
            writeln!(all, "{error}").unwrap();
            hint.iter()
                .for_each(|hint| writeln!(all, "  do: {hint}").unwrap());
        }
        insta::assert_snapshot!("errors", all);
    }

    #[derive(Debug, thiserror::Error)]
    #[error("could not write `/x`: disk full")]
    struct Repeating(#[source] DiskFull);

    #[derive(Debug, thiserror::Error)]
    #[error("disk full")]
    struct DiskFull;

    #[test]
    fn a_version_of_kubernetes_that_is_missing_is_not_a_failure_of_the_container_engine() {
        let error = EngineError::Docker(DockerError::NoKubernetes {
            requested: "1.36".parse().unwrap(),
            tried: vec!["no network".to_owned()],
        });
        let text = error.with_hint();
        assert!(
            text.starts_with("Kubernetes 1.36 is not available: no network\n"),
            "{text}"
        );
    }

    #[test]
    fn a_cause_that_its_error_already_names_is_not_repeated() {
        assert_eq!(chain(&Repeating(DiskFull)), "could not write `/x`: disk full");
    }

    #[test]
    fn the_text_of_an_errored_verdict_names_every_cause_and_the_hint() {
        let error = EngineError::UserData {
            scenario: "al2/joins".to_owned(),
            source: UserDataError::TooLarge { size: 20_000 },
        };
        let text = error.with_hint();
        let (first, hint) = text.split_once('\n').unwrap();
        assert!(
            first.contains("`al2/joins`: ") && first.contains("20000"),
            "{text}"
        );
        assert_eq!(Some(hint.to_owned()), error.hint());
    }
}
