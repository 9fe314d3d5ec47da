//! `nodejoin diff`: what two versions of a script leave differently on the machines of all scenarios.

mod parameters;
mod versions;

use std::collections::BTreeSet;
use std::path::Path;

use nodejoin_core::compare::Comparison;
use nodejoin_core::plan::Plan;
use nodejoin_core::run::event::RunEvent;
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::run::matrix::Matrix;
use nodejoin_core::run::settings::{EvidenceWhen, KeepWhen, SettingsFile};
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_engine::report::comparison as report;
use nodejoin_engine::{
    Caller, CompareSettings, CompareStep, Events, ExternalSettings, JoinsWhen, Pair, Runner, Settings,
    compare, new_run_id,
};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::args::DiffCommand;
use crate::commands::{inspect, run};
use crate::diff_args::{DiffArgs, DiffFormat, JoinsArg};
use crate::{artifacts, process};
use versions::ComparedVersions;

/// Scenarios that run at the same time by default.
const JOBS: usize = 2;

/// Compares two versions.
pub(crate) async fn diff(command: DiffCommand, factor: TimeFactor) -> ExitCode {
    match compare_versions(&command, factor).await {
        Ok(code) | Err(code) => code,
    }
}

async fn compare_versions(command: &DiffCommand, factor: TimeFactor) -> Result<ExitCode, ExitCode> {
    let args = &command.diff;
    let file = inspect::settings_file().map_err(|error| inspect::refuse(&error))?;
    let approved = approved(args.approve.as_deref())?;
    let matrix = process::matrix(&command.images)?;
    let settings = settings(args, &file);
    artifacts::ignore(&settings.artifacts);
    let scratch = settings.artifacts.join(format!("diff-{}", std::process::id()));
    let versions = ComparedVersions::read(args, scratch).map_err(|error| {
        note!("error: {error}");
        ExitCode::Usage
    })?;
    let pairs = pairs(&versions, args, &file, &matrix)?;
    if pairs.is_empty() {
        note!("error: no scenario matches; run `nodejoin list` to see all scenarios");
        return Err(ExitCode::Usage);
    }
    let engine = process::engine(factor).await?;
    let cancel = run::signals()?;
    let (events, stream) = Events::stream();
    let told = tokio::spawn(tell(stream));
    let jobs = settings.jobs;
    let runner = Runner::new(engine, new_run_id(), settings, events);
    let joins = match args.joins {
        JoinsArg::Group => JoinsWhen::OfEachGroup,
        JoinsArg::Every => JoinsWhen::Always,
        JoinsArg::None => JoinsWhen::Never,
    };
    let step = |step: CompareStep<'_>| match step {
        CompareStep::Compared { scenario, result } => note!("{scenario}: {result}"),
        CompareStep::Joined(join) => note!(
            "{}: joins: {} before, {} now",
            join.scenario,
            join.old.outcome,
            join.new.outcome
        ),
    };
    let how = CompareSettings {
        jobs,
        joins,
        worlds: args.worlds,
    };
    let compared = compare(&runner, &pairs, how, &step, &cancel).await;
    for left in runner.tear_down().await.left {
        note!("left behind: {left}; `nodejoin sweep` removes it");
    }
    let _ = told.await;
    let Some(comparison) = compared else {
        return Ok(ExitCode::Cancelled);
    };
    let comparison = Comparison {
        old: args.old.clone(),
        new: args.new.clone().unwrap_or_else(|| "the files now".to_owned()),
        approved: comparison
            .groups
            .iter()
            .map(|group| group.id.clone())
            .filter(|id| approved.contains(id))
            .collect(),
        ..comparison
    };
    print(&comparison, args)?;
    Ok(exit_code(&comparison))
}

/// Prints what takes long, and warnings.
async fn tell(mut stream: UnboundedReceiver<RunEvent>) {
    while let Some(event) = stream.recv().await {
        match event {
            RunEvent::ImageWaiting { image } => note!("waiting for another process that builds {image}"),
            RunEvent::ImageStarted { image, log } => note!("building {image}; log: {log}"),
            RunEvent::ImageReady { image, seconds } => note!("built {image} in {seconds:.0} s"),
            RunEvent::Warning { text } => note!("warning: {text}"),
            RunEvent::RunStarted { .. }
            | RunEvent::ImageStep { .. }
            | RunEvent::ImageDownload { .. }
            | RunEvent::ImageInspected { .. }
            | RunEvent::ControlPlaneStarting { .. }
            | RunEvent::ControlPlaneReady { .. }
            | RunEvent::ScenarioStarted { .. }
            | RunEvent::PhaseReached { .. }
            | RunEvent::Held { .. }
            | RunEvent::ScenarioFinished { .. }
            | RunEvent::SnapshotWritten { .. }
            | RunEvent::Cancelling
            | RunEvent::RunFinished(_) => {}
        }
    }
}

/// The scenarios of both versions, each with the files of each version.
fn pairs(
    versions: &ComparedVersions,
    args: &DiffArgs,
    file: &SettingsFile,
    matrix: &Matrix,
) -> Result<Vec<Pair>, ExitCode> {
    let plans = |version| {
        let plans = versions.plans(version, args, file);
        plans
            .map(|plans| matrix.spread(&plans))
            .map_err(|error| inspect::refuse(&error))
    };
    let (old, new) = (plans(&versions.old)?, plans(&versions.new)?);
    let of = |plans: &[Plan], id: &str| plans.iter().find(|plan| plan.id.as_str() == id).cloned();
    let mut pairs: Vec<Pair> = new
        .iter()
        .map(|plan| Pair {
            id: plan.id.clone(),
            world: None,
            old: of(&old, plan.id.as_str()),
            new: Some(plan.clone()),
            arguments: parameters::of(plan),
        })
        .collect();
    let gone = old.iter().filter(|plan| of(&new, plan.id.as_str()).is_none());
    pairs.extend(gone.map(|plan| Pair {
        id: plan.id.clone(),
        world: None,
        old: Some(plan.clone()),
        new: None,
        arguments: Vec::new(),
    }));
    Ok(pairs)
}

