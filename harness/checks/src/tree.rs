//! The files of the repository.

use std::path::{Path, PathBuf};

/// Folders that hold no sources: builds, and what editors and git keep.
const SKIPPED: &[&str] = &[".git", "target", "book-output", "node_modules"];

/// A text file of the repository.
#[derive(Debug, Clone)]
pub struct File {
    /// The path below the root, with `/`.
    pub path: String,
    pub text: String,
}

impl File {
    /// Whether the file is a Rust source.
    #[must_use]
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

/// The root of the repository.
///
/// # Panics
/// Never: the crate is two folders below the root.
#[must_use]
pub fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package
        .ancestors()
        .nth(2)
        .expect("the crate is two folders below the root")
        .to_owned()
}

/// All UTF-8 files below the root, by path.
#[must_use]
pub fn files() -> Vec<File> {
    let root = root();
    let mut paths = Vec::new();
    walk(&root, &mut paths);
    paths.sort();
    paths
        .iter()
        .filter_map(|path| {
            let below = path.strip_prefix(&root).ok()?;
            Some(File {
                path: below.to_string_lossy().replace('\\', "/"),
                text: std::fs::read_to_string(path).ok()?,
            })
        })
        .collect()
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && !SKIPPED.contains(&name.as_str()) => walk(&entry.path(), paths),
            Ok(kind) if kind.is_file() && name != ".git" => paths.push(entry.path()),
            _ => {}
        }
    }
}

/// The part of the repository that a path belongs to: a crate, or a folder of the root.
#[must_use]
pub fn area(path: &str) -> String {
    let mut parts = path.split('/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some("harness"), Some(name), Some(_)) => format!("harness/{name}"),
        (Some(folder), Some(_), _) => folder.to_owned(),
        _ => "root".to_owned(),
    }
}
