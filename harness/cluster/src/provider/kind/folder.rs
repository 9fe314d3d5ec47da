//! The folder of this machine with what one cluster of kind is made of: it goes with the control plane.

use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::ClusterError;
use crate::wiring::Wiring;

/// The folder. Only its owner reads it: the key of the cluster's CA is in it.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes the folder of a cluster with the files of the wiring in it.
    pub(crate) fn make(path: PathBuf, wiring: &Wiring) -> Result<Self, ClusterError> {
        let folder = Self { path };
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
        write(&path, text).map_err(|error| self.failed(name, error))?;
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

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.path) {
            tracing::warn!(folder = %self.path.display(), %error, "could not be removed; it holds the keys of a cluster that is gone");
        }
    }
}

fn make_folder(path: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())
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
    }
}
