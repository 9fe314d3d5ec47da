//! The default folder for evidence.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The folder in a cargo project, whose `target` git ignores already.
const IN_TARGET: &str = "target/nodejoin";
/// The folder elsewhere.
const OWN: &str = ".nodejoin";

/// The folder for evidence of runs in this folder.
pub(crate) fn default_folder(here: &Path) -> PathBuf {
    let is_cargo = here.join("Cargo.toml").is_file();
    here.join(if is_cargo { IN_TARGET } else { OWN })
}

/// Makes git ignore the default folder outside cargo projects. An existing file stays. Without the file git only lists
/// the evidence, so a failure does not stop the run.
pub(crate) fn ignore(folder: &Path) {
    if !folder.ends_with(OWN) {
        return;
    }
    let file = OpenOptions::new()
        .create_new(true)
        .write(true)
        .open(folder.join(".gitignore"));
    let _ = file.and_then(|mut file| file.write_all(b"*\n"));
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_cargo_project_has_its_evidence_in_target_and_other_folders_in_an_ignored_one() {
        let here = tempfile::tempdir().unwrap();
        let folder = default_folder(here.path());
        assert_eq!(folder, here.path().join(".nodejoin"));
        fs::create_dir(&folder).unwrap();
        ignore(&folder);
        let file = folder.join(".gitignore");
        assert_eq!(fs::read_to_string(&file).unwrap(), "*\n");
        fs::write(&file, "mine").unwrap();
        ignore(&folder);
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
        fs::write(here.path().join("Cargo.toml"), "").unwrap();
        assert_eq!(default_folder(here.path()), here.path().join("target/nodejoin"));
    }

    #[test]
    fn a_folder_that_the_user_named_has_no_file_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        ignore(folder.path());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
