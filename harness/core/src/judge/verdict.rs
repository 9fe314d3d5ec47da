//! What the harness says of a join.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::diagnosis::Diagnosis;
use crate::observation::phase::Phase;
use crate::observation::{Deviation, Millis};

/// What the harness says of one scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The word.
    pub outcome: Outcome,
    /// The versions that were seen to run; `None` where nothing ran.
    #[serde(default)]
    pub versions: Option<Versions>,
    /// When each phase was reached.
    pub phases: BTreeMap<Phase, Millis>,
    /// Why the join stopped, where it did.
    pub diagnosis: Option<Diagnosis>,
    /// Every check, held or not.
    pub checks: Vec<Check>,
    /// Changes that the harness made to what the AMI would have.
    pub deviations: Vec<Deviation>,
    /// What it was put together from: steps after the join.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
}

/// A part of a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Its name, such as `then reboot`.
    pub name: String,
    /// When each phase was reached, from the part's own start.
    pub phases: BTreeMap<Phase, Millis>,
    /// Why it stopped, where it did.
    pub diagnosis: Option<Diagnosis>,
}

/// The versions of Kubernetes that a join was seen with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    /// The control plane's, such as `v1.36.3`.
    pub kubernetes: String,
    /// The kubelet's.
    pub kubelet: String,
}

/// The word of a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "outcome", content = "reason")]
pub enum Outcome {
    /// Everything that must be seen was seen.
    Passed,
    /// Something that must be seen was not, or something that must not be seen was.
    Failed,
    /// The harness could not tell.
    Errored(String),
    /// The scenario is not for this control plane or this host.
    Skipped(String),
    /// The user ended the run.
    Cancelled,
}

/// One thing that was checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// Key of the scenario's `expect`, such as `node.labels.app`.
    pub key: String,
    /// Whether it held.
    pub held: bool,
    /// What was wanted.
    pub expected: String,
    /// What was seen.
    pub seen: String,
}
