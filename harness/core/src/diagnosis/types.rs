//! What a diagnosis says.

use serde::{Deserialize, Serialize};

use super::cause::Cause;
use crate::observation::phase::Phase;

/// Why a join stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The last phase that was reached.
    pub phase: Option<Phase>,
    /// The cause, by name.
    pub cause: Cause,
    /// The cause, in one sentence.
    pub because: String,
    /// The line of evidence, with its source and time.
    pub seen: String,
    /// The way out.
    pub remedy: String,
    /// Where the script was when it ended, where it said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptLocation>,
}

/// A place in a script, in the node's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptLocation {
    /// The script's path, its file name, or the name of its part of the user data; `None` where only a line was told.
    pub script: Option<String>,
    /// The line, from 1; `None` where only the script is known.
    pub line: Option<u64>,
}
