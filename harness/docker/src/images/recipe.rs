//! Recipes: the folders of fixtures/images, as they travel inside the program.

use include_dir::{Dir, DirEntry, include_dir};
use sha2::{Digest as _, Sha256};

use crate::error::DockerError;
use crate::labels;

static FOLDERS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../fixtures/images");

/// Changes when images are made in another way from the same recipe: every hash changes with it.
const GENERATION: &str = "1";
const DOCKERFILE: &str = "Dockerfile";

/// A file of a build context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecipeFile {
    pub(crate) path: String,
    pub(crate) mode: u32,
    pub(crate) content: Vec<u8>,
}

/// What an image is made of, but for its parents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recipe {
    /// Its folder: `control-plane`, `nodes/al2`.
    pub(crate) folder: String,
    pub(crate) files: Vec<RecipeFile>,
}

/// An image that another one starts or copies from, named by a build argument of the Dockerfile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Parent {
    Base,
    Kubernetes,
    ControlPlane,
}

impl Parent {
    pub(crate) fn argument(self) -> &'static str {
        match self {
            Self::Base => "BASE",
            Self::Kubernetes => "KUBERNETES",
            Self::ControlPlane => "CONTROL_PLANE",
        }
    }
}

impl Recipe {
    /// The recipe in a folder of fixtures/images.
    pub(crate) fn load(folder: &str) -> Result<Self, DockerError> {
        let missing = || DockerError::Recipe {
            recipe: folder.to_owned(),
            wrong: "it has no Dockerfile".to_owned(),
        };
        let dir = FOLDERS.get_dir(folder).ok_or_else(missing)?;
        let mut files = Vec::new();
        collect(dir, folder, &mut files);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let recipe = Self {
            folder: folder.to_owned(),
            files,
        };
        recipe.dockerfile().map(|_| ()).ok_or_else(missing)?;
        Ok(recipe)
    }

    /// The names of all node images.
    pub(crate) fn nodes() -> Vec<String> {
        let dirs = FOLDERS.get_dir("nodes").into_iter().flat_map(Dir::dirs);
        let with_recipe = dirs.filter(|dir| dir.get_file(dir.path().join(DOCKERFILE)).is_some());
        let mut names: Vec<_> = with_recipe
            .filter_map(|dir| Some(dir.path().file_name()?.to_string_lossy().into_owned()))
            .collect();
        names.sort();
        names
    }

    /// The last part of its folder, which is the image's name.
    pub(crate) fn name(&self) -> &str {
        self.folder.rsplit('/').next().unwrap_or(&self.folder)
    }

    /// The images it is made from, as its Dockerfile names them before the first `FROM`.
    pub(crate) fn parents(&self) -> Result<Vec<Parent>, DockerError> {
        let dockerfile = self.dockerfile().unwrap_or_default();
        let arguments = dockerfile
            .lines()
            .map(str::trim)
            .take_while(|line| !line.starts_with("FROM "))
            .filter_map(|line| line.strip_prefix("ARG "))
            .filter(|argument| !argument.contains('='));
        let known = [Parent::Base, Parent::Kubernetes, Parent::ControlPlane];
        let mut parents: Vec<Parent> = arguments
            .map(|argument| {
                let parent = known.into_iter().find(|parent| parent.argument() == argument.trim());
                parent.ok_or_else(|| DockerError::Recipe {
                    recipe: self.folder.clone(),
                    wrong: format!("its Dockerfile wants the argument `{argument}`, and only BASE, KUBERNETES and CONTROL_PLANE are given"),
                })
            })
            .collect::<Result<_, _>>()?;
        parents.sort();
        parents.dedup();
        Ok(parents)
    }

    /// The hash of everything the image is made of.
    pub(crate) fn hash(&self, parents: &[(Parent, String)]) -> String {
        let mut hash = Hash::new("recipe");
        for file in &self.files {
            hash.add(&file.path)
                .add(&format!("{:o}", file.mode))
                .add_bytes(&file.content);
        }
        for (parent, image) in parents {
            hash.add(parent.argument()).add(image);
        }
        hash.short()
    }

