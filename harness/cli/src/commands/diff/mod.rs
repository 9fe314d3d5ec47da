//! `nodejoin diff`: what two versions of a script leave differently on the machines of all scenarios.

mod bless;
mod not_run;
mod versions;

use std::collections::BTreeMap;
use std::sync::Arc;

use nodejoin_core::compare::{Comparison, ScriptInputs};
use nodejoin_core::plan::Plan;
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::run::matrix::Matrix;
use nodejoin_core::run::settings::SettingsFile;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_engine::report::comparison as report;
use nodejoin_engine::report::github::comparison as annotations;
use nodejoin_engine::{
    CompareSettings, CompareStep, Events, JoinsWhen, Pair, TraceLog, WorldsWhen, compare, comparison_page,
    record,
};

use crate::args::DiffCommand;
use crate::commands::{inspect, keeper, preflight, probing, run};
use crate::diff_args::{DiffArgs, DiffFormat, JoinsArg, WorldsArg};
use crate::reports::Github;
use crate::{artifacts, process};
use versions::{ComparedVersion, ComparedVersions};

/// Compares two versions.
pub(crate) async fn diff(command: DiffCommand, factor: TimeFactor) -> ExitCode {
    match compare_versions(&command, factor).await {
        Ok(code) | Err(code) => code,
    }
}

async fn compare_versions(command: &DiffCommand, factor: TimeFactor) -> Result<ExitCode, ExitCode> {
    let args = &command.diff;
    let file = inspect::settings_file().map_err(|error| inspect::refuse(&error))?;
    let approved = probing::approved(args.approve.as_deref(), "diff")?;
    preflight::reports([&args.html])?;
    let matrix = process::matrix(&command.images)?;
    let settings = probing::settings(args.probing.artifacts_dir.as_deref(), args.probing.jobs, &file);
    artifacts::ignore(&settings.artifacts);
    let scratch = settings.artifacts.join(format!("diff-{}", std::process::id()));
    let versions = ComparedVersions::read(args, scratch).map_err(|error| {
        note!("error: {error}");
        ExitCode::Usage
    })?;
    let blessed = match &args.bless {
        Some(file) => Some(bless::before(file)?),
        None => None,
    };
    let pairs = pairs(&versions, args, &file, &matrix)?;
    if pairs.is_empty() {
        let paths: Vec<String> = args
            .scenarios
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        note!(
            "error: no scenario below `{}` is selected, and scenarios are what both versions run\n  do: name their folder with \
             `--scenarios PATH`; `nodejoin list PATH` shows its scenarios",
            paths.join("`, `")
        );
        return Err(ExitCode::Usage);
    }
    let engine = process::engine(factor).await?;
    let cancel = run::signals()?;
    let (events, stream) = Events::stream();
    let told = tokio::spawn(probing::tell(stream));
    let jobs = settings.jobs;
    let traces = TraceLog::default();
    let plans: Vec<Plan> = pairs
        .iter()
        .filter_map(|pair| pair.new.clone().or(pair.old.clone()))
        .collect();
    let kept = probing::kept(&args.probing, &file, &plans);
    let runner = keeper::plan_runner(engine, settings, factor, kept, events, traces.clone()).await;
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
        worlds: worlds_when(&versions, args),
        budget: args.budget,
    };
    let (compared, recorded) = match blessed {
        Some(_) => (None, record(&runner, &pairs, how, &step, &cancel).await),
        None => (Some(compare(&runner, &pairs, how, &step, &cancel).await), None),
    };
    for left in runner.tear_down().await {
        note!("left behind: {left}; `nodejoin sweep` removes it");
    }
    let _ = told.await;
    if let (Some(file), Some(before), Some(recorded)) = (&args.bless, blessed, recorded) {
        return bless::write(file, &before, recorded);
    }
    let Some(mut comparison) = compared else {
        return Ok(ExitCode::Cancelled);
    };
    // What did not boot is not what no machine shows.
    if !comparison.cancelled {
        let unseen = not_run::unseen(&pairs, &comparison.groups, &traces);
        (comparison.not_run, comparison.not_shown) = (unseen.statements, unseen.places);
    }
    let places = comparison.groups.iter_mut().flat_map(|group| &mut group.changed);
    let places = places.chain(&mut comparison.not_run);
    let places = places.chain(&mut comparison.not_shown);
    places.for_each(|place| place.file = versions.file_of_caller(&place.file));
    let comparison = Comparison {
        old: args.old.clone().unwrap_or_default(),
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
    if comparison.cancelled {
        return Ok(ExitCode::Cancelled);
    }
    let missing = missing_worlds(&comparison, &args.world);
    // Without a compared scenario, the report says why, and no name is wrong.
    if comparison.compared() > 0 && !missing.is_empty() {
        note!(
            "error: no compared scenario has the world {}: its user data makes no such request, its scripts have no such \
             flag, or the name is misspelt; `nodejoin diff --worlds` prints every name",
            missing.join(", ")
        );
        return Err(ExitCode::NothingRan);
    }
    if shows_no_join(&comparison) {
        note!(
            "error: no compared scenario starts a kubelet with either version, so nothing is known about how nodes join"
        );
        return Err(ExitCode::NothingRan);
    }
    Ok(exit_code(&comparison))
}

/// Whether all compared scenarios expect a join, and none starts a kubelet. Differences are worth a report
/// nevertheless.
fn shows_no_join(comparison: &Comparison) -> bool {
    let mut compared = comparison
        .scenarios
        .iter()
        .filter(|one| one.not_compared.is_none());
    comparison.compared() > 0 && comparison.groups.is_empty() && compared.all(|one| one.without_kubelet)
}

