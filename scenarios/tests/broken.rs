//! Scripts that are broken on purpose, with a model of what must be said of them.

use std::path::{Path, PathBuf};

use nodejoin_core::compare::MachineDifference;
use nodejoin_core::diagnosis::Cause;
use nodejoin_core::input::files::Files;
use nodejoin_core::judge::verdict::{Outcome, Verdict};
use nodejoin_core::plan::Plan;
use nodejoin_core::run::matrix::Matrix;
use nodejoin_core::scenario::{overlay, patch_user_data};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// A scenario that must fail, because a broken script is laid over its node.
#[derive(Debug, Clone)]
pub(crate) struct Broken {
    pub(crate) name: String,
    pub(crate) plan: Plan,
    /// The scenario with the script that is not broken.
    sound: Plan,
    caught_by: CaughtBy,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// Folder of the broken script's overlay, below `fixtures/overlays/broken`.
    name: String,
    /// The scenario that runs on it.
    scenario: String,
    /// The historic regression that the script repeats. The book lists it.
    #[serde(default, rename = "regression")]
    _regression: Option<IgnoredAny>,
    /// Why a script is here that repeats none.
    #[serde(default, rename = "reason")]
    _reason: Option<String>,
    /// An overlay below the script, sound or broken: a folder below `fixtures/overlays`.
    #[serde(default)]
    under: Option<String>,
    /// Where the script is.
    #[serde(default)]
    script_in: ScriptIn,
    /// What must be said.
    caught_by: CaughtBy,
}

/// Where a broken script is.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ScriptIn {
    /// In the node image: the folder has an overlay.
    #[default]
    Image,
    /// In the user data of the scenario: the folder has `user-data.patch`.
    UserData,
}

/// What the verdict must hold: each check named must be broken, and the cause must be this one. A script whose node
/// joins nevertheless must leave another machine than the sound one.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaughtBy {
    #[serde(default)]
    checks: Vec<String>,
    #[serde(default)]
    diagnosis: Option<Cause>,
    /// Parts of the machine that `nodejoin diff` must find different.
    #[serde(default)]
    diff: Vec<String>,
}

/// Reads the model.
pub(crate) fn load(model: &Path, plans: &[Plan], disk: &impl Files) -> Result<Vec<Broken>, String> {
    let text = disk
        .read(model)
        .map_err(|error| format!("`{}`: {error}", model.display()))?;
    let text = String::from_utf8(text).map_err(|error| error.to_string())?;
    let rows: Vec<Row> =
        serde_yaml::from_str(&text).map_err(|error| format!("`{}`: {error}", model.display()))?;
    let folder = model.with_file_name("overlays").join("broken");
    rows.into_iter()
        .map(|row| of(row, &folder, plans, disk))
        .collect()
}

fn of(row: Row, folder: &Path, plans: &[Plan], disk: &impl Files) -> Result<Broken, String> {
    let plan = plans.iter().find(|plan| plan.id.as_str() == row.scenario);
    let mut plan = plan
        .ok_or_else(|| format!("no scenario `{}` for `{}`", row.scenario, row.name))?
        .clone();
    let load = |folder: PathBuf| {
        overlay::load(&folder.join("overlay.yaml"), disk).map_err(|error| error.with_hints())
    };
    if let Some(under) = &row.under {
        plan.add_overlay(&load(folder.with_file_name(under))?);
    }
    let sound = plan.clone();
    let broken = folder.join(&row.name);
    match row.script_in {
        ScriptIn::Image => plan.add_overlay(&load(broken)?),
        ScriptIn::UserData => patch_user_data(&mut plan, &broken.join("user-data.patch"), disk)?,
    }
    Ok(Broken {
        name: row.name,
        plan,
        sound,
        caught_by: row.caught_by,
    })
}

impl Broken {
    /// The same on the first of these versions.
    pub(crate) fn on(mut self, matrix: &Matrix) -> Self {
        self.plan.requested = matrix.each().remove(0);
        self.sound.requested = self.plan.requested.clone();
        self
    }

    /// The probes of the sound and of the broken script, if the machines must differ.
    pub(crate) fn probes(&self) -> Option<[Plan; 2]> {
        (!self.caught_by.diff.is_empty()).then(|| [self.sound.probe(), self.plan.probe()])
    }

    /// The parts that must differ and do not, with those that do.
    pub(crate) fn missed_parts(&self, found: &[MachineDifference]) -> Vec<String> {
        let parts: Vec<&str> = found.iter().map(|difference| difference.part.as_str()).collect();
        let missed = self
            .caught_by
            .diff
            .iter()
            .filter(|part| !parts.contains(&part.as_str()));
        missed
            .map(|part| format!("`{part}` does not differ; different are: {}", parts.join(", ")))
            .collect()
    }

    /// What the verdict should have said and did not.
    pub(crate) fn missed(&self, verdict: &Verdict) -> Vec<String> {
        let mut missed = Vec::new();
        if verdict.outcome != Outcome::Failed {
            missed.push(format!("the verdict is {:?}, not failed", verdict.outcome));
        }
        for key in &self.caught_by.checks {
            if !verdict
                .checks
                .iter()
                .any(|check| !check.held && check.key == *key)
            {
                missed.push(format!("the check `{key}` is not broken"));
            }
        }
        let cause = verdict.diagnosis.as_ref().map(|diagnosis| diagnosis.cause);
        if self.caught_by.diagnosis.is_some() && cause != self.caught_by.diagnosis {
            missed.push(format!(
                "the cause is {cause:?}, not {:?}",
                self.caught_by.diagnosis
            ));
        }
        missed
    }
}
