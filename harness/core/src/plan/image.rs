//! The node image and its overlay files.

use serde::{Deserialize, Serialize};

use crate::plan::sources::LineMap;

/// The node image and its overlay files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImagePlan {
    /// Name of the node image: a folder of `fixtures/images/nodes`, or a local image (`image:tag`).
    pub name: String,
    /// Overlay files, in order; later files take precedence.
    pub overlay: Vec<OverlayFile>,
}

/// A file that an overlay adds to the image.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverlayFile {
    /// Absolute path on the host.
    pub from: String,
    /// Absolute path in the node.
    pub to: String,
    /// File mode.
    pub mode: u32,
    /// Replaces the content of `from` if the manifest names a patch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patched: Option<PatchedFile>,
}

/// A file of an overlay after its patch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PatchedFile {
    /// The patch file on this machine, absolute.
    pub patch: String,
    /// The content that lands in the node.
    pub content: String,
    /// Maps lines of `content` to `from` and `patch`.
    pub lines: LineMap,
}
