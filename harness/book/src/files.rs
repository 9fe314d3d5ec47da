//! Files of the repository.

use std::path::Path;

/// Reads a file below the repository.
pub(crate) fn read(repository: &Path, path: &str) -> Result<String, String> {
    std::fs::read_to_string(repository.join(path))
        .map_err(|error| format!("could not read `{path}`: {error}"))
}
