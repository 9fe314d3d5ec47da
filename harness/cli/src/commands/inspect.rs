//! What can be said without an engine: plans, lists, the schema.

use std::path::{Path, PathBuf};

use nodejoin_core::input::problem::ScenarioError;
use nodejoin_core::kubernetes::not_for_asked;
use nodejoin_core::plan::Plan as Resolved;
use nodejoin_core::plan::sources::Sources;
use nodejoin_core::run::coverage;
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::run::settings::{self, SettingsFile};
use nodejoin_core::scenario;
use nodejoin_core::scenario::overlay;

use crate::args::{List, Plan};
use crate::edge;

/// `nodejoin plan FILE`
pub(crate) fn plan(args: &Plan) -> ExitCode {
    let plans = settings_file().and_then(|file| load(std::slice::from_ref(&args.file), &file, &args.overlay));
    match plans {
        Ok(mut plans) => plans.iter_mut().fold(ExitCode::Passed, |_, plan| {
            // Whoever asks has the file before their eyes: its line numbers would only make the plan longer.
            plan.sources = Sources::default();
            print_json(plan)
        }),
        Err(error) => refuse(&error),
    }
}

/// `nodejoin list [PATHS]`
pub(crate) fn list(args: &List) -> ExitCode {
    let matrix = match edge::matrix(&args.images) {
        Ok(matrix) => matrix,
        Err(code) => return code,
    };
    match load(&args.paths, &SettingsFile::default(), &[]) {
        Ok(plans) if args.matrix => {
            out!("{}", coverage::matrix(&plans).trim_end());
            ExitCode::Passed
        }
        Ok(plans) => {
            let is_meant = |id: &str| args.shard.is_none_or(|shard| shard.holds(id));
            matrix
                .spread(&plans)
                .iter()
                .filter(|plan| is_meant(plan.id.as_str()))
                .for_each(print_listed);
            ExitCode::Passed
        }
        Err(error) => refuse(&error),
    }
}

fn print_listed(plan: &Resolved) {
    out!("{:<48} {}", plan.id.as_str(), plan.name);
    if let Some(reason) = not_for_asked(plan) {
        out!("{:<48} skipped: {reason}", "");
    }
}

/// `nodejoin schema`
pub(crate) fn schema() -> ExitCode {
    print_json(&nodejoin_core::input::schema::scenario_schema())
}

/// The settings file that counts in the current folder.
pub(crate) fn settings_file() -> Result<SettingsFile, ScenarioError> {
    settings::find(Path::new("."), &edge::disk())
}

/// Reads the scenarios below some paths, and lays over the image of each the overlays of the settings file, then those of the
/// command line.
pub(crate) fn load(
    paths: &[PathBuf],
    settings: &SettingsFile,
    manifests: &[PathBuf],
) -> Result<Vec<Resolved>, ScenarioError> {
    let disk = edge::disk();
    let found = scenario::discover(paths, &disk)?;
    let mut plans = scenario::load_all(&found, &disk)?;
    for manifest in settings.overlays.iter().chain(manifests) {
        let files = overlay::load(manifest, &disk)?;
        for plan in &mut plans {
            plan.image.overlay.extend_from_slice(&files);
        }
    }
    Ok(plans)
}

/// Prints everything that is wrong with the scenarios.
pub(crate) fn refuse(error: &ScenarioError) -> ExitCode {
    eprintln!("{}", error.with_hints());
    ExitCode::Usage
}

fn print_json<T: serde::Serialize>(value: &T) -> ExitCode {
    match serde_json::to_string_pretty(value) {
        Ok(text) => {
            out!("{text}");
            ExitCode::Passed
        }
        Err(error) => {
            edge::complain("could not print", &error, None);
            ExitCode::Environment
        }
    }
}
