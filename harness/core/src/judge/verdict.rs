//! The verdict on a scenario, as data.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use super::joined_node::JoinedNode;
use crate::diagnosis::Diagnosis;
use crate::observation::{Deviation, Millis};
use crate::vocabulary::phase::Phase;

/// The result of one scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    pub outcome: Outcome,
    /// The versions that ran; `None` if nothing ran.
    #[serde(default)]
    pub versions: Option<Versions>,
    /// The time of each phase that was reached.
    pub phases: BTreeMap<Phase, Millis>,
    /// Why the join stopped.
    pub diagnosis: Option<Diagnosis>,
    pub checks: Vec<Check>,
    /// Problems of a node that joined nevertheless. Of one that did not, requests of its user data without an answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// The Node at the end of the join; `None` if there is none, or if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<JoinedNode>,
    /// Differences between the node and the AMI that the harness caused.
    pub deviations: Vec<Deviation>,
    /// The steps after the join.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<VerdictPart>,
}

/// Problems that do not stop a join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoteKind {
    /// A part of the user data ended with an error.
    UserDataFailed,
    /// The user data was still running at the verdict.
    UserDataRuns,
    /// A command in the user data failed, and the user data continued.
    CommandFailed,
    /// A request of the user data to a host outside had no answer, and the user data continued.
    RequestNotAnswered,
    /// The account did not have an object of S3, a parameter or a secret that the user data requested.
    ObjectNotFound,
    /// systemd ignored a line of a unit.
    UnitLineIgnored,
    /// A part of the user data did not run.
    PartNotRun,
    /// cloud-init reports errors.
    CloudInitError,
    /// The metadata service rejected requests without a session token.
    RequestWithoutToken,
    /// The user data rebooted the instance.
    InstanceRebooted,
    /// The user data has a name between `{{` and `}}` that is almost one that nodejoin fills in.
    PlaceholderTypo,
    /// A label of the kubelet has the value that a program prints if it finds nothing.
    LabelOfNothing,
    /// The Node of a trial has no label, taint or number of pods that a flag in the user data states.
    RegistrationLost,
}

/// A problem of a node that joined nevertheless.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    pub kind: NoteKind,
    /// The problem in one sentence, with its evidence.
    pub what: String,
}

impl Note {
    pub(crate) fn new(kind: NoteKind, what: impl Into<String>) -> Self {
        Self {
            kind,
            what: what.into(),
        }
    }

    /// The note with the name of its node or step.
    pub(crate) fn of(&self, name: &str) -> Self {
        Self::new(self.kind, format!("{name}: {}", self.what))
    }
}

/// The part of a verdict for one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VerdictPart {
    /// Its name, such as `then reboot`.
    pub name: String,
    /// The time of each phase, from the start of the step.
    pub phases: BTreeMap<Phase, Millis>,
    /// Why the step stopped.
    pub diagnosis: Option<Diagnosis>,
}

/// The versions of Kubernetes that a join ran with, and the image of its node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Versions {
    /// Version of the control plane, such as `v1.36.3`.
    pub kubernetes: String,
    /// Version of the kubelet.
    pub kubelet: String,
    /// The node image, if it is not the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// The outcome of a verdict, with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", tag = "outcome", content = "reason")]
pub enum Outcome {
    /// Every check holds.
    Passed,
    /// At least one check does not hold.
    Failed,
    /// The harness cannot decide.
    Errored(String),
    /// The scenario does not apply to this control plane or host.
    Skipped(String),
    /// The user interrupted the run.
    Cancelled,
}

/// A comparison of an expectation with the observation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Key of the scenario's `expect`, such as `node.labels.app`.
    pub key: String,
    pub held: bool,
    pub expected: String,
    pub seen: String,
}
