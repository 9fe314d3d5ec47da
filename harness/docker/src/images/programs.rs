//! The programs of Kubernetes, and the image that contains them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, UNIX_EPOCH};

use nodejoin_core::kubernetes::Version;
use tokio::process::Command;
use tokio::time::timeout;

use crate::error::DockerError;
use crate::images::builder::{BuildTarget, Builder};
use crate::images::content_hash::ContentHash;
use crate::images::context::{ContextFile, FileContent};
use crate::settings::Assets;

/// Recipe folder, name and role of the image with the programs.
pub(crate) const FOLDER: &str = "kubernetes";

/// Programs that a control plane and a node need.
pub(crate) const PROGRAMS: [&str; 5] = [
    "kube-apiserver",
    "kube-controller-manager",
    "kubelet",
    "kubeadm",
    "kubectl",
];

/// A program that only a control plane with a scheduler needs, such as kind's. A folder of programs may lack it.
pub(crate) const SCHEDULER: &str = "kube-scheduler";

/// Timeout of `kubelet --version`.
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);

impl Builder {
    /// The build target for the programs of a folder. Their content is read only if one of them has changed.
    pub(crate) async fn assets_target(&self, assets: &Assets) -> Result<BuildTarget, DockerError> {
        let folder = assets.folder.clone();
        let missing: Vec<_> = PROGRAMS
            .iter()
            .filter(|name| !folder.join(name).is_file())
            .map(|name| (*name).to_owned())
            .collect();
        if !missing.is_empty() {
            return Err(DockerError::Assets {
                folder,
                variable: assets.named_by.clone(),
                missing,
            });
        }
        let stamp = FileStamp::at(&folder)?;
        let note = self
            .settings
            .cache
            .join("assets")
            .join(format!("{}.json", stamp.0));
        if let Some((hash, version)) = std::fs::read(&note)
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok())
        {
            return Ok(target(hash, Some(version)));
        }
        let version = kubelet_version(
            &folder.join("kubelet"),
            self.engine.time_factor().scale(VERSION_TIMEOUT),
        )
        .await?;
        let read = tokio::task::spawn_blocking({
            let folder = folder.clone();
            move || content_hash(&folder)
        });
        let hash = read
            .await
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))?;
        write_note(&note, &hash, &version);
        Ok(target(hash, Some(version)))
    }

    /// Builds an image from programs on this host.
    pub(crate) async fn programs_image(
        &self,
        target: &BuildTarget,
        files: Vec<(String, PathBuf)>,
    ) -> Result<(), DockerError> {
        let Some(mut session) = self.begin(target).await? else {
            return Ok(());
        };
        let mut context: Vec<_> = files
            .into_iter()
            .map(|(name, path)| ContextFile {
                path: format!("kubernetes/{name}"),
                mode: 0o755,
                source: FileContent::File(path),
            })
            .collect();
        let dockerfile = b"FROM scratch\nCOPY kubernetes /kubernetes\n".to_vec();
        context.insert(
            0,
            ContextFile {
                path: "Dockerfile".to_owned(),
                mode: 0o644,
                source: FileContent::Bytes(dockerfile),
            },
        );
        self.build(&mut session, target, HashMap::new(), context).await?;
        session.finish();
        Ok(())
    }
}

pub(crate) fn target(hash: String, kubernetes: Option<String>) -> BuildTarget {
    BuildTarget {
        name: FOLDER.to_owned(),
        role: FOLDER,
        hash,
        kubernetes,
    }
}

/// Name and path of each program of a folder.
pub(crate) fn files_of(folder: &Path) -> Vec<(String, PathBuf)> {
    let scheduler = folder.join(SCHEDULER).is_file().then_some(SCHEDULER);
    PROGRAMS
        .into_iter()
        .chain(scheduler)
        .map(|name| (name.to_owned(), folder.join(name)))
        .collect()
}

/// A hash of size and modification time of each program, which change with the content.
struct FileStamp(String);

impl FileStamp {
    fn at(folder: &Path) -> Result<Self, DockerError> {
        let mut hash = ContentHash::new("look");
        for (_, path) in files_of(folder) {
            let seen = std::fs::metadata(&path).map_err(DockerError::io("read", &path))?;
            let time = seen
                .modified()
                .ok()
                .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
                .unwrap_or_default();
            hash.add(&path.to_string_lossy())
                .add(&format!("{} {}", seen.len(), time.as_nanos()));
        }
        Ok(Self(hash.short()))
    }
}

fn content_hash(folder: &Path) -> Result<String, DockerError> {
    let mut hash = ContentHash::new("assets");
    for (name, path) in files_of(folder) {
        let content = std::fs::read(&path).map_err(DockerError::io("read", &path))?;
        hash.add(&name).add_bytes(&content);
    }
    Ok(hash.short())
}

/// The version that a kubelet reports.
async fn kubelet_version(kubelet: &Path, limit: Duration) -> Result<String, DockerError> {
    let program = |problem: String| DockerError::Program {
        program: kubelet.to_owned(),
        problem,
    };
    let command = Command::new(kubelet)
        .arg("--version")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = timeout(limit, command)
        .await
        .map_err(|_| program(format!("`--version` timed out after {} s", limit.as_secs())))?;
    let output = output.map_err(|error| program(error.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    read_version(&text).ok_or_else(|| program(format!("invalid output of `--version`: `{}`", text.trim())))
}

/// The version in a line such as `Kubernetes v1.20.2`.
pub(crate) fn read_version(text: &str) -> Option<String> {
    let words = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("Kubernetes "))?;
    let version: Version = words.trim().parse().ok()?;
    Some(version.to_string())
}

fn write_note(note: &Path, hash: &str, version: &str) {
    let write = || {
        std::fs::create_dir_all(note.parent()?).ok()?;
        std::fs::write(note, serde_json::to_vec(&(hash, version)).ok()?).ok()
    };
    if write().is_none() {
        tracing::debug!(note = %note.display(), "could not cache the hash of the programs; the next run computes it again");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_the_output_of_a_kubelet() {
        assert_eq!(read_version("Kubernetes v1.20.2\n").unwrap(), "v1.20.2");
        assert_eq!(read_version("kubelet 1"), None);
    }
}
