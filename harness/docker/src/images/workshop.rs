//! Where images are made: one at a time by name, with all output in a file, through the engine's own builder.

use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bollard::body_try_stream;
use bollard::models::ImageInspect;
use bollard::query_parameters::{BuildImageOptions, BuildImageOptionsBuilder};
use futures::StreamExt as _;

use crate::engine::Engine;
use crate::error::{DockerError, status};
use crate::images::claim::Claim;
use crate::images::context::{ContextFile, archive};
use crate::images::{ImageEvent, Progress};
use crate::labels;
use crate::settings::ImageSettings;

/// How many lines of a failed build stand in its error.
const LAST_LINES: usize = 20;
/// How often a waiting process looks whether another one has finished the image.
const LOCK_POLL: Duration = Duration::from_millis(200);

/// What images are made with.
#[derive(Clone)]
pub(crate) struct Workshop {
    pub(crate) engine: Engine,
    pub(crate) settings: ImageSettings,
    pub(crate) progress: Progress,
}

/// What is made: the image and what its labels say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// The last part of the name: `base`, `al2`.
    pub(crate) name: String,
    /// `base`, `kubernetes`, `control-plane`, `node`.
    pub(crate) role: &'static str,
    /// The hash of everything it is made of.
    pub(crate) hash: String,
    /// The version of the programs in it, where it has any.
    pub(crate) kubernetes: Option<String>,
}

impl Target {
    /// Name and tag.
    pub(crate) fn image(&self) -> String {
        format!("nodejoin/{}:{}", self.name, self.hash)
    }

    pub(crate) fn labels(&self) -> HashMap<String, String> {
        let pairs = [
            (labels::IMAGE, Some(self.name.clone())),
            (labels::ROLE, Some(self.role.to_owned())),
            (labels::RECIPE, Some(self.hash.clone())),
            (labels::KUBERNETES, self.kubernetes.clone()),
        ];
        pairs
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), value?)))
            .collect()
    }
}

/// An image that is being made: its output goes here, and its lock is held.
pub(crate) struct Bench {
    image: String,
    log_path: PathBuf,
    log: File,
    progress: Progress,
    begun: Instant,
    claim: Claim,
    _lock: Lock,
}

impl Workshop {
    /// The image, where it is there.
    pub(crate) async fn find(&self, image: &str) -> Result<Option<ImageInspect>, DockerError> {
        match self.engine.docker().inspect_image(image).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if status(&error) == Some(404) => Ok(None),
            Err(error) => Err(DockerError::engine("inspect image", image)(error)),
        }
    }

    /// Takes the lock of an image and opens its log; `None` when the image came to be while another process held the lock.
    pub(crate) async fn bench(&self, target: &Target) -> Result<Option<Bench>, DockerError> {
        let image = target.image();
        let file = format!("{}-{}", target.name, target.hash);
        // By name and not by hash: whoever clears the stages of a recipe must be its only builder.
        let lock = Lock::take(&self.settings.cache.join("locks"), &target.name).await?;
        if self.find(&image).await?.is_some() {
            return Ok(None);
        }
        let folder = self.settings.cache.join("builds");
        std::fs::create_dir_all(&folder).map_err(DockerError::io("make folder", &folder))?;
        let log_path = folder.join(format!("{file}.log"));
        let log = File::create(&log_path).map_err(DockerError::io("write", &log_path))?;
        (self.progress)(ImageEvent::Started {
            image: image.clone(),
            log: log_path.clone(),
        });
        let progress = self.progress.clone();
        let claim = Claim::stake(&self.engine, &target.name).await?;
        Ok(Some(Bench {
            image,
            log_path,
            log,
            progress,
            begun: Instant::now(),
            claim,
            _lock: lock,
        }))
    }

    /// Builds an image from a context with a Dockerfile. The build ends when this future is dropped.
    pub(crate) async fn build(
        &self,
        bench: &mut Bench,
        target: &Target,
        arguments: HashMap<String, String>,
        files: Vec<ContextFile>,
    ) -> Result<(), DockerError> {
        let options = self.options(&target.image(), target.labels(), arguments);
        let context = body_try_stream(archive(files));
        let mut output = self.engine.docker().build_image(options, None, Some(context));
        while let Some(piece) = output.next().await {
            match piece {
                Ok(info) => bench.say(&info.stream.or(info.status).unwrap_or_default()),
                Err(error) => {
                    let reason = match error {
                        bollard::errors::Error::DockerStreamError { error } => error,
                        error => error.to_string(),
                    };
                    return Err(bench.failed(reason.trim()));
                }
            }
        }
        Ok(())
    }

    fn options(
        &self,
        image: &str,
        labels: HashMap<String, String>,
        mut arguments: HashMap<String, String>,
    ) -> BuildImageOptions {
        arguments.extend(self.settings.proxies.iter().cloned());
        BuildImageOptionsBuilder::new()
            .dockerfile("Dockerfile")
            .t(image)
            .labels(&labels)
            .buildargs(&arguments)
            .rm(true)
            .forcerm(true)
            .build()
    }
}

