//! Writes scenarios that are made of others.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use nodejoin_core::input::problem::ScenarioError;
use nodejoin_core::plan::Plan;
use nodejoin_core::scenario::{self, Derived, ScenarioPath};

use crate::process;

/// Writes a scenario like that of a plan, and reads it again. Returns its path.
///
/// `None`: the file could not be written, or a scenario cannot describe it; the reason is printed.
pub(crate) fn write(path: &Path, plan: &Plan, derived: &Derived<'_>) -> Option<String> {
    let disk = process::disk();
    let text = match scenario::derived(plan, derived, &disk) {
        Ok(text) => text,
        Err(error) => return refused(path, &error),
    };
    let hint = Some("name a folder that you can write to".to_owned());
    match create(path, derived.folder, &text) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let shown = path.display();
            if std::fs::read_to_string(path).is_ok_and(|before| before == text) {
                return Some(shown.to_string());
            }
            note!("kept `{shown}`, which has other text: remove it to have it written again");
            return None;
        }
        Err(error) => {
            process::report_error(&format!("could not write `{}`", path.display()), &error, hint);
            return None;
        }
    }
    let found = ScenarioPath {
        path: path.to_owned(),
        root: derived.folder.to_owned(),
    };
    let loaded = scenario::load_file(&found, &disk);
    let is_right = |plans: &Vec<Plan>| {
        derived
            .world
            .is_none_or(|world| plans.iter().all(|plan| scenario::is_same_world(plan, world)))
    };
    match loaded {
        Ok(plans) if is_right(&plans) => Some(path.display().to_string()),
        Ok(_) => {
            let _ = std::fs::remove_file(path);
            note!(
                "not written: `{}`: no keys of a scenario describe its world",
                path.display()
            );
            None
        }
        Err(error) => {
            let _ = std::fs::remove_file(path);
            refused(path, &error)
        }
    }
}

/// Creates the file, which must not exist: it may have been edited since.
fn create(path: &Path, folder: &Path, text: &str) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    File::create_new(path)?.write_all(text.as_bytes())
}

fn refused(path: &Path, error: &ScenarioError) -> Option<String> {
    note!("could not write `{}`: {}", path.display(), error.with_hints());
    None
}

#[cfg(test)]
mod tests {
    use nodejoin_core::plan::expect::Expect;
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_file_that_was_edited_is_kept() {
        let folder = TempDir::new().unwrap();
        let scenario = folder.path().join("a.yaml");
        std::fs::write(&scenario, "name: a\nuser_data: '#!/bin/sh'\n").unwrap();
        let found = ScenarioPath {
            path: scenario,
            root: folder.path().to_owned(),
        };
        let plan = scenario::load_file(&found, &process::disk()).unwrap().remove(0);
        let expect = Expect::default();
        let derived = Derived {
            name: "b",
            about: "why",
            expect: &expect,
            world: None,
            folder: folder.path(),
        };
        let path = folder.path().join("b.yaml");
        assert!(write(&path, &plan, &derived).is_some());
        assert!(write(&path, &plan, &derived).is_some(), "equal text");
        std::fs::write(&path, "edited").unwrap();
        assert!(write(&path, &plan, &derived).is_none());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "edited");
    }
}
