//! The one stream of events that feeds the console, JSON lines, JUnit and whoever else wants to know.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::judge::verdict::Verdict;
use crate::observation::Millis;
use crate::observation::phase::Phase;
use crate::plan::ids::{RunId, ScenarioId};
use crate::plan::sources::SourceLine;
use crate::run::shard::Shard;

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum RunEvent {
    /// The run began.
    RunStarted {
        /// Its id, as it stands on everything it makes.
        run: RunId,
        /// How many scenarios it has.
        scenarios: usize,
        /// The share of all that they are, where they are one.
        #[serde(default)]
        shard: Option<Shard>,
    },
    /// An image is not there yet and is being made.
    ImageStarted {
        /// Its name and tag.
        image: String,
        /// The file that its build writes to.
        log: String,
    },
    /// A step of an image's build.
    ImageStep {
        /// Its name and tag.
        image: String,
        /// What the builder said.
        text: String,
    },
    /// An image was made.
    ImageReady {
        /// Its name and tag.
        image: String,
        /// How long it took.
        seconds: f64,
    },
    /// A control plane was told to start.
    ControlPlaneStarting {
        /// Who runs it.
        provider: String,
    },
    /// A control plane answers.
    ControlPlaneReady {
        /// Who runs it.
        provider: String,
        /// Its version, such as `v1.20.2`.
        kubernetes: String,
        /// From the start of its container until it was ready.
        seconds: f64,
        /// Where that time went, by name, in seconds.
        parts: BTreeMap<String, f64>,
    },
    /// A scenario has everything it needs, and its node starts.
    ScenarioStarted {
        /// Which.
        scenario: ScenarioId,
        /// Its sentence.
        name: String,
    },
    /// A scenario's node reached a phase.
    PhaseReached {
        /// Which scenario.
        scenario: ScenarioId,
        /// The phase.
        phase: Phase,
        /// When, after the start of the node.
        at: Millis,
    },
    /// A scenario has its verdict.
    ScenarioFinished {
        /// Which.
        scenario: ScenarioId,
        /// Its sentence.
        name: String,
        /// The file it was read from.
        file: String,
        /// The line of the user's files that the verdict belongs to.
        #[serde(default)]
        source: SourceLine,
        /// What the harness says.
        verdict: Box<Verdict>,
        /// From the moment it had everything it needs.
        seconds: f64,
        /// The folder of evidence, where one was kept.
        evidence: Option<String>,
        /// How to get into what was kept, where something was.
        kept: Vec<String>,
    },
    /// Something that the user should know and that is no verdict.
    Warning {
        /// What.
        text: String,
    },
    /// A snapshot of a node was written anew: it was not there, or differed.
    SnapshotWritten {
        /// Its path.
        path: String,
    },
    /// The user asked for the end of the run.
    Cancelling,
    /// The run is over and what it made is removed.
    RunFinished(Summary),
}

/// A run in numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Scenarios that passed.
    pub passed: usize,
    /// Scenarios that failed.
    pub failed: usize,
    /// Scenarios of which the harness could not tell.
    pub errored: usize,
    /// Scenarios that were not for this control plane or host.
    pub skipped: usize,
    /// Scenarios that were not finished when the run was ended.
    pub cancelled: usize,
    /// How long the run took.
    pub seconds: f64,
    /// What could not be removed.
    pub left_behind: Vec<String>,
}
