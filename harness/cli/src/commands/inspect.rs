//! Commands that need no container engine: plans, lists, the schema.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nodejoin_core::input::problem::{Position, Problem, ScenarioError};
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::sources::Sources;
use nodejoin_core::run::coverage;
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::run::matrix::not_for_request;
use nodejoin_core::run::settings::{self, SettingsFile};
use nodejoin_core::scenario;
use nodejoin_core::scenario::overlay;
use nodejoin_import::{ClusterTraits, Import, import};

use crate::args::{ListArgs, PlanArgs};
use crate::commands::preflight;
use crate::process;

/// `nodejoin plan FILE`
pub(crate) fn plan(args: &PlanArgs) -> ExitCode {
    let plans = settings_file().and_then(|file| load(std::slice::from_ref(&args.file), &file, &args.overlay));
    match plans {
        Ok(mut plans) => plans.iter_mut().fold(ExitCode::Passed, |_, plan| {
            // Line numbers of the file would only make the printed plan longer.
            plan.sources = Sources::default();
            print_json(plan)
        }),
        Err(error) => refuse(&error),
    }
}

/// `nodejoin list [PATHS]`
pub(crate) fn list(args: &ListArgs) -> ExitCode {
    let matrix = match process::matrix(&args.images) {
        Ok(matrix) => matrix,
        Err(code) => return code,
    };
    match load(&args.paths, &SettingsFile::default(), &[]) {
        Ok(plans) if args.matrix => {
            out!("{}", coverage::matrix(&plans).trim_end());
            ExitCode::Passed
        }
        Ok(plans) => {
            let is_selected = |id: &str| args.shard.is_none_or(|shard| shard.holds(id));
            matrix
                .spread(&plans)
                .iter()
                .filter(|plan| is_selected(plan.id.as_str()))
                .for_each(print_listed);
            ExitCode::Passed
        }
        Err(error) => refuse(&error),
    }
}

fn print_listed(plan: &Plan) {
    out!("{:<48} {}", plan.id.as_str(), plan.name);
    if let Some(reason) = not_for_request(plan) {
        out!("{:<48} skipped: {reason}", "");
    }
}

/// `nodejoin schema`
pub(crate) fn schema() -> ExitCode {
    print_json(&nodejoin_core::scenario::scenario_schema())
}

/// The settings file of the current folder.
pub(crate) fn settings_file() -> Result<SettingsFile, ScenarioError> {
    settings::find(Path::new("."), &process::disk())
}

/// Reads the scenarios at `paths`, and adds the overlays of the settings file, then those of the command line, to their
/// images.
pub(crate) fn load(
    paths: &[PathBuf],
    settings: &SettingsFile,
    manifests: &[PathBuf],
) -> Result<Vec<Plan>, ScenarioError> {
    let disk = process::disk();
    foreign_files(paths)?;
    let found = scenario::discover(paths, &disk)?;
    let mut plans = scenario::load_all(&found, &disk)?;
    for manifest in settings.overlays.iter().chain(manifests) {
        let files = overlay::load(manifest, &disk)?;
        for plan in &mut plans {
            plan.image.overlay.extend_from_slice(&files);
        }
    }
    preflight::images(&plans)?;
    Ok(plans)
}

/// Rejects files of other tools, whose problems as scenarios would hide what they are. A scenario has a `name`.
fn foreign_files(paths: &[PathBuf]) -> Result<(), ScenarioError> {
    let mut problems = Vec::new();
    for path in paths {
        let bytes = std::fs::read(path).unwrap_or_default();
        let has_name = String::from_utf8_lossy(&bytes)
            .lines()
            .any(|line| line.starts_with("name:"));
        if bytes.is_empty() || has_name {
            continue;
        }
        let imported = import(&Import {
            name: &path.display().to_string(),
            bytes: &bytes,
            folder: None,
            set: &BTreeMap::new(),
            cluster: &ClusterTraits::default(),
        });
        if let Ok(imported) = imported {
            problems.push(Problem {
                file: path.display().to_string(),
                position: Position::default(),
                key: String::new(),
                what: format!("expected a scenario, found {}", imported.format),
                why: String::new(),
                hint: Some(format!("run `nodejoin try {}`", path.display())),
            });
        }
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(ScenarioError { problems })
    }
}

/// Prints all problems of the scenarios.
pub(crate) fn refuse(error: &ScenarioError) -> ExitCode {
    note!("{}", error.with_hints());
    ExitCode::Usage
}

fn print_json<T: serde::Serialize>(value: &T) -> ExitCode {
    match serde_json::to_string_pretty(value) {
        Ok(text) => {
            out!("{text}");
            ExitCode::Passed
        }
        Err(error) => {
            process::report_error("could not print JSON", &error, None);
            ExitCode::Environment
        }
    }
}
