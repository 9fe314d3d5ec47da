//! Writes a scenario for each change that no scenario noticed and that one of them could.

use std::path::Path;

use nodejoin_core::plan::Plan;
use nodejoin_core::scenario::Derived;
use nodejoin_engine::{BaseScenario, KillingExpectation};

use super::chosen::NamedMutant;
use crate::commands::probing;

/// Writes the scenario into the folder. Returns its path; if there is none, the reason is printed.
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
        world: None,
        folder,
    };
    probing::written::write(&path, &base.plan, &derived)
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
