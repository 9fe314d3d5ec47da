//! Scenarios in memory: texts as a scenario file would have them, loaded like files.

use std::io;
use std::path::{Path, PathBuf};

use nodejoin_core::input::problem::{Position, ScenarioError};
use nodejoin_core::plan::Plan;
use nodejoin_core::scenario::{self, ScenarioPath, overlay};
use nodejoin_import::{ImportDisk, Trial};
use nodejoin_script::line_of_call;

use super::read::{Tried, TryError};
use crate::args::TryArgs;
use crate::commands::preflight;
use crate::{ami_files, process};

/// The plans of the machines; the outer error is that of the files around them, the inner one that of the scenarios.
pub(crate) fn plans(tried: &Tried, args: &TryArgs) -> Result<Result<Vec<Plan>, ScenarioError>, TryError> {
    let mut files = process::disk();
    let mut found = Vec::new();
    for trial in &tried.trials {
        let overlays = overlays(trial)?;
        let user_data = trial.user_data.as_ref().map(|bytes| {
            let name = tried
                .unchanged
                .clone()
                .unwrap_or_else(|| user_data_name(&trial.id));
            files.add(tried.folder.join(&name), bytes.clone());
            name
        });
        let path = tried.folder.join(format!("{}.yaml", trial.id));
        let text = trial.scenario(&overlays, user_data.as_deref(), &tried.added);
        files.add(path.clone(), text.into_bytes());
        found.push(ScenarioPath {
            path,
            root: tried.folder.clone(),
        });
    }
    if let Some(script) = &args.bootstrap {
        files.add(bootstrap_manifest(), bootstrap_overlay(script)?.into_bytes());
    }
    Ok(loaded(tried, args, &found, &files))
}

fn loaded(
    tried: &Tried,
    args: &TryArgs,
    found: &[ScenarioPath],
    files: &ImportDisk,
) -> Result<Vec<Plan>, ScenarioError> {
    let plans = scenario::load_all(found, files);
    let mut plans = plans.map_err(|error| of_input(error, tried, found))?;
    let mut manifests = args.overlay.clone();
    if args.bootstrap.is_some() {
        manifests.insert(0, bootstrap_manifest());
    }
    for manifest in &manifests {
        let overlay = overlay::load(manifest, files)?;
        for plan in &mut plans {
            plan.add_overlay(&overlay);
        }
    }
    preflight::replace_image(&mut plans, args.options.image.as_deref())?;
    preflight::images(&plans)?;
    let is_image_given = tried.added.has("image") || args.options.image.is_some();
    for plan in &mut plans {
        let is_of = |trial: &&Trial| Path::new(&plan.file).file_stem() == Some(trial.id.as_ref());
        let trial = tried.trials.iter().find(is_of);
        plan.is_ami_stated = !is_image_given && trial.is_some_and(|trial| trial.is_ami_stated);
        // The scenario is in no file: reports name the user's.
        plan.file.clone_from(&tried.name);
        plan.is_trial = true;
        plan.sources.expect.clear();
        if args.options.strict {
            plan.require_clean();
        }
    }
    Ok(plans)
}

/// The scenario is in no file: a problem of a key that `--with` gave names that option, others name the user data's
/// file.
fn of_input(mut error: ScenarioError, tried: &Tried, found: &[ScenarioPath]) -> ScenarioError {
    for problem in &mut error.problems {
        if found.iter().all(|found| found.path != Path::new(&problem.file)) {
            continue;
        }
        problem.position = Position::default();
        problem.file = match tried.added.has(&problem.key) {
            true => "--with".to_owned(),
            false => tried.name.clone(),
        };
        if problem.key == "user_data" && problem.what.contains("too large") {
            problem.hint = Some("compress it with gzip, or download the rest in a short script".to_owned());
        }
    }
    error
}

/// Name of the file with the user data of a machine.
pub(crate) fn user_data_name(id: &str) -> String {
    format!("{id}.user-data")
}

fn overlays(trial: &Trial) -> Result<Vec<String>, TryError> {
    let cache = process::image_settings().cache;
    let write = |ami| ami_files::cached(ami, &cache).map(|path| path.display().to_string());
    let written: io::Result<Vec<String>> = trial.ami_files.iter().map(|ami| write(*ami)).collect();
    written.map_err(|error| {
        TryError::new(
            format!(
                "could not write files of the AMI to `{}`: {error}",
                cache.display()
            ),
            "set NODEJOIN_CACHE to a folder that you can write to",
        )
    })
}

fn bootstrap_manifest() -> PathBuf {
    process::current_dir().join("bootstrap-of-the-command-line.yaml")
}

/// The script of `--bootstrap`, which takes the place of the AMI's.
pub(crate) fn bootstrap_script(script: &Path) -> Result<Vec<u8>, TryError> {
    const PLACE: &str = "/etc/eks/bootstrap.sh";
    let bytes = std::fs::read(script).map_err(|error| {
        TryError::new(
            format!("cannot read `{}`: {error}", script.display()),
            "give the path of a bootstrap script in `--bootstrap`",
        )
    })?;
    match line_of_call(&String::from_utf8_lossy(&bytes), PLACE) {
        Some(line) => Err(TryError::new(
            format!(
                "line {line} of `{}` calls {PLACE}, and would call itself in its place",
                script.display()
            ),
            "try it as user data (`nodejoin try FILE`), or put it elsewhere with an overlay (`--overlay MANIFEST`)",
        )),
        None => Ok(bytes),
    }
}

/// A manifest with the script of `--bootstrap`.
pub(crate) fn bootstrap_overlay(script: &Path) -> Result<String, TryError> {
    let path = std::path::absolute(script).unwrap_or_else(|_| script.to_owned());
    bootstrap_script(script)?;
    let from = serde_json::Value::from(path.display().to_string());
    Ok(format!(
        "root: /\nfiles:\n  - {{ from: {from}, to: /etc/eks/bootstrap.sh, mode: \"0755\" }}\n"
    ))
}
