//! Snapshots of nodes next to their scenarios, as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The parts of a node that a snapshot contains.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GoldenFile {
    /// Path of the snapshot, relative to this file (default: the name of the scenario file with the extension
    /// `.snapshot`).
    pub snapshot: Option<String>,
    /// Files on the node, by absolute path.
    pub files: Vec<String>,
    /// Whether the snapshot contains the arguments of the kubelet, one per line.
    pub argv: bool,
    /// Texts of lines that the snapshot leaves out, such as `"cpu":`: values that depend on the host that runs
    /// nodejoin.
    pub without_lines: Vec<String>,
}

/// The parts of a node that a snapshot contains, with the text of the existing snapshot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GoldenPlan {
    /// Path of the snapshot file.
    pub path: String,
    /// Files on the node, by absolute path.
    pub files: Vec<String>,
    /// Whether the snapshot contains the arguments of the kubelet.
    pub argv: bool,
    /// Texts of lines that the snapshot leaves out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_lines: Vec<String>,
    /// Content of the snapshot; `None` if the file does not exist yet.
    pub text: Option<String>,
}
