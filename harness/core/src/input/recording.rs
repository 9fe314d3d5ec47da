//! Files that record which paths were read, so that a change of one of them has a meaning.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::files::{Files, ForeignFileError, MachineUserData, Seekable};

/// The paths that something was read from, absolute. A path that leads through a symbolic link is there twice: as it
/// was named, and as the link resolves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilesRead {
    /// Files, also missing ones: creating one changes the result.
    pub files: BTreeSet<PathBuf>,
    /// Folders whose entries were listed.
    pub folders: BTreeSet<PathBuf>,
}

impl FilesRead {
    /// Whether a change of the file or folder at this absolute path can change what was read.
    #[must_use]
    pub fn depend_on(&self, changed: &Path) -> bool {
        let is_above = |read: &PathBuf| read.starts_with(changed);
        if self.files.iter().chain(&self.folders).any(is_above) {
            return true;
        }
        let folder = changed.parent().unwrap_or(changed);
        self.folders.contains(folder) && !is_temporary(changed)
    }

    /// Adds the paths of another record.
    pub fn extend(&mut self, other: &Self) {
        self.files.extend(other.files.iter().cloned());
        self.folders.extend(other.folders.iter().cloned());
    }
}

/// Whether the name is that of a hidden file, or of one that an editor creates next to the file that it saves.
#[must_use]
pub fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_of_an_editor = [".swp", ".swx", ".tmp", "~", "___jb_tmp___", "___jb_old___"]
        .iter()
        .any(|ending| name.ends_with(ending));
    // Vim checks whether it may create files with a file of this name.
    name.starts_with('.') || name.starts_with('#') || name == "4913" || is_of_an_editor
}

/// Files that record what is read.
pub struct RecordingFiles<'a> {
    files: &'a dyn Files,
    read: RefCell<FilesRead>,
}

impl<'a> RecordingFiles<'a> {
    #[must_use]
    pub fn new(files: &'a dyn Files) -> Self {
        Self {
            files,
            read: RefCell::default(),
        }
    }

    /// What was read so far.
    #[must_use]
    pub fn into_read(self) -> FilesRead {
        self.read.into_inner()
    }

    fn record(&self, path: &Path, to: fn(&mut FilesRead) -> &mut BTreeSet<PathBuf>) {
        let mut read = self.read.borrow_mut();
        let paths = to(&mut read);
        // An editor replaces the link or the file that it leads to.
        if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
            let parent = match parent.as_os_str().is_empty() {
                true => Path::new("."),
                false => parent,
            };
            paths.insert(self.files.absolute(parent).join(name));
        }
        paths.insert(self.files.absolute(path));
    }

    fn record_file(&self, path: &Path) {
        self.record(path, |read| &mut read.files);
    }

    fn record_folder(&self, path: &Path) {
        self.record(path, |read| &mut read.folders);
    }
}

impl Files for RecordingFiles<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.record_file(path);
        self.files.read(path)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Seekable>> {
        self.record_file(path);
        self.files.open(path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.record_folder(folder);
        self.files.list(folder)
    }

    fn is_folder(&self, path: &Path) -> bool {
        self.files.is_folder(path)
    }

    fn mode(&self, path: &Path) -> io::Result<u32> {
        self.record_file(path);
        self.files.mode(path)
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        self.files.absolute(path)
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.files.variable(name)
    }

    /// Records a folder without the folders in it, which other tools fill.
    fn machine_user_data(
        &self,
        path: &Path,
        select: Option<&str>,
    ) -> Result<MachineUserData, ForeignFileError> {
        match self.files.is_folder(path) {
            true => self.record_folder(path),
            false => self.record_file(path),
        }
        self.files.machine_user_data(path, select)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::files::{Disk, Memory};
    use crate::scenario;

    /// What a scenario with a file of each kind reads.
    fn read_by_a_scenario(user_data: &str) -> FilesRead {
        let text = format!("name: x\noverlay: shared/overlay.yaml\ngolden: {{}}\nuser_data: {user_data}\n");
        let memory = Memory::default()
            .with("/s/a.yaml", text)
            .with("/s/data.sh", "#!/bin/sh\n")
            .with("/s/one.patch", "@@ -1 +1 @@\n-#!/bin/sh\n+#!/bin/bash\n")
            .with("/s/other.sh", "#!/bin/sh\n")
            .with(
                "/s/shared/overlay.yaml",
                "root: files\nfiles:\n  - { from: etc, to: /etc }\n",
            )
            .with("/s/shared/files/etc/one", "1");
        let files = RecordingFiles::new(&memory);
        let _ = scenario::load(Path::new("/s/a.yaml"), Path::new("/s"), &files);
        files.into_read()
    }

    #[test]
    fn a_scenario_depends_on_every_file_that_it_names() {
        let read = read_by_a_scenario("{ file: data.sh, patch: one.patch }");
        for changed in [
            "/s/a.yaml",
            "/s/data.sh",
            "/s/one.patch",
            "/s/a.snapshot",
            "/s/shared/overlay.yaml",
            "/s/shared/files/etc/one",
            "/s/shared/files/etc/new",
            // The whole folder was renamed.
            "/s/shared",
        ] {
            assert!(read.depend_on(Path::new(changed)), "{changed}: {read:?}");
        }
        for changed in [
            "/s/other.sh",
            "/s/b.yaml",
            "/s/data.sh~",
            "/s/4913",
            "/s/shared/files/etc/.one.swp",
            "/s/shared/files/etc/one~",
        ] {
            assert!(!read.depend_on(Path::new(changed)), "{changed}: {read:?}");
        }
    }

    #[test]
    fn a_missing_file_counts_because_creating_it_changes_the_scenario() {
        let read = read_by_a_scenario("{ file: missing.sh }");
        assert!(read.depend_on(Path::new("/s/missing.sh")), "{read:?}");
    }

    #[test]
    fn a_link_counts_as_itself_and_as_its_target() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        std::fs::create_dir(path.join("scripts")).unwrap();
        std::fs::write(path.join("scripts/real.sh"), "#!/bin/sh\n").unwrap();
        std::os::unix::fs::symlink("scripts/real.sh", path.join("link.sh")).unwrap();
        let disk = Disk::default();
        let files = RecordingFiles::new(&disk);
        files.read(&path.join("link.sh")).unwrap();
        let expected = [path.join("link.sh"), path.join("scripts/real.sh")];
        assert_eq!(files.into_read().files, BTreeSet::from(expected));
    }
}
