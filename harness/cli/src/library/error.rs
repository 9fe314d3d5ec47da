//! Why nothing ran.

use nodejoin_core::input::problem::ScenarioError;
use nodejoin_docker::DockerError;

/// Why a harness did not start, or a scenario did not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// The container engine does not respond, or is not supported.
    #[error("the container engine is not available: {source}{}", hint(.source))]
    Engine {
        #[from]
        source: DockerError,
    },
    /// A scenario file, or what it names, is invalid.
    #[error("{}", .0.with_hints().trim_end())]
    Scenario(ScenarioError),
    /// A value of the builder or of an environment variable is invalid.
    #[error("{what}: {why}")]
    Setting { what: String, why: String },
    /// The system refused something.
    #[error("could not {what}: {source}")]
    Host {
        what: &'static str,
        source: std::io::Error,
    },
}

fn hint(error: &DockerError) -> String {
    error
        .hint()
        .map(|hint| format!("\n  do: {hint}"))
        .unwrap_or_default()
}

impl From<ScenarioError> for LibraryError {
    fn from(error: ScenarioError) -> Self {
        Self::Scenario(error)
    }
}
