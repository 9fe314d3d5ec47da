//! What a diagnosis says, and what a rule finds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::observation::Millis;
use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;

/// Why a join stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    /// The last phase that the join reached.
    pub phase: Option<Phase>,
    pub cause: Cause,
    /// The cause in one sentence.
    pub because: String,
    /// The line of evidence, with its source and time.
    pub seen: String,
    /// What to change.
    pub remedy: String,
    /// Where the script ended, if its output says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptLocation>,
}

impl Diagnosis {
    /// Everything that a report says about it, line by line.
    pub(crate) fn text(&self) -> String {
        format!("{}\n{}\n{}", self.because, self.seen, self.remedy)
    }
}

/// A line of a script, as the node names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScriptLocation {
    /// The script's path, its file name, or the name of its part of the user data; `None` if only the line is known.
    pub script: Option<String>,
    /// The line, from 1; `None` if only the script is known.
    pub line: Option<u64>,
}

/// A cause that a rule found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finding {
    pub(crate) diagnosis: Diagnosis,
    /// The time of the first evidence.
    pub(crate) at: Millis,
    /// Whether the join cannot recover by itself once the user data is done.
    pub(crate) is_final: bool,
}