/// The ids of a file of approved differences.
fn approved(file: Option<&Path>) -> Result<BTreeSet<String>, ExitCode> {
    let Some(file) = file else {
        return Ok(BTreeSet::new());
    };
    let text = std::fs::read_to_string(file).map_err(|error| {
        let hint = "create it with the ids of intended differences, one in each line";
        process::report_error(
            &format!("could not read `{}`", file.display()),
            &error,
            Some(hint.to_owned()),
        );
        ExitCode::Usage
    })?;
    let mut ids = BTreeSet::new();
    for (index, line) in text.lines().enumerate() {
        let Some(id) = line
            .split_whitespace()
            .next()
            .filter(|word| !word.starts_with('#'))
        else {
            continue;
        };
        if id.len() != 10 || !id.chars().all(|c| c.is_ascii_hexdigit()) {
            note!(
                "error: {}:{}: `{id}` is not the id of a difference: expected ten hexadecimal digits, as `nodejoin diff` prints",
                file.display(),
                index + 1
            );
            return Err(ExitCode::Usage);
        }
        ids.insert(id.to_owned());
    }
    Ok(ids)
}

fn settings(args: &DiffArgs, file: &SettingsFile) -> Settings {
    let here = process::current_dir();
    let folder = args.artifacts_dir.as_ref().or(file.artifacts_dir.as_ref());
    Settings {
        images: process::image_settings(),
        control_plane: None,
        require: Default::default(),
        external: ExternalSettings::default(),
        artifacts: folder.map_or_else(|| artifacts::default_folder(&here), |folder| here.join(folder)),
        jobs: args.jobs.or(file.jobs).map_or(JOBS, |jobs| jobs.0),
        keep: KeepWhen::Never,
        evidence: EvidenceWhen::OnFailure,
        caller: Caller {
            version: env!("NODEJOIN_VERSION").to_owned(),
            ..Caller::default()
        },
        hold: false,
        bless: false,
        fail_fast: false,
        shard: None,
    }
}

fn print(comparison: &Comparison, args: &DiffArgs) -> Result<(), ExitCode> {
    match args.format {
        DiffFormat::Text => out!("{}", report::text(comparison).trim_end()),
        DiffFormat::Markdown => out!("{}", report::markdown(comparison).trim_end()),
        DiffFormat::Json => match serde_json::to_string_pretty(comparison) {
            Ok(text) => out!("{text}"),
            Err(error) => {
                process::report_error("could not print JSON", &error, None);
                return Err(ExitCode::Environment);
            }
        },
    }
    write_summary(comparison, args)
}

/// Writes the Markdown to the file of the command line, or adds it to that of GitHub Actions.
fn write_summary(comparison: &Comparison, args: &DiffArgs) -> Result<(), ExitCode> {
    use std::io::Write as _;
    let of_github = || std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty());
    let text = report::markdown(comparison);
    let (path, written) = match (&args.summary, of_github()) {
        (Some(path), _) => (path.clone(), std::fs::write(path, text)),
        (None, Some(path)) => {
            let file = std::fs::OpenOptions::new().append(true).create(true).open(&path);
            (
                path.into(),
                file.and_then(|mut file| file.write_all(text.as_bytes())),
            )
        }
        (None, None) => return Ok(()),
    };
    written.map_err(|error| {
        process::report_error(&format!("could not write `{}`", path.display()), &error, None);
        ExitCode::Environment
    })
}

fn exit_code(comparison: &Comparison) -> ExitCode {
    if comparison.compared() == 0 {
        return ExitCode::NothingRan;
    }
    match comparison.open().is_empty() {
        true => ExitCode::Passed,
        false => ExitCode::Failed,
    }
}

#[cfg(test)]
mod tests {
    use nodejoin_core::compare::{ComparedScenario, Group};

    use super::*;

    #[test]
    fn approved_ids_are_the_first_words_of_lines() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("approved");
        std::fs::write(
            &file,
            "# remark\n0123456789  China has its own account\n\nabcdefabcd\n",
        )
        .unwrap();
        let ids = approved(Some(&file)).unwrap();
        assert_eq!(ids.into_iter().collect::<Vec<_>>(), ["0123456789", "abcdefabcd"]);
        assert_eq!(approved(None), Ok(BTreeSet::new()));
    }

    #[test]
    fn only_approved_differences_end_with_success() {
        let group = Group {
            id: "0123456789".to_owned(),
            differences: Vec::new(),
            scenarios: Vec::new(),
            only_with: None,
            in_all: true,
        };
        let compared = ComparedScenario {
            scenario: "a".parse().unwrap(),
            not_compared: None,
            without_kubelet: false,
            world: None,
        };
        let mut comparison = Comparison::default();
        assert_eq!(exit_code(&comparison), ExitCode::NothingRan);
        comparison.scenarios = vec![compared];
        assert_eq!(exit_code(&comparison), ExitCode::Passed);
        comparison.groups = vec![group];
        assert_eq!(exit_code(&comparison), ExitCode::Failed);
        comparison.approved = BTreeSet::from(["0123456789".to_owned()]);
        assert_eq!(exit_code(&comparison), ExitCode::Passed);
    }
}
