//! Access to files and environment variables as a trait, so that tests run without either.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

/// Files, folders and environment variables.
pub trait Files {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Opens a file that is too large to be read at once.
    ///
    /// # Errors
    /// The file cannot be opened.
    fn open(&self, path: &Path) -> io::Result<Box<dyn Seekable>>;

    /// Lists a folder, sorted by name.
    ///
    /// # Errors
    /// The folder cannot be listed.
    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>>;

    /// Whether the path is a folder.
    fn is_folder(&self, path: &Path) -> bool;

    /// File mode.
    ///
    /// # Errors
    /// The mode cannot be read.
    fn mode(&self, path: &Path) -> io::Result<u32>;

    /// The absolute path, without `.` and `..`.
    fn absolute(&self, path: &Path) -> PathBuf;

    /// An environment variable.
    fn variable(&self, name: &str) -> Option<String>;

    /// The user data of a machine that a file of another tool defines. Only `nodejoin-import` knows such files.
    ///
    /// # Errors
    /// The file cannot be read, or does not define the user data of exactly one selected machine.
    fn machine_user_data(
        &self,
        path: &Path,
        select: Option<&str>,
    ) -> Result<MachineUserData, ForeignFileError> {
        let _ = select;
        Err(ForeignFileError {
            message: format!(
                "this program does not read files of other tools: `{}`",
                path.display()
            ),
            hint: "use the command `nodejoin`".to_owned(),
        })
    }
}

/// The user data of a machine in a file of another tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineUserData {
    pub bytes: Vec<u8>,
    /// Whether the bytes are a NodeConfig in place of settings of Bottlerocket.
    pub is_translated: bool,
}

/// A file of another tool without the requested user data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ForeignFileError {
    pub message: String,
    pub hint: String,
}

/// A readable and seekable file.
pub trait Seekable: Read + Seek {}

impl<T: Read + Seek> Seekable for T {}

/// The file system, with the environment variables of the caller.
#[derive(Debug, Clone, Default)]
pub struct Disk {
    variables: BTreeMap<String, String>,
}

impl Disk {
    /// The file system with these environment variables, such as `std::env::vars()`.
    #[must_use]
    pub fn with_variables(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        Self {
            variables: variables.into_iter().collect(),
        }
    }
}

impl Files for Disk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Seekable>> {
        Ok(Box::new(std::fs::File::open(path)?))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let mut paths = std::fs::read_dir(folder)?
            .map(|entry| Ok(entry?.path()))
            .collect::<io::Result<Vec<_>>>()?;
        paths.sort();
        Ok(paths)
    }

    fn is_folder(&self, path: &Path) -> bool {
        path.is_dir()
    }

    #[cfg(unix)]
    fn mode(&self, path: &Path) -> io::Result<u32> {
        use std::os::unix::fs::PermissionsExt;
        Ok(std::fs::metadata(path)?.permissions().mode() & 0o7777)
    }

    #[cfg(not(unix))]
    fn mode(&self, path: &Path) -> io::Result<u32> {
        std::fs::metadata(path).map(|_| 0o644)
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        std::fs::canonicalize(path)
            .or_else(|_| std::path::absolute(path))
            .unwrap_or_else(|_| path.to_owned())
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }
}

/// Files in memory, for tests.
#[cfg(test)]
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory {
    files: BTreeMap<PathBuf, (Vec<u8>, u32)>,
    variables: BTreeMap<String, String>,
}

#[cfg(test)]
impl Memory {
    #[must_use]
    pub(crate) fn with(mut self, path: &str, bytes: impl AsRef<[u8]>) -> Self {
        self.files.insert(path.into(), (bytes.as_ref().to_vec(), 0o644));
        self
    }

    #[must_use]
    pub(crate) fn with_mode(mut self, path: &str, mode: u32) -> Self {
        self.files.entry(path.into()).or_default().1 = mode;
        self
    }

    #[must_use]
    pub(crate) fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }
}

#[cfg(test)]
impl Files for Memory {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let found = self
            .files
            .get(&self.absolute(path))
            .or_else(|| self.files.get(path));
        found
            .map(|(bytes, _)| bytes.clone())
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Seekable>> {
        Ok(Box::new(io::Cursor::new(self.read(path)?)))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let mut names: Vec<PathBuf> = self
            .files
            .keys()
            .filter_map(|path| path.strip_prefix(folder).ok()?.components().next())
            .map(|first| folder.join(first))
            .collect();
        names.dedup();
        if names.is_empty() {
            Err(io::Error::from(io::ErrorKind::NotFound))
        } else {
            Ok(names)
        }
    }

    fn is_folder(&self, path: &Path) -> bool {
        let path = self.absolute(path);
        !self.files.contains_key(&path) && self.files.keys().any(|file| file.starts_with(&path))
    }

    fn mode(&self, path: &Path) -> io::Result<u32> {
        self.files
            .get(&self.absolute(path))
            .map(|(_, mode)| *mode)
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        let mut absolute = PathBuf::new();
        for component in path.components() {
            match component {
                std::path::Component::ParentDir => {
                    absolute.pop();
                }
                std::path::Component::CurDir => {}
                other => absolute.push(other),
            }
        }
        absolute
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }
}
