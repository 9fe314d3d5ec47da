//! Files that are read from another place: a folder of the caller as it was in another version.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::files::{Files, ForeignFileError, MachineUserData, Seekable};

/// Reads what lies below one folder from another folder, and environment variables from a table.
pub struct MovedFiles<'a> {
    files: &'a dyn Files,
    /// The folder in the paths of the caller, and the folder that is read instead; both absolute.
    folder: Option<(PathBuf, PathBuf)>,
    variables: BTreeMap<String, String>,
}

impl<'a> MovedFiles<'a> {
    /// The files themselves.
    #[must_use]
    pub fn new(files: &'a dyn Files) -> Self {
        Self {
            files,
            folder: None,
            variables: BTreeMap::new(),
        }
    }

    /// Reads `to` in place of `from`.
    #[must_use]
    pub fn with_folder(mut self, from: &Path, to: &Path) -> Self {
        self.folder = Some((self.files.absolute(from), self.files.absolute(to)));
        self
    }

    /// Replaces the value of an environment variable.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    fn moved(&self, path: &Path) -> PathBuf {
        let Some((from, to)) = &self.folder else {
            return path.to_owned();
        };
        // A path that only the other folder has cannot be resolved, so `..` is resolved without the file system.
        let absolute = self.files.absolute(&without_dots(path));
        match absolute.strip_prefix(from) {
            Ok(below) => to.join(below),
            Err(_) => path.to_owned(),
        }
    }
}

/// The path with each `..` applied to the name before it.
pub(crate) fn without_dots(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for component in path.components() {
        let ends_with_name = matches!(found.components().next_back(), Some(Component::Normal(_)));
        match component {
            Component::ParentDir if ends_with_name => drop(found.pop()),
            Component::CurDir => {}
            other => found.push(other),
        }
    }
    if found.as_os_str().is_empty() {
        found.push(".");
    }
    found
}

impl Files for MovedFiles<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.files.read(&self.moved(path))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Seekable>> {
        self.files.open(&self.moved(path))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let entries = self.files.list(&self.moved(folder))?;
        // With the folder as the caller named it: messages and ids contain the path.
        let named = |entry: PathBuf| entry.file_name().map(|name| folder.join(name));
        Ok(entries.into_iter().filter_map(named).collect())
    }

    fn is_folder(&self, path: &Path) -> bool {
        self.files.is_folder(&self.moved(path))
    }

    fn mode(&self, path: &Path) -> io::Result<u32> {
        self.files.mode(&self.moved(path))
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        self.files.absolute(&self.moved(path))
    }

    fn variable(&self, name: &str) -> Option<String> {
        let replaced = self.variables.get(name).cloned();
        replaced.or_else(|| self.files.variable(name))
    }

    fn machine_user_data(
        &self,
        path: &Path,
        select: Option<&str>,
    ) -> Result<MachineUserData, ForeignFileError> {
        self.files.machine_user_data(&self.moved(path), select)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::files::Memory;

    fn disk() -> Memory {
        Memory::default()
            .with("/repo/overlay.yaml", "new")
            .with("/old/overlay.yaml", "old")
            .with("/old/only-old", "x")
            .with("/elsewhere", "same")
            .with_variable("TREE", "/repo")
    }

    #[test]
    fn what_lies_below_the_folder_is_read_from_the_other() {
        let disk = disk();
        let files = MovedFiles::new(&disk).with_folder(Path::new("/repo"), Path::new("/old"));
        let read = |path: &str| String::from_utf8(files.read(Path::new(path)).unwrap()).unwrap();
        assert_eq!(read("/repo/overlay.yaml"), "old");
        assert_eq!(read("/repo/folder/../overlay.yaml"), "old");
        assert_eq!(read("/repo/only-old"), "x");
        assert_eq!(read("/elsewhere"), "same");
        assert_eq!(
            files.absolute(Path::new("/repo/only-old")),
            Path::new("/old/only-old")
        );
    }

    #[test]
    fn listed_paths_have_the_folder_of_the_caller() {
        let disk = disk();
        let files = MovedFiles::new(&disk).with_folder(Path::new("/repo"), Path::new("/old"));
        let listed = files.list(Path::new("/repo")).unwrap();
        assert_eq!(
            listed,
            [Path::new("/repo/only-old"), Path::new("/repo/overlay.yaml")]
        );
    }

    #[test]
    fn a_variable_can_name_another_folder() {
        let disk = disk();
        let files = MovedFiles::new(&disk).with_variable("TREE", "/old");
        assert_eq!(files.variable("TREE").as_deref(), Some("/old"));
        assert_eq!(files.variable("OTHER"), None);
        assert_eq!(files.read(Path::new("/repo/overlay.yaml")).unwrap(), b"new");
    }
}
