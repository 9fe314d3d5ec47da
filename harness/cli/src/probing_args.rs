//! The arguments that all commands share that boot nodes up to the start of the kubelet.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use nodejoin_core::run::env;
use nodejoin_core::run::settings::JobCount;

use crate::keeper_args::KeeperChoice;

/// How many nodes boot at the same time, and where results go.
#[derive(Debug, ClapArgs)]
pub struct ProbingArgs {
    /// Write a Markdown summary to this file [default: append to the file in `GITHUB_STEP_SUMMARY`, if set]
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,
    /// Number of scenarios to run at the same time [default: two for each processor, at most 8]
    #[arg(long, short, env = env::JOBS.name)]
    pub jobs: Option<JobCount>,
    /// Folder for evidence [default: target/nodejoin in a cargo project, else .nodejoin]
    #[arg(long, env = env::ARTIFACTS.name)]
    pub artifacts_dir: Option<PathBuf>,
    #[command(flatten)]
    pub keeper: KeeperChoice,
}
