//! Recipes: the folders of fixtures/images, embedded in the program.

use nodejoin_fixtures::{Dir, DirEntry, IMAGES};

use crate::error::DockerError;
use crate::images::content_hash::ContentHash;
use crate::labels;

/// The file with the steps of a build.
pub(crate) const DOCKERFILE: &str = "Dockerfile";
/// The stage of a Dockerfile that installs packages and has no parent but the base image.
pub(crate) const PACKAGES: &str = "packages";
/// Recipe folder of the node image from which others start.
const AL2: &str = "nodes/al2";
/// Recipe folder and role of the image of a `local` control plane.
pub(crate) const LOCAL_CONTROL_PLANE: &str = "control-plane";

/// A file of a build context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecipeFile {
    pub(crate) path: String,
    pub(crate) mode: u32,
    pub(crate) content: Vec<u8>,
}

/// The files that an image is built from, without its parents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recipe {
    /// Folder below fixtures/images: `control-plane`, `nodes/al2`.
    pub(crate) folder: String,
    pub(crate) files: Vec<RecipeFile>,
}

/// An image that another image starts or copies from, given by a build argument of the Dockerfile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ParentImage {
    Base,
    Kubernetes,
    ControlPlane,
    /// The node image `al2`, from which those of other systems differ in few files.
    Al2,
}

impl ParentImage {
    pub(crate) fn argument(self) -> &'static str {
        match self {
            Self::Base => "BASE",
            Self::Kubernetes => "KUBERNETES",
            Self::ControlPlane => "CONTROL_PLANE",
            Self::Al2 => "AL2",
        }
    }

    /// The recipe folder and the role of a parent that is built from a recipe with parents of its own.
    pub(crate) fn derived(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Base | Self::Kubernetes => None,
            Self::ControlPlane => Some((LOCAL_CONTROL_PLANE, LOCAL_CONTROL_PLANE)),
            Self::Al2 => Some((AL2, "node")),
        }
    }
}

