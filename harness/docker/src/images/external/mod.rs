//! Node images that the harness did not build: images of the container engine, and root file systems on this machine.
//!
//! ```text
//! archive, folder --survey----> import \
//! OCI image layout --digests-> load    } raw -> container + toolbox -inspect-> facts -commit-> NAME:HASH
//! image of the engine -------> tag    /
//! ```
//!
//! Nothing is imported before all paths are checked, and after an error no image remains. The toolbox contains the
//! programs that the harness runs inside a node, so that it relies on no program of the image.

mod archive;
mod assembly;
mod folder;
mod layout;

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use bollard::body_try_stream;
use bollard::query_parameters::{CreateImageOptions, ImportImageOptions, TagImageOptions};
use futures::StreamExt as _;
use nodejoin_core::observation::{ImageFacts, ImagePart};
use nodejoin_core::plan::architecture::Architecture;
use nodejoin_core::plan::{ImagePlan, ImageSource};

use crate::error::DockerError;
use crate::image_problem::ImageProblem;
use crate::images::builder::{BuildSession, BuildTarget, Builder};
use crate::images::context::streamed;
use crate::images::recipe::ContentHash;
use crate::images::{ImageEvent, ImageRef, Images};
use crate::labels;

use assembly::Assembly;

/// Recipe folder and role of the image with the toolbox.
pub(crate) const TOOLBOX: &str = "toolbox";
/// Path of the toolbox in a node.
pub const TOOLS: &str = "/opt/nodejoin/toolbox/bin";
/// Beginning of the names of imported images.
pub(crate) const PREFIX: &str = "import-";

impl Images {
    /// The node image of a plan: built, or imported, if it is missing.
    ///
    /// # Errors
    /// When there is no such image, it cannot be a node, or a build fails.
    pub async fn of_plan(&self, image: &ImagePlan) -> Result<ImageRef, DockerError> {
        match image.source() {
            ImageSource::BuiltIn(name) => self.node(name).await,
            ImageSource::Engine(_) | ImageSource::RootFs(_) => {
                let found = self.builder.external(image.source()).await?;
                if let Some(facts) = &found.facts {
                    (self.builder.progress)(ImageEvent::Inspected {
                        image: found.name.clone(),
                        facts: Box::new(facts.clone()),
                    });
                }
                Ok(found)
            }
        }
    }

    /// Checks that the container engine has an image of this name.
    ///
    /// # Errors
    /// When it has none, or refuses the request.
    pub async fn check_engine_image(&self, name: &str) -> Result<(), DockerError> {
        match self.builder.find(name).await? {
            Some(_) => Ok(()),
            None => Err(DockerError::NodeImage {
                image: name.to_owned(),
                problem: ImageProblem::Missing,
            }),
        }
    }

    /// Imports a root file system, unless this was done before.
    ///
    /// # Errors
    /// When it is not a root file system for this machine, or the engine refuses it.
    pub async fn import(&self, path: &Path) -> Result<ImageRef, DockerError> {
        self.of_plan(&ImagePlan::of_rootfs(path)).await
    }
}

impl Builder {
    async fn external(&self, source: ImageSource<'_>) -> Result<ImageRef, DockerError> {
        let toolbox = Box::pin(self.derived(TOOLBOX, TOOLBOX)).await?.name;
        let import = ImageImport::new(self, source).await?;
        let content = match &import.content {
            Some(content) => content.clone(),
            None => import.read(self).await?,
        };
        let node = self.imported(&import, &content, &toolbox).await?;
        let lacks_kubelet = node
            .facts
            .as_ref()
            .is_some_and(|facts| facts.lacks(ImagePart::Kubelet));
        match lacks_kubelet {
            true => self.with_kubelet(&import, node).await,
            false => Ok(node),
        }
    }

    /// The image with the toolbox.
    async fn imported(
        &self,
        import: &ImageImport,
        content: &str,
        toolbox: &str,
    ) -> Result<ImageRef, DockerError> {
        let mut hash = ContentHash::new("import");
        hash.add(content).add(toolbox);
        let target = BuildTarget {
            name: import.image_name(),
            role: "node",
            hash: hash.short(),
            kubernetes: None,
        };
        if let Some(found) = self.find_external(&target.image()).await? {
            return Ok(found);
        }
        let Some(mut session) = self.begin(&target).await? else {
            return self.find_imported(&target.image()).await;
        };
        let raw = BuildTarget {
            hash: format!("{}-raw", target.hash),
            ..target.clone()
        };
        let made = async {
            import.load(self, &mut session, &raw).await?;
            session.step("add the tools of the harness, and read the versions of its programs");
            let command = format!("{TOOLS}/inspect-image");
            let assembly = Assembly::new(&self.engine, &target, &raw.image(), &command).await?;
            let made = self.complete(import, &assembly, &target, toolbox).await;
            assembly.remove().await;
            made
        };
        let made = made.await;
        self.remove_temporary(&raw.image()).await;
        made?;
        session.finish();
        self.find_imported(&target.image()).await
    }

