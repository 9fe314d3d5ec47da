//! Writes a scenario for each change that no scenario noticed and that one of them could.

use std::path::Path;

use nodejoin_core::input::problem::ScenarioError;
use nodejoin_core::plan::Plan;
use nodejoin_core::scenario::{self, Derived, ScenarioPath};
use nodejoin_engine::{BaseScenario, KillingExpectation};

use super::NamedMutant;
use crate::process;

/// Writes the scenario into the folder. Returns its path.
///
/// # Errors
/// The exit code if the file cannot be written; the reason is printed.
pub(super) fn write(
    folder: &Path,
    script: &str,
    one: &NamedMutant,
    base: &BaseScenario,
    killer: &KillingExpectation,
) -> Option<String> {
    let path = folder.join(format!("{}.yaml", file_name(&base.plan, &one.id)));
    let about = format!(
        "Fails if line {} of {script} has `{}` instead of `{}`.",
        one.mutant.line,
        line(&one.mutant.after),
        line(&one.mutant.before)
    );
    let derived = Derived {
        name: &format!("{}, with what change {} would alter", base.plan.name, one.id),
        about: &about,
        expect: &killer.expect,
        folder,
    };
    let disk = process::disk();
    let text = match scenario::derived(&base.plan, &derived, &disk) {
        Ok(text) => text,
        Err(error) => return refused(&path, &error),
    };
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
    if let Err(error) = written {
        let hint = Some("name a folder that you can write to".to_owned());
        process::report_error(&format!("could not write `{}`", path.display()), &error, hint);
        return None;
    }
    let found = ScenarioPath {
        path: path.clone(),
        root: folder.to_owned(),
    };
    match scenario::load_file(&found, &disk) {
        Ok(_) => Some(path.display().to_string()),
        Err(error) => refused(&path, &error),
    }
}

fn refused(path: &Path, error: &ScenarioError) -> Option<String> {
    note!("could not write `{}`: {}", path.display(), error.with_hints());
    None
}

/// The last part of the id of the scenario, and the id of the change.
fn file_name(plan: &Plan, mutant: &str) -> String {
    let last = plan.id.as_str().rsplit('/').next().unwrap_or_default();
    format!("{last}-{mutant}")
}

/// A change in one line.
fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}