impl Bench {
    /// What says to all that this image is being made.
    pub(crate) fn claim(&self) -> &Claim {
        &self.claim
    }

    /// The file that takes all output.
    pub(crate) fn log_path(&self) -> &Path {
        &self.log_path
    }

    /// Writes output to the log, and tells of steps.
    pub(crate) fn say(&mut self, text: &str) {
        // A log that cannot be written must not end a build that goes well.
        let _ = self.log.write_all(text.as_bytes());
        for line in text.lines().filter(|line| line.starts_with("Step ")) {
            self.step(line);
        }
    }

    /// Tells of a step.
    pub(crate) fn step(&self, text: &str) {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        (self.progress)(ImageEvent::Step {
            image: self.image.clone(),
            text,
        });
    }

    /// Tells that the image is there.
    pub(crate) fn done(self) {
        let seconds = self.begun.elapsed().as_secs_f64();
        (self.progress)(ImageEvent::Done {
            image: self.image.clone(),
            seconds,
        });
    }

    /// The error of a build that ended without an image.
    pub(crate) fn failed(&mut self, reason: &str) -> DockerError {
        self.say(&format!("\n{reason}\n"));
        let text = std::fs::read(&self.log_path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        DockerError::Build {
            image: self.image.clone(),
            reason: reason.to_owned(),
            log: self.log_path.clone(),
            lines: lines[lines.len().saturating_sub(LAST_LINES)..].join("\n"),
        }
    }
}

/// A file whose lock says that this process works on something. The system takes the lock back when the process ends.
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the lock.
    pub(crate) async fn take(folder: &Path, name: &str) -> Result<Self, DockerError> {
        loop {
            if let Some(lock) = Self::try_take(folder, name)? {
                return Ok(lock);
            }
            // There is no event for a lock; and a blocking wait could not be cancelled.
            tokio::time::sleep(LOCK_POLL).await;
        }
    }

    /// Takes the lock unless another process has it.
    pub(crate) fn try_take(folder: &Path, name: &str) -> Result<Option<Self>, DockerError> {
        std::fs::create_dir_all(folder).map_err(DockerError::io("make folder", folder))?;
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
    fn a_lock_is_one_holders() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::try_take(folder.path(), "al2").unwrap();
        assert!(first.is_some());
        assert!(Lock::try_take(folder.path(), "al2").unwrap().is_none());
        assert!(Lock::try_take(folder.path(), "other").unwrap().is_some());
        drop(first);
        assert!(Lock::try_take(folder.path(), "al2").unwrap().is_some());
    }

    #[test]
    fn labels_tell_what_an_image_is() {
        let target = Target {
            name: "al2".to_owned(),
            role: "node",
            hash: "0123456789ab".to_owned(),
            kubernetes: None,
        };
        assert_eq!(target.image(), "nodejoin/al2:0123456789ab");
        assert_eq!(target.labels()["nodejoin.role"], "node");
        assert!(!target.labels().contains_key("nodejoin.kubernetes"));
    }
}
