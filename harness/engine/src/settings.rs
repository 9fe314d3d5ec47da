//! Settings of a run.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use nodejoin_cluster::ExternalSettings;
use nodejoin_core::plan::ProviderName;
use nodejoin_core::plan::ids::ScenarioId;
use nodejoin_core::run::require::Require;
use nodejoin_core::run::settings::{EvidenceWhen, KeepWhen};
use nodejoin_core::run::shard::Shard;
use nodejoin_core::run::shell;
use nodejoin_docker::ImageSettings;

/// Settings of one run, resolved from flags, environment and `nodejoin.yaml` by the caller.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where images and programs come from.
    pub images: ImageSettings,
    /// The provider of all control planes; `None` lets each scenario choose.
    pub control_plane: Option<ProviderName>,
    /// Control planes that must be available: without one of them its scenarios error instead of being skipped.
    pub require: Require,
    /// The cluster of the provider `external`.
    pub external: ExternalSettings,
    /// The folder in which each run creates its own folder.
    pub artifacts: PathBuf,
    /// Number of scenarios that run at the same time.
    pub jobs: usize,
    /// When scenarios leave evidence.
    pub evidence: EvidenceWhen,
    /// What the evidence contains about the caller.
    pub caller: Caller,
    /// When nodes and control planes remain after the run.
    pub keep: KeepWhen,
    /// Whether the run stops at the first scenario that does not pass, or at the last one, with everything alive.
    pub hold: bool,
    /// Whether nodes boot before their scenarios start, up to a gate before user data.
    pub boot_ahead: bool,
    /// Whether to rewrite the snapshots (`golden`) of nodes that pass otherwise.
    pub bless: bool,
    /// Whether no scenario starts after one failed or errored.
    pub fail_fast: bool,
    /// The part of all scenarios that this run covers, for the reports.
    pub shard: Option<Shard>,
}

/// The command that runs a scenario again, from its id and its file.
pub type RerunCommand = Arc<dyn Fn(&ScenarioId, &str) -> String + Send + Sync>;

/// What the evidence contains about the program that runs the scenarios.
#[derive(Clone)]
pub struct Caller {
    /// Version of nodejoin, with its commit if known.
    pub version: String,
    pub rerun: RerunCommand,
}

impl Default for Caller {
    fn default() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            rerun: Arc::new(|_, file| format!("nodejoin run {}", shell::quoted(file))),
        }
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller")
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}
