//! The programs of Kubernetes: which ones there are, and the image that carries them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, UNIX_EPOCH};

use nodejoin_core::kubernetes::Version;
use tokio::process::Command;
use tokio::time::timeout;

use crate::error::DockerError;
use crate::images::context::{ContextFile, Source};
use crate::images::recipe::Hash;
use crate::images::workshop::{Target, Workshop};
use crate::settings::Assets;

/// What a control plane and a node need.
pub(crate) const PROGRAMS: [&str; 5] = [
    "kube-apiserver",
    "kube-controller-manager",
    "kubelet",
    "kubeadm",
    "kubectl",
];

/// What only a control plane needs that schedules, as kind's does: a folder of programs may lack it.
pub(crate) const SCHEDULER: &str = "kube-scheduler";

/// How long a program may take to say its version.
const ANSWER: Duration = Duration::from_secs(20);

impl Workshop {
    /// What the image of a folder's programs is. The programs themselves are read when one of them has changed.
    pub(crate) async fn assets_target(&self, assets: &Assets) -> Result<Target, DockerError> {
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
        let look = Look::at(&folder)?;
        let note = self
            .settings
            .cache
            .join("assets")
            .join(format!("{}.json", look.0));
        if let Some((hash, version)) = std::fs::read(&note)
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok())
        {
            return Ok(target(hash, Some(version)));
        }
        let version = ask_version(&folder.join("kubelet"), self.engine.time_factor().limit(ANSWER)).await?;
        let read = tokio::task::spawn_blocking({
            let folder = folder.clone();
            move || content_hash(&folder)
        });
        let hash = read
            .await
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))?;
        keep(&note, &hash, &version);
        Ok(target(hash, Some(version)))
    }

    /// Makes an image from program files of this host.
    pub(crate) async fn programs_image(
        &self,
        target: &Target,
        files: Vec<(String, PathBuf)>,
    ) -> Result<(), DockerError> {
        let Some(mut bench) = self.bench(target).await? else {
            return Ok(());
        };
        let mut context: Vec<_> = files
            .into_iter()
            .map(|(name, path)| ContextFile {
                path: format!("kubernetes/{name}"),
                mode: 0o755,
                source: Source::File(path),
            })
            .collect();
        let dockerfile = b"FROM scratch\nCOPY kubernetes /kubernetes\n".to_vec();
        context.insert(
            0,
            ContextFile {
                path: "Dockerfile".to_owned(),
                mode: 0o644,
                source: Source::Bytes(dockerfile),
            },
        );
        self.build(&mut bench, target, HashMap::new(), context).await?;
        bench.done();
        Ok(())
    }
}

pub(crate) fn target(hash: String, kubernetes: Option<String>) -> Target {
    Target {
        name: "kubernetes".to_owned(),
        role: "kubernetes",
        hash,
        kubernetes,
    }
}

/// The programs of a folder, by name.
pub(crate) fn files_of(folder: &Path) -> Vec<(String, PathBuf)> {
    let scheduler = folder.join(SCHEDULER).is_file().then_some(SCHEDULER);
    PROGRAMS
        .into_iter()
        .chain(scheduler)
        .map(|name| (name.to_owned(), folder.join(name)))
        .collect()
}

/// Size and time of each program: as long as these stay, so does the content.
struct Look(String);

impl Look {
    fn at(folder: &Path) -> Result<Self, DockerError> {
        let mut hash = Hash::new("look");
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
    let mut hash = Hash::new("assets");
    for (name, path) in files_of(folder) {
        let content = std::fs::read(&path).map_err(DockerError::io("read", &path))?;
        hash.add(&name).add_bytes(&content);
    }
    Ok(hash.short())
}

/// The version that a kubelet says it is.
async fn ask_version(kubelet: &Path, limit: Duration) -> Result<String, DockerError> {
    let program = |wrong: String| DockerError::Program {
        program: kubelet.to_owned(),
        wrong,
    };
    let ask = Command::new(kubelet)
        .arg("--version")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let said = timeout(limit, ask)
        .await
        .map_err(|_| program("it does not say its version".to_owned()))?;
    let said = said.map_err(|error| program(error.to_string()))?;
    let text = String::from_utf8_lossy(&said.stdout);
    read_version(&text).ok_or_else(|| program(format!("`--version` said `{}`", text.trim())))
}

/// The version in a line such as `Kubernetes v1.20.2`.
pub(crate) fn read_version(text: &str) -> Option<String> {
    let words = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("Kubernetes "))?;
    let version: Version = words.trim().parse().ok()?;
    Some(version.to_string())
}

fn keep(note: &Path, hash: &str, version: &str) {
    let write = || {
        std::fs::create_dir_all(note.parent()?).ok()?;
        std::fs::write(note, serde_json::to_vec(&(hash, version)).ok()?).ok()
    };
    if write().is_none() {
        tracing::debug!(note = %note.display(), "the hash of the programs could not be kept and is made again next time");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubelet_says_its_version_in_a_line() {
        assert_eq!(read_version("Kubernetes v1.20.2\n").unwrap(), "v1.20.2");
        assert_eq!(read_version("kubelet 1"), None);
    }
}
