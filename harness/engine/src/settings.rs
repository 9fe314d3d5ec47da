//! What a run is told beside its scenarios.

use std::path::PathBuf;

use nodejoin_cluster::ExternalSettings;
use nodejoin_core::plan::ProviderName;
use nodejoin_core::run::require::Require;
use nodejoin_core::run::shard::Shard;
use nodejoin_docker::ImageSettings;

/// Settings of one run, resolved from flags and environment at the edge.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where images and programs come from.
    pub images: ImageSettings,
    /// Who runs the control planes; where nobody was chosen, each scenario says.
    pub control_plane: Option<ProviderName>,
    /// Control planes that must be there: without one of them its scenarios are not skipped but errored.
    pub require: Require,
    /// The cluster of the provider `external`.
    pub external: ExternalSettings,
    /// The folder in which each run makes a folder of its own.
    pub artifacts: PathBuf,
    /// How many scenarios run at once.
    pub jobs: usize,
    /// What stays after the run.
    pub keep: Keep,
    /// Whether snapshots of nodes that pass otherwise are written anew.
    pub bless: bool,
    /// The share of all scenarios that this run's are, where they are one.
    pub shard: Option<Shard>,
}

/// What stays after the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keep {
    /// Nothing.
    #[default]
    Never,
    /// Nodes that did not pass, and what they need.
    OnFailure,
    /// Everything.
    Always,
}

impl Keep {
    /// Whether a node with such an end stays.
    #[must_use]
    pub fn keeps(self, passed: bool) -> bool {
        match self {
            Self::Never => false,
            Self::OnFailure => !passed,
            Self::Always => true,
        }
    }
}