    /// The files as the builder gets them: what each stage makes is labelled, so that leftovers of builds are found.
    pub(crate) fn build_files(&self) -> Vec<RecipeFile> {
        let label = format!("LABEL {}={} {}=build", labels::IMAGE, self.name(), labels::ROLE);
        let dress = |file: &RecipeFile| match file.path.as_str() {
            DOCKERFILE => {
                let text = String::from_utf8_lossy(&file.content);
                let lines = text
                    .lines()
                    .flat_map(|line| [Some(line), line.starts_with("FROM ").then_some(label.as_str())]);
                let dressed: Vec<_> = lines.flatten().collect();
                RecipeFile {
                    content: (dressed.join("\n") + "\n").into_bytes(),
                    ..file.clone()
                }
            }
            _ => file.clone(),
        };
        self.files.iter().map(dress).collect()
    }

    fn dockerfile(&self) -> Option<&str> {
        let file = self.files.iter().find(|file| file.path == DOCKERFILE)?;
        std::str::from_utf8(&file.content).ok()
    }
}

fn collect(dir: &Dir<'_>, root: &str, files: &mut Vec<RecipeFile>) {
    for entry in dir.entries() {
        match entry {
            DirEntry::Dir(dir) => collect(dir, root, files),
            DirEntry::File(file) => {
                let Ok(path) = file.path().strip_prefix(root) else {
                    continue;
                };
                let content = file.contents().to_vec();
                // Permission bits do not travel inside the program, and differ between checkouts anyway.
                let mode = if content.starts_with(b"#!") { 0o755 } else { 0o644 };
                files.push(RecipeFile {
                    path: path.to_string_lossy().replace('\\', "/"),
                    mode,
                    content,
                });
            }
        }
    }
}

/// A hash over texts, each with its length so that none runs into the next.
pub(crate) struct Hash(Sha256);

impl Hash {
    pub(crate) fn new(kind: &str) -> Self {
        let mut hash = Self(Sha256::new());
        hash.add(GENERATION).add(kind);
        hash
    }

    pub(crate) fn add(&mut self, text: &str) -> &mut Self {
        self.add_bytes(text.as_bytes())
    }

    pub(crate) fn add_bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
        self
    }

    /// Its first twelve digits: the tag of an image.
    pub(crate) fn short(self) -> String {
        hex::encode(&self.0.finalize()[..6])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(dockerfile: &str) -> Recipe {
        let file = RecipeFile {
            path: DOCKERFILE.to_owned(),
            mode: 0o644,
            content: dockerfile.as_bytes().to_vec(),
        };
        Recipe {
            folder: "nodes/x".to_owned(),
            files: vec![file],
        }
    }

    #[test]
    fn the_shipped_recipes_can_be_read() {
        assert!(Recipe::nodes().contains(&"al2".to_owned()));
        let kubernetes = Recipe::load("kubernetes").unwrap();
        assert_eq!(kubernetes.parents().unwrap(), [Parent::Base]);
        let build = kubernetes.files.iter().find(|file| file.path == "build").unwrap();
        assert_eq!(build.mode, 0o755);
        assert!(Recipe::load("base").is_err());
    }

    #[test]
    fn a_hash_changes_with_a_parent_and_with_a_file() {
        let one = recipe("ARG BASE\nFROM ${BASE}\n");
        let base = |tag: &str| [(Parent::Base, format!("nodejoin/base:{tag}"))];
        assert_eq!(one.hash(&base("a")), one.hash(&base("a")));
        assert_ne!(one.hash(&base("a")), one.hash(&base("b")));
        assert_ne!(
            one.hash(&base("a")),
            recipe("ARG BASE\nFROM ${BASE} \n").hash(&base("a"))
        );
    }

    #[test]
    fn an_argument_that_nobody_gives_is_refused_and_one_with_a_default_is_not() {
        let wrong = recipe("ARG BSE\nFROM ${BSE}\n").parents().unwrap_err();
        assert!(wrong.to_string().contains("`BSE`"), "{wrong}");
        assert_eq!(
            recipe("ARG BASE\nARG X=1\nFROM ${BASE}\nARG Y\n")
                .parents()
                .unwrap(),
            [Parent::Base]
        );
    }

    #[test]
    fn every_stage_of_a_build_is_labelled() {
        let files = recipe("FROM a AS b\nRUN x\nFROM scratch\n").build_files();
        let text = String::from_utf8(files[0].content.clone()).unwrap();
        let label = "LABEL nodejoin.image=x nodejoin.role=build";
        assert_eq!(
            text,
            format!("FROM a AS b\n{label}\nRUN x\nFROM scratch\n{label}\n")
        );
    }
}
