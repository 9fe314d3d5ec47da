//! The outcomes of the last runs, by which `--rerun-failed` selects scenarios.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::input::files::Files;
use crate::judge::verdict::Outcome;
use crate::vocabulary::ids::ScenarioId;

/// Between the id of a repeated scenario and the number of its run.
pub const RUN_MARK: &str = "@run-";

/// Name of the file in the folder for evidence.
const NAME: &str = "last-run.json";

/// The format of the file.
const VERSION: u32 = 1;

/// The last outcome of each scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LastRun {
    version: u32,
    scenarios: BTreeMap<String, LastOutcome>,
}

/// The outcome of a scenario in the last run that selected it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum LastOutcome {
    Skipped,
    Passed,
    NotRun,
    Cancelled,
    Errored,
    Failed,
}

impl Default for LastRun {
    fn default() -> Self {
        Self {
            version: VERSION,
            scenarios: BTreeMap::new(),
        }
    }
}

impl LastRun {
    /// The path of the file.
    #[must_use]
    pub fn path(artifacts: &Path) -> PathBuf {
        artifacts.join(NAME)
    }

    /// Reads the file. The error is a sentence with its path.
    pub fn read(path: &Path, files: &impl Files) -> Result<Self, String> {
        let bytes = files
            .read(path)
            .map_err(|error| format!("could not read `{}`: {error}", path.display()))?;
        let read: Self = serde_json::from_slice(&bytes)
            .map_err(|error| format!("invalid record `{}`: {error}", path.display()))?;
        if read.version == VERSION {
            return Ok(read);
        }
        let version = read.version;
        Err(format!(
            "`{}` has version {version}, not {VERSION}",
            path.display()
        ))
    }

    /// Whether the last run of a scenario did not pass, or did not happen.
    #[must_use]
    pub fn needs_rerun(&self, id: &ScenarioId) -> bool {
        self.scenarios
            .get(id.as_str())
            .is_some_and(|outcome| *outcome > LastOutcome::Passed)
    }

    /// Records that a run selected these scenarios. Their outcomes follow.
    pub fn select<'a>(&mut self, ids: impl IntoIterator<Item = &'a ScenarioId>) {
        for id in ids {
            self.scenarios
                .insert(without_run(id).to_owned(), LastOutcome::NotRun);
        }
    }

    /// Records the outcome of a scenario. Of several runs, the worst outcome remains.
    pub fn record(&mut self, id: &ScenarioId, outcome: &Outcome) {
        let outcome = LastOutcome::of(outcome);
        let last = self
            .scenarios
            .entry(without_run(id).to_owned())
            .or_insert(LastOutcome::NotRun);
        let is_first = *last == LastOutcome::NotRun;
        *last = if is_first { outcome } else { outcome.max(*last) };
    }
}

impl LastOutcome {
    fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Passed => Self::Passed,
            Outcome::Failed => Self::Failed,
            Outcome::Errored(_) => Self::Errored,
            Outcome::Skipped(_) => Self::Skipped,
            Outcome::Cancelled => Self::Cancelled,
        }
    }
}

/// The id of a scenario without the number of a repeated run.
#[must_use]
pub fn without_run(id: &ScenarioId) -> &str {
    let id = id.as_str();
    id.rsplit_once(RUN_MARK).map_or(id, |(scenario, _)| scenario)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_outcome_of_several_runs_remains() {
        let id = |text: &str| text.parse::<ScenarioId>().unwrap();
        let mut last = LastRun::default();
        last.record(&id("flaky"), &Outcome::Failed);
        last.select(&[
            id("flaky@run-1"),
            id("flaky@run-2"),
            id("steady@run-1"),
            id("late@1.36@run-1"),
        ]);
        last.record(&id("flaky@run-1"), &Outcome::Failed);
        last.record(&id("flaky@run-2"), &Outcome::Passed);
        last.record(&id("steady@run-1"), &Outcome::Passed);
        let needs = ["flaky", "steady", "late@1.36", "unknown"].map(|text| last.needs_rerun(&id(text)));
        assert_eq!(needs, [true, false, true, false]);
        last.select(&[id("flaky")]);
        last.record(&id("flaky"), &Outcome::Passed);
        assert!(!last.needs_rerun(&id("flaky")));
    }

    #[test]
    fn a_file_of_another_version_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = LastRun::path(folder.path());
        let read = || LastRun::read(&path, &crate::input::files::Disk::default());
        assert!(read().unwrap_err().starts_with("could not read"));
        std::fs::write(&path, r#"{"version":2,"scenarios":{}}"#).unwrap();
        assert!(read().unwrap_err().ends_with("has version 2, not 1"));
        let text = serde_json::to_string(&LastRun::default()).unwrap();
        std::fs::write(&path, text).unwrap();
        assert_eq!(read().unwrap(), LastRun::default());
    }
}
