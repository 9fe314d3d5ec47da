//! Writes scenarios that are made of others.

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
    let written = std::fs::create_dir_all(derived.folder).and_then(|()| std::fs::write(path, text));
    if let Err(error) = written {
        let hint = Some("name a folder that you can write to".to_owned());
        process::report_error(&format!("could not write `{}`", path.display()), &error, hint);
        return None;
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

fn refused(path: &Path, error: &ScenarioError) -> Option<String> {
    note!("could not write `{}`: {}", path.display(), error.with_hints());
    None
}
