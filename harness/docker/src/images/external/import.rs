//! One image to import: where it comes from, what identifies its content, and how the engine gets it.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use bollard::body_try_stream;
use bollard::query_parameters::{CreateImageOptions, ImportImageOptions, TagImageOptions};
use futures::StreamExt as _;
use nodejoin_core::observation::ImageFacts;
use nodejoin_core::plan::ImageSource;
use nodejoin_core::plan::architecture::Architecture;

use super::{archive, folder, layout};
use crate::error::DockerError;
use crate::image_problem::ImageProblem;
use crate::images::builder::{BuildSession, BuildTarget, Builder};
use crate::images::context::streamed;
use crate::labels;

/// Beginning of the names of imported images.
pub(crate) const PREFIX: &str = "import-";

/// An image to import.
pub(super) struct ImageImport {
    /// The name or the absolute path.
    pub(super) source: String,
    is_engine: bool,
    /// Id of the image, or fingerprint of the file or folder: changes when the content changes.
    state: String,
    /// Identifies the content; `None` if it was not read before.
    pub(super) content: Option<String>,
    architecture: Architecture,
}

impl ImageImport {
    pub(super) async fn new(builder: &Builder, source: ImageSource<'_>) -> Result<Self, DockerError> {
        let architecture = builder
            .engine
            .architecture("node image", "use an x86-64 or ARM machine")?;
        let failed = |source: &str| {
            let source = source.to_owned();
            move |problem| DockerError::NodeImage {
                image: source,
                problem,
            }
        };
        match source {
            ImageSource::BuiltIn(name) | ImageSource::Engine(name) => {
                let found = builder.find(name).await?.and_then(|image| image.id);
                let id = found.ok_or(ImageProblem::Missing).map_err(failed(name))?;
                Ok(Self {
                    source: name.to_owned(),
                    is_engine: true,
                    state: id.clone(),
                    content: Some(id),
                    architecture,
                })
            }
            ImageSource::RootFs(path) => {
                let source = path.display().to_string();
                let path = path.to_owned();
                let state = blocking(move || folder::fingerprint(&path)).await;
                let state = state.map_err(ImageProblem::Unreadable).map_err(failed(&source))?;
                let content = std::fs::read_to_string(note(builder, &state)).ok();
                Ok(Self {
                    source,
                    is_engine: false,
                    state,
                    content,
                    architecture,
                })
            }
        }
    }

    fn failed(&self, problem: ImageProblem) -> DockerError {
        DockerError::NodeImage {
            image: self.source.clone(),
            problem,
        }
    }

    /// The name of the image without its folder and tag.
    pub(super) fn image_name(&self) -> String {
        let last = self
            .source
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap_or_default();
        let stem = last.split([':', '@', '.']).next().unwrap_or_default();
        let lower = stem.to_ascii_lowercase();
        let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
        let name = words
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join("-");
        format!("{PREFIX}{}", if name.is_empty() { "image" } else { &name })
    }

    /// Reads and checks the whole content, and notes its hash for the next run.
    pub(super) async fn read(&self, builder: &Builder) -> Result<String, DockerError> {
        let prepared = self.prepare(builder).await?;
        let content = prepared.content().to_owned();
        let note = note(builder, &self.state);
        let written = note.parent().map_or(Ok(()), std::fs::create_dir_all);
        if let Err(error) = written.and_then(|()| std::fs::write(&note, &content)) {
            tracing::debug!(%error, "could not note the hash of the root file system; the next run computes it again");
        }
        Ok(content)
    }

    async fn prepare(&self, builder: &Builder) -> Result<Prepared, DockerError> {
        let (path, cache, required) = (
            PathBuf::from(&self.source),
            builder.settings.cache.clone(),
            self.architecture,
        );
        let prepared = blocking(move || Prepared::read(&path, &cache, required)).await;
        prepared.map_err(|problem| self.failed(problem))
    }

    /// What the image has, and whether it can be a node.
    pub(super) fn facts(&self, output: &str) -> Result<ImageFacts, DockerError> {
        let mut facts = ImageFacts::parse(&self.source, output);
        let required = self.architecture;
        match (&facts.init, facts.architecture()) {
            (None, _) => Err(self.failed(ImageProblem::NoInit)),
            (Some(_), has) if has != Some(required) => {
                Err(self.failed(ImageProblem::Architecture { has, required }))
            }
            _ => match facts.unreadable.pop_first() {
                Some((program, output)) => Err(self.failed(ImageProblem::NoVersion { program, output })),
                None => Ok(facts),
            },
        }
    }

