//! Locks between processes with the same cache folder.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::Duration;

use crate::error::DockerError;

/// Interval at which a waiting process tries to take a file lock; not multiplied by the time factor.
const LOCK_POLL: Duration = Duration::from_millis(200);

/// An exclusive lock on a file. The kernel releases it when the process ends.
pub(crate) struct FileLock {
    _file: File,
}

impl FileLock {
    /// Waits for the lock.
    pub(crate) async fn take(folder: &Path, name: &str) -> Result<Self, DockerError> {
        loop {
            if let Some(lock) = Self::try_take(folder, name)? {
                return Ok(lock);
            }
            // The kernel sends no event for a released lock, and a blocking wait could not be cancelled.
            tokio::time::sleep(LOCK_POLL).await;
        }
    }

    /// Takes the lock; `None` if it is held.
    pub(crate) fn try_take(folder: &Path, name: &str) -> Result<Option<Self>, DockerError> {
        std::fs::create_dir_all(folder).map_err(DockerError::io("create folder", folder))?;
        let path = folder.join(format!("{name}.lock"));
        let file = File::create(&path).map_err(DockerError::io("open", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(DockerError::io("lock", &path)(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_lock_is_exclusive() {
        let folder = tempfile::tempdir().unwrap();
        let first = FileLock::try_take(folder.path(), "al2").unwrap();
        assert!(first.is_some());
        assert!(FileLock::try_take(folder.path(), "al2").unwrap().is_none());
        assert!(FileLock::try_take(folder.path(), "other").unwrap().is_some());
        drop(first);
        assert!(FileLock::try_take(folder.path(), "al2").unwrap().is_some());
    }
}
