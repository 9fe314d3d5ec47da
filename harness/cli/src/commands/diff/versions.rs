//! The two versions that `nodejoin diff` compares, and the scenarios as each of them has them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use nodejoin_core::compare::BlessedStates;
use nodejoin_core::input::files::Files;
use nodejoin_core::input::moved::MovedFiles;
use nodejoin_core::input::problem::ScenarioError;
use nodejoin_core::plan::Plan;
use nodejoin_core::run::settings::SettingsFile;
use nodejoin_core::scenario;
use nodejoin_core::scenario::overlay;

use crate::commands::preflight;
use crate::diff_args::DiffArgs;
use crate::process;

/// A version of what the scenarios run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ComparedVersion {
    /// The files as they are now.
    Now,
    /// Another copy of the folder.
    Folder(PathBuf),
    /// An overlay manifest.
    Manifest(PathBuf),
    /// A node image.
    Image(PathBuf),
    /// States that were blessed: no files.
    Blessed(Arc<BlessedStates>),
}

/// Whether a text can be the name of an image with its tag, such as `my-ami:1`.
fn is_image_name(text: &str) -> bool {
    text.contains(':') && !text.contains(' ')
}

/// What is wrong with the versions of the command line.
#[derive(Debug, thiserror::Error)]
pub(super) enum VersionError {
    #[error(
        "`{0}` is neither a folder, nor an overlay manifest, nor a revision of the repository at {1}: {2}{hint}",
        hint = if is_image_name(.0) { "; to compare two node images, add --images" } else { "" }
    )]
    Unknown(String, String, String),
    #[error(
        "OLD and NEW are folders, and neither holds `{0}`: name the folder that they are versions of by --tree FOLDER, \
         or the variable that names it by --variable NAME"
    )]
    WhichFolder(String),
    #[error(
        "the environment variable `{0}` is not set: set it to the folder that OLD and NEW are versions of"
    )]
    Unset(String),
    #[error("could not unpack `{0}`: {1}")]
    Unpack(String, String),
    #[error("with --images, OLD and NEW are both needed")]
    OneImage,
    #[error("`{0}` has no blessed states: {1}; `nodejoin diff --bless FILE` writes such a file")]
    Unblessed(String, String),
}

/// The versions of a command line, and the folder that they are versions of.
pub(super) struct ComparedVersions {
    pub(super) old: ComparedVersion,
    pub(super) new: ComparedVersion,
    tree: Option<PathBuf>,
    variable: Option<String>,
    /// Holds the unpacked revisions.
    unpacked: Unpacked,
}

/// A folder that is removed at the end.
struct Unpacked(PathBuf);

impl Drop for Unpacked {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl ComparedVersions {
    /// Reads the versions of a command line. Revisions are unpacked below `scratch`, which is removed with the value.
    pub(super) fn read(args: &DiffArgs, scratch: PathBuf) -> Result<Self, VersionError> {
        let unpacked = Unpacked(scratch);
        let Some(old) = &args.old else {
            // With --bless, which conflicts with both.
            return Ok(Self {
                old: ComparedVersion::Now,
                new: ComparedVersion::Now,
                tree: None,
                variable: None,
                unpacked,
            });
        };
        if args.images {
            let new = args.new.as_ref().ok_or(VersionError::OneImage)?;
            return Ok(Self {
                old: ComparedVersion::Image(PathBuf::from(old)),
                new: ComparedVersion::Image(PathBuf::from(new)),
                tree: None,
                variable: None,
                unpacked,
            });
        }
        let tree = tree_of(args, old)?;
        let version = |text: &str, name: &str| version(text, &tree, &unpacked.0.join(name));
        let old = match is_json(old) {
            true => ComparedVersion::Blessed(Arc::new(blessed(Path::new(old))?)),
            false => version(old, "old")?,
        };
        let new = match &args.new {
            Some(new) => version(new, "new")?,
            None => ComparedVersion::Now,
        };
        Ok(Self {
            old,
            new,
            tree: args.variable.is_none().then_some(tree),
            variable: args.variable.clone(),
            unpacked,
        })
    }

    /// Whether the old version is a file with machines of other worlds.
    pub(super) fn has_blessed_worlds(&self) -> bool {
        matches!(&self.old, ComparedVersion::Blessed(states) if states.has_worlds())
    }

    /// A file of a version as the caller has it: those of an unpacked revision are in the folder that it is a version
    /// of. Files below the current folder are relative to it.
    pub(super) fn file_of_caller(&self, file: &str) -> String {
        let file = Path::new(file);
        let unpacked = ["new", "old"].map(|name| process::disk().absolute(&self.unpacked.0.join(name)));
        let below = unpacked.iter().find_map(|folder| file.strip_prefix(folder).ok());
        let file = match (below, &self.tree) {
            (Some(below), Some(tree)) => process::disk().absolute(tree).join(below),
            (Some(_), None) | (None, _) => file.to_owned(),
        };
        let here = process::current_dir();
        file.strip_prefix(&here).unwrap_or(&file).display().to_string()
    }