    /// Gives the engine the image under a temporary name.
    pub(super) async fn load(
        &self,
        builder: &Builder,
        session: &mut BuildSession,
        raw: &BuildTarget,
    ) -> Result<(), DockerError> {
        let tag = raw.hash.clone();
        let repo = format!("nodejoin/{}", raw.name);
        let docker = builder.engine.docker();
        if self.is_engine {
            let options = TagImageOptions {
                repo: Some(repo),
                tag: Some(tag),
            };
            let tagged = docker.tag_image(&self.state, Some(options)).await;
            return tagged.map_err(DockerError::engine("tag image", &self.source));
        }
        session.step(&format!("import {}", self.source));
        let mut output = match self.prepare(builder).await? {
            Prepared::Layout(layout) => {
                let name = raw.image();
                let body = streamed(move |to| layout.write(&name, to));
                docker
                    .import_image(ImportImageOptions::default(), body_try_stream(body), None)
                    .map(|piece| piece.map(drop))
                    .boxed()
            }
            Prepared::Archive { file, .. } => {
                let options = CreateImageOptions {
                    from_src: Some("-".to_owned()),
                    repo: Some(repo),
                    tag: Some(tag),
                    ..CreateImageOptions::default()
                };
                let body = streamed(move |mut to| {
                    std::io::copy(&mut archive::open(file)?, &mut to)?;
                    std::io::Write::flush(&mut to)
                });
                docker
                    .create_image(Some(options), Some(body_try_stream(body)), None)
                    .map(|piece| piece.map(drop))
                    .boxed()
            }
        };
        while let Some(piece) = output.next().await {
            piece.map_err(DockerError::engine("import", &self.source))?;
        }
        Ok(())
    }

    /// Lines of a Dockerfile: by these labels a later run recognizes the image.
    pub(super) fn labels(&self, facts: &ImageFacts) -> String {
        let facts = serde_json::to_string(facts).unwrap_or_default();
        let pairs = [
            (labels::SOURCE, self.source.as_str()),
            (labels::STATE, &self.state),
            (labels::FACTS, &facts),
        ];
        let line = |(key, value): (&str, &str)| format!("LABEL {key}={}\n", quoted(value));
        pairs.map(line).concat()
    }
}

impl Builder {
    /// Whether the source of an imported image still has the content that the image was made of.
    pub(crate) async fn is_current_import(&self, labels: &HashMap<String, String>) -> bool {
        let (Some(source), Some(state)) = (labels.get(labels::SOURCE), labels.get(labels::STATE)) else {
            return false;
        };
        let path = PathBuf::from(source);
        if path.is_absolute() {
            return blocking(move || folder::fingerprint(&path))
                .await
                .is_ok_and(|now| now == *state);
        }
        let found = self.find(source).await.ok().flatten();
        found.and_then(|image| image.id).is_some_and(|id| id == *state)
    }
}

/// A value of a Dockerfile in double quotes.
fn quoted(value: &str) -> String {
    let escape = |c: char| match c {
        '"' | '\\' | '$' => format!("\\{c}"),
        c => c.to_string(),
    };
    format!("\"{}\"", value.chars().map(escape).collect::<String>())
}

/// The file with the hash of a root file system.
fn note(builder: &Builder, state: &str) -> PathBuf {
    builder.settings.cache.join("rootfs").join(state)
}

/// Reads files outside the threads of the runtime.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}

/// A root file system that was read and checked.
enum Prepared {
    Archive { file: File, hash: String },
    Layout(layout::Layout),
}

impl Prepared {
    fn read(path: &Path, cache: &Path, required: Architecture) -> Result<Self, ImageProblem> {
        let temporary = || {
            std::fs::create_dir_all(cache)?;
            tempfile::tempfile_in(cache)
        };
        if layout::is_layout(path) {
            return layout::Layout::read(path, required, temporary).map(Self::Layout);
        }
        let file = match path.is_dir() {
            true => temporary().and_then(|file| folder::pack(path, file)),
            false => File::open(path),
        };
        let file = file.map_err(ImageProblem::Unreadable)?;
        let survey = file.try_clone().map_err(ImageProblem::Unreadable)?;
        let hash = archive::survey(survey)?;
        Ok(Self::Archive { file, hash })
    }

    fn content(&self) -> &str {
        match self {
            Self::Archive { hash, .. } => hash,
            Self::Layout(layout) => &layout.digest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn import(source: &str) -> ImageImport {
        ImageImport {
            source: source.to_owned(),
            is_engine: false,
            state: String::new(),
            content: None,
            architecture: Architecture::X86_64,
        }
    }

    #[test]
    fn the_name_of_an_image_is_that_of_its_source() {
        for (source, name) in [
            ("my-ami:1", "import-my-ami"),
            ("registry:5000/team/Ami@sha256:00", "import-ami"),
            ("/images/ami_2.tar.gz", "import-ami-2"),
            ("/images/rootfs/", "import-rootfs"),
            ("/images/..tar", "import-image"),
        ] {
            assert_eq!(import(source).image_name(), name);
        }
    }

    #[test]
    fn labels_keep_quotes_and_variables() {
        let facts = ImageFacts {
            os: Some("a \"b\" $c".to_owned()),
            ..ImageFacts::default()
        };
        let lines = import("/a b").labels(&facts);
        assert!(lines.contains("LABEL nodejoin.source=\"/a b\"\n"), "{lines}");
        assert!(lines.contains(r#"\"os\":\"a \\\"b\\\" \$c\""#), "{lines}");
    }
}
