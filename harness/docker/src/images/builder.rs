//! Builds images through the engine's builder: one build per name at a time, with all output in a log file.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bollard::body_try_stream;
use bollard::models::ImageInspect;
use bollard::query_parameters::{BuildImageOptions, BuildImageOptionsBuilder};
use futures::StreamExt as _;

use crate::engine::Engine;
use crate::error::{DockerError, status};
use crate::file_lock::FileLock;
use crate::images::build_lock::BuildLock;
use crate::images::context::{ContextFile, FileContent, archive};
use crate::images::download::DownloadProgress;
use crate::images::progress::{ImageEvent, ImageProgress};
use crate::images::recipe::DOCKERFILE;
use crate::labels;
use crate::settings::ImageSettings;

/// Number of output lines in the error of a failed build.
const LAST_LINES: usize = 20;
/// Bytes of `/dev/shm` in a build, at most: the compiler of Kubernetes keeps its files there. The engine's default is
/// 64 MiB.
const SHARED_MEMORY: i32 = i32::MAX;

/// Builds images on an engine.
#[derive(Clone)]
pub(crate) struct Builder {
    pub(crate) engine: Engine,
    pub(crate) settings: ImageSettings,
    pub(crate) progress: ImageProgress,
}

/// An image to build, and the values of its labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BuildTarget {
    /// Last part of the name: `base`, `al2`.
    pub(crate) name: String,
    /// Purpose: `base`, `kubernetes`, `control-plane`, `node`.
    pub(crate) role: &'static str,
    /// Hash of everything the image is built from.
    pub(crate) hash: String,
    /// Version of the Kubernetes programs, if the image contains them.
    pub(crate) kubernetes: Option<String>,
}

impl BuildTarget {
    /// Name and tag.
    pub(crate) fn image(&self) -> String {
        format!("nodejoin/{}:{}", self.name, self.hash)
    }

    pub(crate) fn labels(&self) -> BTreeMap<&'static str, &str> {
        let pairs = [
            (labels::IMAGE, Some(self.name.as_str())),
            (labels::ROLE, Some(self.role)),
            (labels::RECIPE, Some(self.hash.as_str())),
            (labels::KUBERNETES, self.kubernetes.as_deref()),
        ];
        pairs
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)))
            .collect()
    }

    /// Sets the labels in the last step of the Dockerfile. The engine would add one step for each label of a request,
    /// and an engine on FUSE compares all files of the image after each.
    fn label(&self, files: &mut [ContextFile]) {
        let labels: Vec<_> = self
            .labels()
            .iter()
            .map(|(key, value)| format!("{key}={value:?}"))
            .collect();
        for file in files.iter_mut().filter(|file| file.path == DOCKERFILE) {
            if let FileContent::Bytes(text) = &mut file.source {
                text.extend(format!("\nLABEL {}\n", labels.join(" ")).into_bytes());
            }
        }
    }
}

/// A build in progress: writes its output and holds its locks.
pub(crate) struct BuildSession {
    image: String,
    log_path: PathBuf,
    log: File,
    progress: ImageProgress,
    begun: Instant,
    build_lock: BuildLock,
    _lock: FileLock,
}

