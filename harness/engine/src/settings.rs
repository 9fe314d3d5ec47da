//! Settings of a run.

use std::path::PathBuf;

use nodejoin_cluster::ExternalSettings;
use nodejoin_core::plan::ProviderName;
use nodejoin_core::run::require::Require;
use nodejoin_core::run::settings::KeepWhen;
use nodejoin_core::run::shard::Shard;
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
    /// When nodes and control planes remain after the run.
    pub keep: KeepWhen,
    /// Whether to rewrite the snapshots (`golden`) of nodes that pass otherwise.
    pub bless: bool,
    /// Whether no scenario starts after one failed or errored.
    pub fail_fast: bool,
    /// The part of all scenarios that this run covers, for the reports.
    pub shard: Option<Shard>,
}