    /// Adds the tools, and commits the image with what it has.
    async fn complete(
        &self,
        import: &ImageImport,
        assembly: &Assembly,
        target: &BuildTarget,
        toolbox: &str,
    ) -> Result<(), DockerError> {
        assembly.create_folders(&["opt", "opt/nodejoin"]).await?;
        assembly.copy(toolbox, "/toolbox", "/opt/nodejoin").await?;
        let (code, output) = assembly.run().await?;
        if code != 0 {
            return Err(DockerError::Unexpected {
                object: format!("image `{}`", import.source),
                problem: format!("could not be inspected: {}", output.trim()),
            });
        }
        let facts = import.facts(&output)?;
        let labelled = BuildTarget {
            kubernetes: facts.kubelet.clone(),
            ..target.clone()
        };
        assembly.commit(&labelled, &import.labels(&facts)).await
    }

    /// The image with a kubelet of the requested version.
    async fn with_kubelet(&self, import: &ImageImport, node: ImageRef) -> Result<ImageRef, DockerError> {
        let kubernetes = self.kubernetes().await?;
        let mut hash = ContentHash::new("import-kubelet");
        hash.add(&node.name).add(&kubernetes.name);
        let target = BuildTarget {
            name: import.image_name(),
            role: "node",
            hash: hash.short(),
            kubernetes: Some(kubernetes.kubernetes.clone()),
        };
        if let Some(session) = self.begin(&target).await? {
            let assembly = Assembly::new(&self.engine, &target, &node.name, "none").await?;
            let made = async {
                assembly
                    .copy(&kubernetes.name, "/kubernetes/kubelet", "/usr/bin")
                    .await?;
                assembly.commit(&target, "").await
            };
            let made = made.await;
            assembly.remove().await;
            made?;
            session.finish();
        }
        self.find_imported(&target.image()).await
    }

    /// Removes the temporary name of an image, and its layers unless another image has them.
    async fn remove_temporary(&self, image: &str) {
        let removed = self
            .engine
            .docker()
            .remove_image(image, None::<bollard::query_parameters::RemoveImageOptions>, None)
            .await;
        if let Err(error) = removed {
            tracing::debug!(image, %error, "could not remove the temporary image");
        }
    }

    async fn find_imported(&self, image: &str) -> Result<ImageRef, DockerError> {
        let found = self.find_built(image).await?;
        Ok(self.find_external(image).await?.unwrap_or(found))
    }

    /// An imported image with the facts of its label.
    async fn find_external(&self, image: &str) -> Result<Option<ImageRef>, DockerError> {
        let Some(found) = self.find(image).await? else {
            return Ok(None);
        };
        let labels = found.config.and_then(|config| config.labels).unwrap_or_default();
        let facts = labels
            .get(labels::FACTS)
            .and_then(|text| serde_json::from_str(text).ok());
        Ok(Some(ImageRef {
            name: image.to_owned(),
            kubernetes: labels.get(labels::KUBERNETES).cloned().unwrap_or_default(),
            facts,
        }))
    }

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

/// An image to import.
struct ImageImport {
    /// The name or the absolute path.
    source: String,
    is_engine: bool,
    /// Id of the image, or fingerprint of the file or folder: changes when the content changes.
    state: String,
    /// Identifies the content; `None` if it was not read before.
    content: Option<String>,
    architecture: Architecture,
}

impl ImageImport {
    async fn new(builder: &Builder, source: ImageSource<'_>) -> Result<Self, DockerError> {
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
    fn image_name(&self) -> String {
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
    async fn read(&self, builder: &Builder) -> Result<String, DockerError> {
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
    fn facts(&self, output: &str) -> Result<ImageFacts, DockerError> {
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
    async fn load(
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
    fn labels(&self, facts: &ImageFacts) -> String {
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

/// A value of a Dockerfile in double quotes.
fn quoted(value: &str) -> String {
    let escape = |c: char| match c {
        '"' | '\\' | '$' => format!("\\{c}"),
        c => c.to_string(),
    };
    format!("\"{}\"", value.chars().map(escape).collect::<String>())
}

/// Reads files outside the threads of the runtime.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}

/// The file with the hash of a root file system.
fn note(builder: &Builder, state: &str) -> PathBuf {
    builder.settings.cache.join("rootfs").join(state)
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
