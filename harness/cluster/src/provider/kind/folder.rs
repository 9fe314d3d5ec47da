//! The files of one kind cluster on this machine. They are removed with the control plane.

use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nodejoin_docker::write_private;

use crate::ClusterError;
use crate::install::LocalFiles;
use crate::wiring::ApiServerWiring;

const LOG_RETENTION: Duration = Duration::from_secs(7 * 24 * 3600);

/// A folder with the files of a cluster, including the key of its CA. Only its owner can read it.
#[derive(Debug)]
pub(crate) struct ClusterFolder {
    path: PathBuf,
    kept: AtomicBool,
}

impl ClusterFolder {
    /// Creates the folder with the files of the wiring.
    pub(crate) fn create(path: PathBuf, wiring: &ApiServerWiring) -> Result<Self, ClusterError> {
        let folder = Self {
            path,
            kept: AtomicBool::new(false),
        };
        for sub in ["wiring", "bin", "runs"] {
            create_folder(&folder.file(sub)).map_err(|error| folder.failed(sub, error))?;
        }
        for file in wiring.files() {
            folder.write(&format!("wiring/{}", file.name), file.text.reveal())?;
        }
        folder.write("ca.crt", wiring.pki.cluster.pem())?;
        folder.write("ca.key", wiring.pki.cluster.key().reveal())?;
        Ok(folder)
    }

    /// The path of a file in the folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file that only its owner can read.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf, ClusterError> {
        let path = self.file(name);
        write_private(&path, text).map_err(|error| self.failed(name, error))?;
        Ok(path)
    }

    /// Writes an executable file.
    pub(crate) fn write_program(&self, name: &str, text: &str) -> Result<PathBuf, ClusterError> {
        let path = self.write(name, text)?;
        let executable = std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700));
        executable.map_err(|error| self.failed(name, error))?;
        Ok(path)
    }

    fn failed(&self, name: &str, source: std::io::Error) -> ClusterError {
        ClusterError::File {
            path: self.file(name),
            source,
        }
    }
}

impl LocalFiles for ClusterFolder {
    /// The cluster's node mounts the files of the wiring and cannot restart without them.
    fn keep(&self) {
        self.kept.store(true, Ordering::Relaxed);
    }
}

impl Drop for ClusterFolder {
    fn drop(&mut self) {
        if self.kept.load(Ordering::Relaxed) {
            return;
        }
        if let Err(error) = std::fs::remove_dir_all(&self.path) {
            tracing::warn!(folder = %self.path.display(), %error, "could not remove the keys of a cluster");
        }
    }
}

/// Removes logs of failed clusters after a week. Error messages name them.
pub(crate) fn remove_old_logs(cache: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(cache)? {
        let entry = entry?;
        let is_log = entry
            .path()
            .extension()
            .is_some_and(|extension| extension == "log");
        // A clock that was set back makes a file look new.
        let age = entry.metadata()?.modified()?.elapsed().unwrap_or_default();
        if is_log && age > LOG_RETENTION {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn create_folder(path: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki::Pki;

    #[test]
    fn the_folder_is_private_and_removed_on_drop_unless_kept() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("cluster");
        let wiring = ApiServerWiring {
            webhooks: "10.0.0.1:5000".parse().unwrap(),
            pki: Pki::generate().unwrap(),
        };
        let folder = ClusterFolder::create(path.clone(), &wiring).unwrap();
        let mode = |name: &str| std::fs::metadata(path.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(""), mode("ca.key")), (0o700, 0o600));
        assert!(path.join("wiring/audit-policy.yaml").is_file());
        drop(folder);
        assert!(!path.exists());
        let folder = ClusterFolder::create(path.clone(), &wiring).unwrap();
        folder.keep();
        drop(folder);
        assert!(path.join("ca.key").exists(), "a kept cluster needs it");
    }

    #[test]
    fn only_logs_older_than_a_week_are_removed() {
        let cache = tempfile::tempdir().unwrap();
        let hour = Duration::from_secs(3600);
        for (name, age) in [
            ("old.log", LOG_RETENTION + hour),
            ("new.log", LOG_RETENTION - hour),
            ("old", LOG_RETENTION + hour),
        ] {
            let file = std::fs::File::create(cache.path().join(name)).unwrap();
            file.set_modified(std::time::SystemTime::now() - age).unwrap();
        }
        remove_old_logs(cache.path()).unwrap();
        let exists = |name: &str| cache.path().join(name).exists();
        assert_eq!(
            (exists("old.log"), exists("new.log"), exists("old")),
            (false, true, true)
        );
    }
}