    /// The scenarios with the files of a version. A scenario that the version does not have is left out.
    pub(super) fn plans(
        &self,
        version: &ComparedVersion,
        args: &DiffArgs,
        settings: &SettingsFile,
    ) -> Result<Vec<Plan>, ScenarioError> {
        let disk = process::disk();
        let mut files = MovedFiles::new(&disk);
        if let ComparedVersion::Folder(folder) = version {
            files = match (&self.variable, &self.tree) {
                (Some(name), _) => {
                    let folder = disk.absolute(folder);
                    files.with_variable(name, &folder.to_string_lossy())
                }
                (None, Some(tree)) => files.with_folder(tree, folder),
                (None, None) => files,
            };
        }
        let paths: Vec<PathBuf> = args
            .scenarios
            .iter()
            .filter(|path| exists(path, &files))
            .cloned()
            .collect();
        let found = if paths.is_empty() {
            Vec::new()
        } else {
            scenario::discover(&paths, &files)?
        };
        let mut plans = scenario::load_all(&found, &files)?;
        let added = match version {
            ComparedVersion::Manifest(path) => Some(path),
            ComparedVersion::Now
            | ComparedVersion::Folder(_)
            | ComparedVersion::Image(_)
            | ComparedVersion::Blessed(_) => None,
        };
        for manifest in settings.overlays.iter().chain(&args.overlay).chain(added) {
            let overlay = overlay::load(manifest, &files)?;
            for plan in &mut plans {
                plan.add_overlay(&overlay);
            }
        }
        if let ComparedVersion::Image(image) = version {
            preflight::replace_image(&mut plans, Some(image))?;
        }
        preflight::images(&plans)?;
        if let Some(filter) = &args.filter {
            plans.retain(|plan| filter.selects(plan));
        }
        Ok(plans)
    }
}

fn exists(path: &Path, files: &dyn Files) -> bool {
    files.is_folder(path) || files.read(path).is_ok()
}

fn is_json(text: &str) -> bool {
    Path::new(text)
        .extension()
        .is_some_and(|extension| extension == "json")
        && Path::new(text).is_file()
}

/// Reads a file of blessed states.
pub(super) fn blessed(file: &Path) -> Result<BlessedStates, VersionError> {
    let shown = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string());
    let states = text.and_then(|text| BlessedStates::parse(&text));
    states.map_err(|why| VersionError::Unblessed(shown, why))
}

/// The folder that the versions are versions of.
fn tree_of(args: &DiffArgs, old: &String) -> Result<PathBuf, VersionError> {
    if let Some(name) = &args.variable {
        let value = std::env::var(name).ok().filter(|value| !value.is_empty());
        // Each of two folders is the value for its own version.
        let new = args.new.as_ref().filter(|new| Path::new(new.as_str()).is_dir());
        let both = new.filter(|_| Path::new(old.as_str()).is_dir());
        return value
            .or_else(|| both.cloned())
            .map(PathBuf::from)
            .ok_or_else(|| VersionError::Unset(name.clone()));
    }
    if let Some(tree) = &args.tree {
        return Ok(tree.clone());
    }
    let is_folder = |text: &&String| Path::new(text.as_str()).is_dir();
    let folders: Vec<&String> = std::iter::once(old).chain(&args.new).filter(is_folder).collect();
    if folders.is_empty() {
        return Ok(repository(Path::new(".")).unwrap_or_else(|| PathBuf::from(".")));
    }
    let absolute = |path: &Path| std::fs::canonicalize(path).ok();
    let scenarios = args.scenarios.first().and_then(|path| absolute(path));
    let holds = |folder: &&&String| {
        let (Some(folder), Some(scenarios)) = (absolute(Path::new(folder.as_str())), &scenarios) else {
            return false;
        };
        scenarios.starts_with(folder)
    };
    match folders.iter().find(holds) {
        Some(folder) => Ok(PathBuf::from(folder.as_str())),
        None => Err(VersionError::WhichFolder(
            args.scenarios
                .first()
                .map(|path| path.display().to_string())
                .unwrap_or_default(),
        )),
    }
}

/// The root of the repository that a folder is in.
fn repository(folder: &Path) -> Option<PathBuf> {
    let root = git(folder, &["rev-parse", "--show-toplevel"]).ok()?;
    Some(PathBuf::from(root.trim()))
}

fn version(text: &str, tree: &Path, unpacked: &Path) -> Result<ComparedVersion, VersionError> {
    let path = Path::new(text);
    if path.is_dir() {
        return Ok(ComparedVersion::Folder(path.to_owned()));
    }
    let is_manifest = path
        .extension()
        .is_some_and(|extension| extension == "yaml" || extension == "yml");
    if path.is_file() && is_manifest {
        return Ok(ComparedVersion::Manifest(path.to_owned()));
    }
    let commit = format!("{text}^{{commit}}");
    let found = git(
        tree,
        &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit],
    );
    let commit =
        found.map_err(|why| VersionError::Unknown(text.to_owned(), tree.display().to_string(), why))?;
    let below = git(tree, &["rev-parse", "--show-prefix"]);
    let below = below.map_err(|why| VersionError::Unpack(text.to_owned(), why))?;
    unpack(tree, commit.trim(), below.trim(), unpacked)
        .map_err(|why| VersionError::Unpack(text.to_owned(), why))?;
    Ok(ComparedVersion::Folder(unpacked.to_owned()))
}

/// Unpacks the files that a commit has in a folder of the repository.
fn unpack(tree: &Path, commit: &str, below: &str, to: &Path) -> Result<(), String> {
    std::fs::create_dir_all(to).map_err(|error| error.to_string())?;
    let object = format!("{commit}:{below}");
    let mut archive = Command::new("git")
        .arg("-C")
        .arg(tree)
        .args(["archive", "--format=tar", &object])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let stream = archive.stdout.take().ok_or("git has no output")?;
    let unpacked = tar::Archive::new(stream).unpack(to);
    let ended = archive.wait().map_err(|error| error.to_string())?;
    if !ended.success() {
        return Err(format!("git archive {object} failed"));
    }
    unpacked.map_err(|error| error.to_string())
}

/// Runs git in a folder and returns its output.
fn git(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output();
    let output = output.map_err(|error| format!("could not run git: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(if message.is_empty() {
        "git knows no such revision".to_owned()
    } else {
        message
    })
}
