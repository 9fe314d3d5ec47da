//! Why runs cannot be joined.

use std::path::PathBuf;

/// Why runs cannot be joined, with the file that is the reason.
#[derive(Debug, thiserror::Error)]
#[error("{}: {what}", .path.display())]
pub struct MergeError {
    pub path: PathBuf,
    pub what: String,
    /// What the user can do.
    pub hint: String,
}
