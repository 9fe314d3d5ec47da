//! Commands that need no container engine: plans, lists, the schema.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nodejoin_core::diagnosis::Cause;
use nodejoin_core::input::problem::{Position, Problem, ScenarioError};
use nodejoin_core::judge::blame;
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::golden::overlay_names;
use nodejoin_core::plan::ids::ScenarioTag;
use nodejoin_core::plan::sources::Sources;
use nodejoin_core::run::coverage;
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::run::matrix::not_for_request;
use nodejoin_core::run::settings::{self, SettingsFile};
use nodejoin_core::scenario;
use nodejoin_core::scenario::overlay;
use nodejoin_import::{ClusterTraits, Import, import};

use crate::args::{ListArgs, ListFormat, PlanArgs};
use crate::commands::{preflight, selection};
use crate::process;
use crate::schema_args::{SchemaArgs, SchemaOf};

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
    let shard = match selection::shard(args.shard, args.times.as_deref()) {
        Ok(shard) => shard,
        Err(code) => return code,
    };
    match load(&args.paths, &SettingsFile::default(), &[]) {
        Ok(plans) if args.matrix => {
            out!("{}", coverage::matrix(&plans).trim_end());
            ExitCode::Passed
        }
        Ok(plans) => {
            let mut plans = matrix.spread(&plans);
            if let Some(filter) = &args.filter {
                plans.retain(|plan| filter.selects(plan));
            }
            if let Some(shard) = &shard {
                selection::keep_shard(shard, &mut plans);
            }
            print_list(args.format, &plans)
        }
        Err(error) => refuse(&error),
    }
}

fn print_list(format: ListFormat, plans: &[Plan]) -> ExitCode {
    match format {
        ListFormat::Text => {
            plans.iter().for_each(print_listed);
            ExitCode::Passed
        }
        ListFormat::Json => print_json(&plans.iter().map(ListedScenario::of).collect::<Vec<_>>()),
    }
}

/// A scenario of `nodejoin list --format json`.
#[derive(serde::Serialize)]
struct ListedScenario<'a> {
    id: &'a str,
    name: &'a str,
    file: &'a str,
    tags: &'a [ScenarioTag],
    /// Expected diagnoses of the join and of the steps.
    causes: Vec<&'static str>,
    /// Control planes that support the scenario. Empty: all.
    control_planes: Vec<&'static str>,
    /// Version ranges of the control plane and of the kubelet.
    kubernetes: Option<String>,
    kubelet: Option<String>,
    nodes: usize,
    /// Why the scenario does not apply to the requested versions.
    skipped: Option<String>,
}

impl<'a> ListedScenario<'a> {
    fn of(plan: &'a Plan) -> Self {
        Self {
            id: plan.id.as_str(),
            name: &plan.name,
            file: &plan.file,
            tags: &plan.tags,
            causes: plan.causes().map(Cause::word).collect(),
            control_planes: plan.control_plane.iter().map(|name| name.as_str()).collect(),
            kubernetes: plan.kubernetes.as_ref().map(ToString::to_string),
            kubelet: plan.kubelet.as_ref().map(ToString::to_string),
            nodes: 1 + plan.others.len(),
            skipped: not_for_request(plan),
        }
    }
}

fn print_listed(plan: &Plan) {
    out!("{:<48} {}", plan.id.as_str(), plan.name);
    if let Some(reason) = not_for_request(plan) {
        out!("{:<48} skipped: {reason}", "");
    }
}

/// `nodejoin schema`
pub(crate) fn schema(args: &SchemaArgs) -> ExitCode {
    match args.of {
        SchemaOf::Scenario => print_json(nodejoin_core::scenario::scenario_schema()),
        SchemaOf::Format(format) => print_json(&format.schema()),
    }
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
        let overlay = overlay::load(manifest, &disk)?;
        for plan in &mut plans {
            plan.add_overlay(&overlay);
        }
    }
    // The overlays of the settings file belong to the scenarios; others leave other machines.
    if let Some(name) = overlay_names(manifests) {
        for golden in plans.iter_mut().filter_map(|plan| plan.golden.as_mut()) {
            golden.of_overlay(&name, |path| std::fs::read_to_string(path).ok());
        }
    }
    preflight::images(&plans)?;
    plans.iter().for_each(warn_of_placeholders);
    Ok(plans)
}

/// Warns of names of user data that reach the node as text, and that are almost one of nodejoin's.
pub(crate) fn warn_of_placeholders(plan: &Plan) {
    for typo in blame::placeholder_typos(plan) {
        note!("warning: {typo}");
    }
}

/// Rejects files of other tools, whose problems as scenarios would hide what they are. A scenario has a `name`.
pub(crate) fn foreign_files(paths: &[PathBuf]) -> Result<(), ScenarioError> {
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