/// Blessed states have no other lines than the files now: no world is related to a change, and those of the file run.
fn worlds_when(versions: &ComparedVersions, args: &DiffArgs) -> WorldsWhen {
    let is_blessed = args.bless.is_some() || matches!(versions.old, ComparedVersion::Blessed(_));
    match args.worlds {
        _ if !args.world.is_empty() => WorldsWhen::Only(args.world.clone()),
        WorldsArg::All => WorldsWhen::Always,
        WorldsArg::Related if versions.has_blessed_worlds() => WorldsWhen::Always,
        WorldsArg::Related if is_blessed => WorldsWhen::Never,
        WorldsArg::Related => WorldsWhen::Related,
        WorldsArg::None => WorldsWhen::Never,
    }
}

/// The requested worlds in which nothing was compared.
fn missing_worlds<'w>(comparison: &Comparison, requested: &'w [String]) -> Vec<&'w str> {
    let compared = |name: &&String| {
        let mut scenarios = comparison.scenarios.iter();
        scenarios.any(|one| one.world.as_ref() == Some(*name))
    };
    let missing = requested.iter().filter(|name| !compared(name));
    missing.map(String::as_str).collect()
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
    let blessed = match &versions.old {
        ComparedVersion::Blessed(states) => Some(Arc::clone(states)),
        _ => None,
    };
    // Blessed states have no files: the machine of the new version alone boots.
    let old = match &blessed {
        Some(_) => new.clone(),
        None => old,
    };
    let of = |plans: &[Plan], id: &str| plans.iter().find(|plan| plan.id.as_str() == id).cloned();
    // Scenarios of one folder mostly have the same files.
    let mut known: BTreeMap<Vec<String>, ScriptInputs> = BTreeMap::new();
    let mut of_version = |plan: &Plan| {
        let files = plan
            .image
            .added()
            .map(|file| format!("{} {}", file.from, file.to));
        let entry = known.entry(files.collect());
        entry.or_insert_with(|| probing::inputs(plan)).clone()
    };
    let has_worlds = worlds_when(versions, args) != WorldsWhen::Never;
    // A flag or a type of one version is a world of both.
    let mut inputs = |old: Option<&Plan>, new: &Plan| match (old, has_worlds) {
        (_, false) => ScriptInputs::default(),
        (None, true) => of_version(new),
        (Some(old), true) => of_version(old).with(of_version(new)),
    };
    let mut pairs: Vec<Pair> = new
        .iter()
        .map(|plan| Pair {
            id: plan.id.clone(),
            world: None,
            old: of(&old, plan.id.as_str()),
            new: Some(plan.clone()),
            inputs: inputs(of(&old, plan.id.as_str()).as_ref(), plan),
            blessed: blessed.clone(),
        })
        .collect();
    let gone = old.iter().filter(|plan| of(&new, plan.id.as_str()).is_none());
    pairs.extend(gone.map(|plan| Pair {
        id: plan.id.clone(),
        world: None,
        old: Some(plan.clone()),
        new: None,
        inputs: Default::default(),
        blessed: None,
    }));
    Ok(pairs)
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
    let github = Github::from_lookup(|name| std::env::var(name).ok());
    if let Some(checkout) = github.annotates(None).filter(|_| !comparison.open().is_empty()) {
        // Standard output has the report alone; GitHub reads both streams.
        note!("{}", annotations(comparison, checkout));
    }
    if let Some(file) = &args.html {
        let written = comparison_page(comparison)
            .map_err(std::io::Error::other)
            .and_then(|page| std::fs::write(file, page));
        written.map_err(|error| {
            process::report_error(&format!("could not write `{}`", file.display()), &error, None);
            ExitCode::Environment
        })?;
    }
    probing::write_summary(args.probing.summary.as_deref(), &report::markdown(comparison))
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
    use std::collections::BTreeSet;

    use nodejoin_core::compare::{ComparedScenario, Group};

    use super::*;

    #[test]
    fn only_approved_differences_end_with_success() {
        let group = Group {
            id: "0123456789".to_owned(),
            differences: Vec::new(),
            scenarios: Vec::new(),
            only_with: None,
            in_all: true,
            changed: Vec::new(),
            follows: Vec::new(),
        };
        let compared = ComparedScenario {
            scenario: "a".parse().unwrap(),
            not_compared: None,
            without_kubelet: false,
            without_kubelet_because: None,
            world: None,
        };
        let mut comparison = Comparison::default();
        assert_eq!(exit_code(&comparison), ExitCode::NothingRan);
        let in_world = ComparedScenario {
            world: Some("ipv6".to_owned()),
            ..compared.clone()
        };
        let requested = ["ipv6".to_owned(), "ipv7".to_owned()];
        comparison.scenarios = vec![compared.clone(), in_world];
        assert_eq!(missing_worlds(&comparison, &requested), ["ipv7"]);
        let silent = ComparedScenario {
            without_kubelet: true,
            ..compared.clone()
        };
        comparison.scenarios = vec![silent.clone(), silent.clone()];
        assert!(shows_no_join(&comparison));
        comparison.scenarios = vec![silent, compared.clone()];
        assert!(!shows_no_join(&comparison));
        comparison.scenarios = vec![compared];
        assert_eq!(exit_code(&comparison), ExitCode::Passed);
        comparison.groups = vec![group];
        assert_eq!(exit_code(&comparison), ExitCode::Failed);
        comparison.approved = BTreeSet::from(["0123456789".to_owned()]);
        assert_eq!(exit_code(&comparison), ExitCode::Passed);
    }
}
