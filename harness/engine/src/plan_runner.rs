//! Runs the plans of an instrument that probes: in a run of this process, or in a keeper.

use std::path::PathBuf;

use nodejoin_core::judge::verdict::{Outcome, Verdict};
use nodejoin_core::plan::Plan;
use tokio_util::sync::CancellationToken;

use crate::evidence::EvidenceFolder;
use crate::keeper::KeeperSession;
use crate::probe::ProbeEnd;
use crate::runner::Runner;
use crate::verdict::verdict_without_observation;

/// Runs plans one by one.
pub enum PlanRunner {
    /// In a run of this process.
    Own(Box<Runner>),
    /// In a keeper, whose control planes are ready.
    Keeper {
        session: KeeperSession,
        /// The folder for evidence, as in the settings of the session.
        artifacts: PathBuf,
    },
}

impl From<Runner> for PlanRunner {
    fn from(runner: Runner) -> Self {
        Self::Own(Box::new(runner))
    }
}

impl PlanRunner {
    /// As [`Runner::run`].
    pub async fn run(&self, plan: &Plan, cancel: &CancellationToken) -> Verdict {
        match self {
            Self::Own(runner) => runner.run(plan, cancel).await,
            Self::Keeper { session, .. } => tokio::select! {
                verdict = session.run(plan) => verdict,
                () = cancel.cancelled() => verdict_without_observation(Outcome::Cancelled),
            },
        }
    }

    /// As [`Runner::probe`].
    pub async fn probe(&self, plan: &Plan, cancel: &CancellationToken) -> ProbeEnd {
        match self {
            Self::Own(runner) => runner.probe(plan, cancel).await,
            Self::Keeper { session, .. } => tokio::select! {
                end = session.probe(plan) => end,
                () = cancel.cancelled() => ProbeEnd::Cancelled,
            },
        }
    }

    /// The folder for the evidence of a plan that does not pass.
    #[must_use]
    pub fn evidence_folder(&self, plan: &Plan) -> PathBuf {
        match self {
            Self::Own(runner) => runner.evidence_folder(plan),
            Self::Keeper { session, artifacts } => {
                EvidenceFolder::path_for(&artifacts.join(session.run.as_str()), plan)
            }
        }
    }

    /// Ends the run and removes everything that it created. Returns what could not be removed.
    pub async fn tear_down(self) -> Vec<String> {
        match self {
            Self::Own(runner) => runner.tear_down().await.left,
            Self::Keeper { session, .. } => session.end().await,
        }
    }
}