impl Builder {
    /// The image, if it exists.
    pub(crate) async fn find(&self, image: &str) -> Result<Option<ImageInspect>, DockerError> {
        match self.engine.docker().inspect_image(image).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if status(&error) == Some(404) => Ok(None),
            Err(error) => Err(DockerError::engine("inspect image", image)(error)),
        }
    }

    /// Takes the locks of an image and opens its log; `None` if another process has built the image meanwhile.
    pub(crate) async fn begin(&self, target: &BuildTarget) -> Result<Option<BuildSession>, DockerError> {
        let image = target.image();
        let file = format!("{}-{}", target.name, target.hash);
        // By name and not by hash: only the single builder of a recipe can remove leftovers of its stages.
        let lock = self.only_builder(target).await?;
        if self.find(&image).await?.is_some() {
            return Ok(None);
        }
        let folder = self.settings.cache.join("builds");
        std::fs::create_dir_all(&folder).map_err(DockerError::io("create folder", &folder))?;
        let log_path = folder.join(format!("{file}.log"));
        let log = File::create(&log_path).map_err(DockerError::io("write", &log_path))?;
        (self.progress)(ImageEvent::Started {
            image: image.clone(),
            log: log_path.clone(),
        });
        let progress = self.progress.clone();
        let build_lock = BuildLock::acquire(&self.engine, &target.name).await?;
        Ok(Some(BuildSession {
            image,
            log_path,
            log,
            progress,
            begun: Instant::now(),
            build_lock,
            _lock: lock,
        }))
    }

    /// Waits until no other process builds from the recipe, and reports that it waits.
    async fn only_builder(&self, target: &BuildTarget) -> Result<FileLock, DockerError> {
        let folder = self.settings.cache.join("locks");
        if let Some(lock) = FileLock::try_take(&folder, &target.name)? {
            return Ok(lock);
        }
        (self.progress)(ImageEvent::Waiting {
            image: target.image(),
        });
        FileLock::take(&folder, &target.name).await
    }

    /// Builds an image from a context with a Dockerfile. Dropping this future ends the build.
    pub(crate) async fn build(
        &self,
        session: &mut BuildSession,
        target: &BuildTarget,
        arguments: HashMap<String, String>,
        mut files: Vec<ContextFile>,
    ) -> Result<(), DockerError> {
        target.label(&mut files);
        let options = self.options(arguments).t(&target.image()).build();
        self.run_build(session, options, files).await
    }

    /// Builds one stage of a Dockerfile and those before it, without a name.
    pub(crate) async fn build_stage(
        &self,
        session: &mut BuildSession,
        stage: &str,
        arguments: HashMap<String, String>,
        files: Vec<ContextFile>,
    ) -> Result<(), DockerError> {
        let options = self.options(arguments).target(stage).build();
        self.run_build(session, options, files).await
    }

    async fn run_build(
        &self,
        session: &mut BuildSession,
        options: BuildImageOptions,
        files: Vec<ContextFile>,
    ) -> Result<(), DockerError> {
        let context = body_try_stream(archive(files));
        let mut output = self.engine.docker().build_image(options, None, Some(context));
        while let Some(piece) = output.next().await {
            match piece {
                Ok(info) => session.write(&info.stream.or(info.status).unwrap_or_default()),
                Err(error) => {
                    let reason = match error {
                        bollard::errors::Error::DockerStreamError { error } => error,
                        error => error.to_string(),
                    };
                    return Err(session.failed(reason.trim()));
                }
            }
        }
        Ok(())
    }

    fn options(&self, mut arguments: HashMap<String, String>) -> BuildImageOptionsBuilder {
        arguments.extend(self.settings.proxies.iter().cloned());
        BuildImageOptionsBuilder::new()
            .dockerfile(DOCKERFILE)
            .buildargs(&arguments)
            .rm(true)
            .forcerm(true)
            .shmsize(SHARED_MEMORY)
    }

    /// Reports a download before the build session of an image begins.
    pub(crate) fn report_download(&self, target: &BuildTarget, progress: DownloadProgress) {
        (self.progress)(ImageEvent::Download {
            image: target.image(),
            progress,
        });
    }

    /// Reports a step before the build session of an image begins.
    pub(crate) fn report_step(&self, target: &BuildTarget, text: &str) {
        (self.progress)(ImageEvent::Step {
            image: target.image(),
            text: text.to_owned(),
        });
    }
}

impl BuildSession {
    /// The lock that is visible to all clients of the engine.
    pub(crate) fn build_lock(&self) -> &BuildLock {
        &self.build_lock
    }

    /// The file with all output.
    pub(crate) fn log_path(&self) -> &Path {
        &self.log_path
    }

    /// Writes output to the log, and reports the steps in it.
    pub(crate) fn write(&mut self, text: &str) {
        // A log that cannot be written must not fail a successful build.
        let _ = self.log.write_all(text.as_bytes());
        for line in text.lines().filter(|line| line.starts_with("Step ")) {
            self.step(line);
        }
    }

    /// Reports a step.
    pub(crate) fn step(&self, text: &str) {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        (self.progress)(ImageEvent::Step {
            image: self.image.clone(),
            text,
        });
    }

    /// Reports that the image is built, and releases the locks.
    pub(crate) fn finish(self) {
        let seconds = self.begun.elapsed().as_secs_f64();
        (self.progress)(ImageEvent::Done {
            image: self.image.clone(),
            seconds,
        });
    }

    /// The error of a failed build.
    pub(crate) fn failed(&mut self, reason: &str) -> DockerError {
        self.write(&format!("\n{reason}\n"));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_describe_the_image() {
        let target = BuildTarget {
            name: "al2".to_owned(),
            role: "node",
            hash: "0123456789ab".to_owned(),
            kubernetes: None,
        };
        assert_eq!(target.image(), "nodejoin/al2:0123456789ab");
        assert_eq!(target.labels()["nodejoin.role"], "node");
        assert!(!target.labels().contains_key("nodejoin.kubernetes"));
    }

    #[test]
    fn all_labels_are_one_step_at_the_end() {
        let target = BuildTarget {
            name: "x".to_owned(),
            role: "node",
            hash: "0".to_owned(),
            kubernetes: Some("v1.20.2".to_owned()),
        };
        let mut files = ["Dockerfile", "rootfs/Dockerfile"].map(|path| ContextFile {
            path: path.to_owned(),
            mode: 0o644,
            source: FileContent::Bytes(b"FROM a".to_vec()),
        });
        target.label(&mut files);
        let text = |file: &ContextFile| match &file.source {
            FileContent::Bytes(bytes) => String::from_utf8(bytes.clone()).unwrap(),
            FileContent::File(path) => panic!("{}", path.display()),
        };
        let labels =
            r#"nodejoin.image="x" nodejoin.kubernetes="v1.20.2" nodejoin.recipe="0" nodejoin.role="node""#;
        assert_eq!(text(&files[0]), format!("FROM a\nLABEL {labels}\n"));
        assert_eq!(text(&files[1]), "FROM a");
    }
}
