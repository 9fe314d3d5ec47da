//! The event stream of a run, which feeds the console, JSON lines, JUnit and other reports.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::judge::verdict::{Outcome, Verdict};
use crate::observation::{ImageFacts, Millis};
use crate::plan::sources::SourceLine;
use crate::run::shard::Shard;
use crate::vocabulary::ids::{RunId, ScenarioId};
use crate::vocabulary::phase::Phase;

/// An event of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum RunEvent {
    /// The run starts.
    RunStarted {
        /// Run id, the value of the label `nodejoin.run`.
        run: RunId,
        /// Number of scenarios.
        scenarios: usize,
        /// The shard that runs.
        #[serde(default)]
        shard: Option<Shard>,
    },
    /// Another process builds an image, and the run waits for it.
    ImageWaiting {
        /// Name and tag of the image.
        image: String,
    },
    /// An image build starts.
    ImageStarted {
        /// Name and tag of the image.
        image: String,
        /// Log file of the build.
        log: String,
    },
    /// A step of an image's build.
    ImageStep {
        /// Name and tag of the image.
        image: String,
        /// Output of the builder.
        text: String,
    },
    /// A file for an image is downloaded; sent about twice a second.
    ImageDownload {
        /// Name and tag of the image.
        image: String,
        /// Name of the file.
        file: String,
        /// Bytes so far.
        bytes: u64,
        /// Size of the file, if the server states it.
        total: Option<u64>,
    },
    /// An image build is complete.
    ImageReady {
        /// Name and tag of the image.
        image: String,
        /// Duration of the build.
        seconds: f64,
    },
    /// A node image that the harness did not build is ready.
    ImageInspected {
        /// Name and tag of the imported image.
        image: String,
        /// What it has.
        facts: Box<ImageFacts>,
    },
    /// A control plane starts.
    ControlPlaneStarting {
        /// Provider of the control plane.
        provider: String,
    },
    /// A control plane is ready.
    ControlPlaneReady {
        /// Provider of the control plane.
        provider: String,
        /// Kubernetes version, such as `v1.20.2`.
        kubernetes: String,
        /// Seconds from the start of its container until it is ready.
        seconds: f64,
        /// Duration of each step in seconds, by name.
        parts: BTreeMap<String, f64>,
    },
    /// A scenario has its environment, and its node starts.
    ScenarioStarted {
        scenario: ScenarioId,
        /// The sentence that describes the scenario.
        name: String,
    },
    /// A node of a scenario reaches a phase.
    PhaseReached {
        scenario: ScenarioId,
        phase: Phase,
        /// Time since the start of the node.
        at: Millis,
    },
    /// A scenario has a verdict, and the run stops with everything alive until it is cancelled.
    Held {
        scenario: ScenarioId,
        /// The sentence that describes the scenario.
        name: String,
        verdict: Box<Verdict>,
        /// Commands that lead in.
        commands: Vec<String>,
    },
    /// A scenario has a verdict.
    ScenarioFinished {
        scenario: ScenarioId,
        /// The sentence that describes the scenario.
        name: String,
        /// Path of the scenario file.
        file: String,
        /// The position that the verdict refers to.
        #[serde(default)]
        source: SourceLine,
        verdict: Box<Verdict>,
        /// Seconds since `ScenarioStarted`; without it, since the wait for images and control plane began.
        seconds: f64,
        /// Folder of the evidence, if kept.
        evidence: Option<String>,
        /// Commands to access kept containers.
        kept: Vec<String>,
    },
    /// A warning that is not part of a verdict.
    Warning { text: String },
    /// A snapshot of a node was written, because it was missing or different.
    SnapshotWritten { path: String },
    /// The user requests the end of the run.
    Cancelling,
    /// The run is complete and its resources are removed.
    RunFinished(Summary),
}

/// The results of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Scenarios that passed.
    pub passed: usize,
    /// Scenarios that failed.
    pub failed: usize,
    /// Scenarios that the harness could not decide.
    pub errored: usize,
    /// Scenarios that do not support this control plane or host.
    pub skipped: usize,
    /// Scenarios that were unfinished when the run was cancelled.
    pub cancelled: usize,
    /// Scenarios that did not start because `--fail-fast` ended the run.
    #[serde(default)]
    pub not_run: usize,
    /// Duration of the run.
    pub seconds: f64,
    /// Resources that could not be removed.
    pub left_behind: Vec<String>,
}

impl Summary {
    /// Adds one outcome.
    pub fn count(&mut self, outcome: &Outcome) {
        let counter = match outcome {
            Outcome::Passed => &mut self.passed,
            Outcome::Failed => &mut self.failed,
            Outcome::Errored(_) => &mut self.errored,
            Outcome::Skipped(_) => &mut self.skipped,
            Outcome::Cancelled => &mut self.cancelled,
        };
        *counter += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_has_its_counter() {
        let mut summary = Summary::default();
        for outcome in [
            Outcome::Passed,
            Outcome::Failed,
            Outcome::Errored(String::new()),
            Outcome::Skipped(String::new()),
            Outcome::Cancelled,
            Outcome::Passed,
        ] {
            summary.count(&outcome);
        }
        let Summary {
            passed,
            failed,
            errored,
            skipped,
            cancelled,
            ..
        } = summary;
        assert_eq!([passed, failed, errored, skipped, cancelled], [2, 1, 1, 1, 1]);
    }
}