impl Recipe {
    /// Loads the recipe in a folder below fixtures/images.
    pub(crate) fn load(folder: &str) -> Result<Self, DockerError> {
        let missing = || DockerError::Recipe {
            recipe: folder.to_owned(),
            problem: "the Dockerfile is missing".to_owned(),
        };
        let dir = IMAGES.get_dir(folder).ok_or_else(missing)?;
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

    /// The names of the recipes of all node images.
    pub(crate) fn nodes() -> Vec<String> {
        let dirs = IMAGES.get_dir("nodes").into_iter().flat_map(Dir::dirs);
        let with_recipe = dirs.filter(|dir| dir.get_file(dir.path().join(DOCKERFILE)).is_some());
        let mut names: Vec<_> = with_recipe
            .filter_map(|dir| Some(dir.path().file_name()?.to_string_lossy().into_owned()))
            .collect();
        names.sort();
        names
    }

    /// The name of the image, which is the last part of the folder.
    pub(crate) fn name(&self) -> &str {
        self.folder.rsplit('/').next().unwrap_or(&self.folder)
    }

    /// The parents, which are the build arguments before the first `FROM` of the Dockerfile.
    pub(crate) fn parents(&self) -> Result<Vec<ParentImage>, DockerError> {
        let dockerfile = self.dockerfile().unwrap_or_default();
        let arguments = dockerfile
            .lines()
            .map(str::trim)
            .take_while(|line| !line.starts_with("FROM "))
            .filter_map(|line| line.strip_prefix("ARG "))
            .filter(|argument| !argument.contains('='));
        let known = [
            ParentImage::Base,
            ParentImage::Kubernetes,
            ParentImage::ControlPlane,
            ParentImage::Al2,
        ];
        let mut parents: Vec<ParentImage> = arguments
            .map(|argument| {
                let parent = known.into_iter().find(|parent| parent.argument() == argument.trim());
                parent.ok_or_else(|| DockerError::Recipe {
                    recipe: self.folder.clone(),
                    problem: format!("unknown argument `{argument}` in its Dockerfile: expected BASE, KUBERNETES, CONTROL_PLANE or AL2"),
                })
            })
            .collect::<Result<_, _>>()?;
        parents.sort();
        parents.dedup();
        Ok(parents)
    }

    /// The hash of everything the image is built from.
    pub(crate) fn hash(&self, parents: &[(ParentImage, String)]) -> String {
        let mut hash = ContentHash::new("recipe");
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

    /// Whether the Dockerfile has a stage of this name.
    pub(crate) fn has_stage(&self, name: &str) -> bool {
        stages(self.dockerfile().unwrap_or_default()).any(|stage| stage.name == Some(name))
    }

    /// The files for the builder, with a label in each stage by which leftovers of builds are found.
    pub(crate) fn build_files(&self) -> Vec<RecipeFile> {
        let label = format!("LABEL {}={} {}=build", labels::IMAGE, self.name(), labels::ROLE);
        let with_labels = |file: &RecipeFile| match file.path.as_str() {
            DOCKERFILE => {
                let text = String::from_utf8_lossy(&file.content);
                // A stage that starts from another one has its label.
                let starts: Vec<_> = stages(&text)
                    .filter(|stage| !stages(&text).any(|other| other.name == Some(stage.from)))
                    .map(|stage| stage.line)
                    .collect();
                let lines = text
                    .lines()
                    .flat_map(|line| [Some(line), starts.contains(&line).then_some(label.as_str())]);
                let labelled: Vec<_> = lines.flatten().collect();
                RecipeFile {
                    content: (labelled.join("\n") + "\n").into_bytes(),
                    ..file.clone()
                }
            }
            _ => file.clone(),
        };
        self.files.iter().map(with_labels).collect()
    }

    fn dockerfile(&self) -> Option<&str> {
        let file = self.files.iter().find(|file| file.path == DOCKERFILE)?;
        std::str::from_utf8(&file.content).ok()
    }
}

/// The first line of a stage of a Dockerfile.
struct Stage<'a> {
    line: &'a str,
    from: &'a str,
    name: Option<&'a str>,
}

fn stages(dockerfile: &str) -> impl Iterator<Item = Stage<'_>> {
    dockerfile.lines().filter_map(|line| {
        let words: Vec<_> = line.strip_prefix("FROM ")?.split_whitespace().collect();
        let name = match words.as_slice() {
            [_, "AS", name] => Some(*name),
            _ => None,
        };
        let from = words.first()?;
        Some(Stage { line, from, name })
    })
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
                // Permission bits are not embedded, and differ between checkouts.
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
    fn the_embedded_recipes_are_valid() {
        assert_eq!(Recipe::nodes(), ["al2", "al2023"]);
        assert_eq!(
            Recipe::load("nodes/al2023").unwrap().parents().unwrap(),
            [ParentImage::Al2]
        );
        let kubernetes = Recipe::load("kubernetes").unwrap();
        assert_eq!(kubernetes.parents().unwrap(), [ParentImage::Base]);
        let build = kubernetes.files.iter().find(|file| file.path == "build").unwrap();
        assert_eq!(build.mode, 0o755);
        assert!(Recipe::load("base").is_err());
        for folder in ["nodes/al2", LOCAL_CONTROL_PLANE] {
            assert!(Recipe::load(folder).unwrap().has_stage(PACKAGES), "{folder}");
        }
    }

    #[test]
    fn a_hash_changes_with_a_parent_and_with_a_file() {
        let one = recipe("ARG BASE\nFROM ${BASE}\n");
        let base = |tag: &str| [(ParentImage::Base, format!("nodejoin/base:{tag}"))];
        assert_eq!(one.hash(&base("a")), one.hash(&base("a")));
        assert_ne!(one.hash(&base("a")), one.hash(&base("b")));
        assert_ne!(
            one.hash(&base("a")),
            recipe("ARG BASE\nFROM ${BASE} \n").hash(&base("a"))
        );
    }

    #[test]
    fn an_unknown_argument_without_a_default_is_rejected() {
        let problem = recipe("ARG BSE\nFROM ${BSE}\n").parents().unwrap_err();
        assert!(problem.to_string().contains("`BSE`"), "{problem}");
        assert_eq!(
            recipe("ARG BASE\nARG X=1\nFROM ${BASE}\nARG Y\n")
                .parents()
                .unwrap(),
            [ParentImage::Base]
        );
    }

    #[test]
    fn every_stage_of_a_build_is_labelled() {
        let files = recipe("FROM a AS b\nRUN x\nFROM scratch\nRUN y\nFROM b\nRUN z\n").build_files();
        let text = String::from_utf8(files[0].content.clone()).unwrap();
        let label = "LABEL nodejoin.image=x nodejoin.role=build";
        assert_eq!(
            text,
            format!("FROM a AS b\n{label}\nRUN x\nFROM scratch\n{label}\nRUN y\nFROM b\nRUN z\n")
        );
    }
}
