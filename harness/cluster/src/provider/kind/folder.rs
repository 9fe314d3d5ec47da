//! The folder of this machine with what one cluster of kind is made of: it goes with the control plane.

use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nodejoin_docker::write_private;

use crate::ClusterError;
use crate::provider::Holding;
use crate::wiring::Wiring;

/// The folder. Only its owner reads it: the key of the cluster's CA is in it.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    kept: AtomicBool,
}

impl Folder {
    /// Makes the folder of a cluster with the files of the wiring in it.
    pub(crate) fn make(path: PathBuf, wiring: &Wiring) -> Result<Self, ClusterError> {
        let folder = Self {
            path,
            kept: AtomicBool::new(false),
        };
        for sub in ["wiring", "bin"] {
            make_folder(&folder.file(sub)).map_err(|error| folder.failed(sub, error))?;
        }
        for file in wiring.files() {
            folder.write(&format!("wiring/{}", file.name), file.text.reveal())?;
        }
        folder.write("ca.crt", wiring.pki.cluster.pem())?;
        folder.write("ca.key", wiring.pki.cluster.key().reveal())?;
        Ok(folder)
    }

    /// A file in it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file that only its owner reads.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf, ClusterError> {
        let path = self.file(name);
        write_private(&path, text).map_err(|error| self.failed(name, error))?;
        Ok(path)
    }

    /// Writes a program.
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

impl Holding for Folder {
    /// The files of the wiring are mounted into the cluster's node: without them it does not start again.
    fn keep(&self) {
        self.kept.store(true, Ordering::Relaxed);
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.kept.load(Ordering::Relaxed) {
            return;
        }
        if let Err(error) = std::fs::remove_dir_all(&self.path) {
            tracing::warn!(folder = %self.path.display(), %error, "could not be removed; it holds the keys of a cluster that is gone");
        }
    }
}

/// Removes the logs of clusters that could not be made, a week after: an error named them, and somebody may still want to read them.
pub(crate) fn forget_old_logs(cache: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(cache)? {
        let entry = entry?;
        let is_log = entry
            .path()
            .extension()
            .is_some_and(|extension| extension == "log");
        // A clock that was set back makes a file young, which does no harm.
        let age = entry.metadata()?.modified()?.elapsed().unwrap_or_default();
        if is_log && age > LOGS_STAY {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

const LOGS_STAY: Duration = Duration::from_secs(7 * 24 * 3600);

fn make_folder(path: &Path) -> std::io::Result<()> {
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
    fn only_its_owner_reads_it_and_it_goes_with_its_holder() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("cluster");
        let wiring = Wiring {
            webhooks: "10.0.0.1:5000".parse().unwrap(),
            pki: Pki::generate().unwrap(),
        };
        let folder = Folder::make(path.clone(), &wiring).unwrap();
        let mode = |name: &str| std::fs::metadata(path.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(""), mode("ca.key")), (0o700, 0o600));
        assert!(path.join("wiring/audit-policy.yaml").is_file());
        drop(folder);
        assert!(!path.exists());
        let folder = Folder::make(path.clone(), &wiring).unwrap();
        folder.keep();
        drop(folder);
        assert!(path.join("ca.key").exists(), "a kept cluster needs it");
    }

    #[test]
    fn logs_are_forgotten_after_a_week_and_nothing_else_is() {
        let cache = tempfile::tempdir().unwrap();
        let hour = Duration::from_secs(3600);
        for (name, age) in [
            ("old.log", LOGS_STAY + hour),
            ("new.log", LOGS_STAY - hour),
            ("old", LOGS_STAY + hour),
        ] {
            let file = std::fs::File::create(cache.path().join(name)).unwrap();
            file.set_modified(std::time::SystemTime::now() - age).unwrap();
        }
        forget_old_logs(cache.path()).unwrap();
        let stays = |name: &str| cache.path().join(name).exists();
        assert_eq!(
            (stays("old.log"), stays("new.log"), stays("old")),
            (false, true, true)
        );
    }
}
