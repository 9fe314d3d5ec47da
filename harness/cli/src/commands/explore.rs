//! `nodejoin explore`: how user data behaves in other worlds than that of its scenario.

use std::path::Path;

use clap::Parser;
use nodejoin_core::explore::Exploration;
use nodejoin_core::observation::phase::Phase;
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::expect::{Expect, UserDataExpect};
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::run::matrix::Matrix;
use nodejoin_core::run::settings::SettingsFile;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_core::scenario::Derived;
use nodejoin_engine::report::exploration as report;
use nodejoin_engine::{Events, ExploreSettings, ExploreStep, Subject, TraceLog, explore};

use crate::args::{ExploreCommand, TryArgs};
use crate::commands::{inspect, keeper, probing, run, try_file};
use crate::explore_args::{ExploreArgs, ExploreFormat, ExploreJoins};
use crate::{artifacts, process};

/// Explores scenarios.
pub(crate) async fn explore_worlds(command: ExploreCommand, factor: TimeFactor) -> ExitCode {
    match explored(&command, factor).await {
        Ok(code) | Err(code) => code,
    }
}

async fn explored(command: &ExploreCommand, factor: TimeFactor) -> Result<ExitCode, ExitCode> {
    let args = &command.explore;
    let file = inspect::settings_file().map_err(|error| inspect::refuse(&error))?;
    let approved = probing::approved(args.approve.as_deref(), "explore")?;
    let matrix = process::matrix(&command.images)?;
    let subjects = subjects(args, &file, &matrix)?;
    if subjects.is_empty() {
        note!("error: no scenario that joins was found; run `nodejoin list` to see all scenarios");
        return Err(ExitCode::Usage);
    }
    let settings = probing::settings(args.probing.artifacts_dir.as_deref(), args.probing.jobs, &file);
    artifacts::ignore(&settings.artifacts);
    let how = ExploreSettings {
        jobs: settings.jobs,
        budget: args.budget,
        seed: args.seed,
        joins: args.joins == ExploreJoins::Group,
        traces: !args.no_trace,
        changes: args.change.clone(),
    };
    let engine = process::engine(factor).await?;
    let cancel = run::signals()?;
    let (events, stream) = Events::stream();
    let told = tokio::spawn(probing::tell(stream));
    let plans: Vec<Plan> = subjects.iter().map(|subject| subject.plan.clone()).collect();
    let traces = TraceLog::default();
    let kept = probing::kept(&args.probing, &file, &plans);
    let runner = keeper::plan_runner(engine, settings, factor, kept, events, traces).await;
    let step = |step: ExploreStep<'_>| match step {
        ExploreStep::Probed { world, result } => note!("{world}: {result}"),
        ExploreStep::Joined { world, result } => note!("{world}: join {result}"),
    };
    let mut exploration = explore(&runner, &subjects, how, &step, &cancel).await;
    for left in runner.tear_down().await {
        note!("left behind: {left}; `nodejoin sweep` removes it");
    }
    let _ = told.await;
    let ids = exploration.findings.iter().map(|finding| &finding.id);
    exploration.approved = ids.filter(|id| approved.contains(*id)).cloned().collect();
    print(&exploration, args)?;
    if let Some(folder) = &args.write {
        write(&exploration, folder);
    }
    if cancel.is_cancelled() {
        note!("cancelled: worlds and joins that had not ended are left out");
        return Ok(ExitCode::Cancelled);
    }
    Ok(exit_code(&exploration))
}

/// Writes a scenario for each finding that an expectation describes.
fn write(exploration: &Exploration, folder: &Path) {
    for finding in exploration.open() {
        let (Some(found), Some(more)) = (&finding.reproduction, &finding.expect) else {
            note!(
                "not written: {}: no expectation of a scenario describes it",
                finding.id
            );
            continue;
        };
        let is_scenario = Path::new(&found.scenario.file)
            .extension()
            .is_some_and(|extension| extension == "yaml" || extension == "yml");
        if !is_scenario {
            note!(
                "not written: {}: make a scenario of `{}` with `nodejoin try --write FOLDER`, and explore that",
                finding.id,
                found.scenario.file
            );
            continue;
        }
        let with = match finding.only_with.is_empty() {
            true => String::new(),
            false => format!(", with {}", finding.only_with.join(" and ")),
        };
        let mut world = found.world.clone();
        let expect = match world.then.last_mut() {
            Some(step) => {
                step.expect = extended(step.expect.clone(), more);
                // Steps follow the end of user data.
                Expect {
                    phase: Some(Phase::Registered),
                    user_data: Some(UserDataExpect {
                        succeeded: Some(true),
                        ..UserDataExpect::default()
                    }),
                    ..Expect::default()
                }
            }
            // A script may end without a kubelet here.
            None if !more.one_of.is_empty() => extended(Expect::default(), more),
            None => extended(
                Expect {
                    phase: Some(Phase::Registered),
                    ..Expect::default()
                },
                more,
            ),
        };
        let derived = Derived {
            name: &format!("{}{with}", found.scenario.name),
            about: &format!(
                "`nodejoin explore` found: {}.",
                finding.what.trim_end_matches('.')
            ),
            expect: &expect,
            world: Some(&world),
            folder,
        };
        let path = folder.join(format!("{}.yaml", finding.id));
        if let Some(path) = probing::written::write(&path, &found.scenario, &derived) {
            note!("wrote {path}");
        }
    }
}

/// An expectation with what a finding adds to it.
fn extended(expect: Expect, more: &Expect) -> Expect {
    Expect {
        kubelet: more.kubelet.clone(),
        files: more.files.clone(),
        units: more.units.clone(),
        clean: more.clean,
        one_of: more.one_of.clone(),
        ..expect
    }
}

/// The scenarios whose user data is explored.
fn subjects(args: &ExploreArgs, file: &SettingsFile, matrix: &Matrix) -> Result<Vec<Subject>, ExitCode> {
    let mut plans = Vec::new();
    for path in &args.paths {
        let paths = std::slice::from_ref(path);
        // A file of another tool is read as by `nodejoin try`.
        let found = match inspect::foreign_files(paths) {
            Err(_) => adopted(args, path)?,
            Ok(()) => {
                let loaded = inspect::load(paths, file, &args.overlay);
                let loaded = loaded.map_err(|error| inspect::refuse(&error))?;
                match path.is_dir() {
                    true => representatives(loaded, args),
                    false => loaded,
                }
            }
        };
        plans.extend(found);
    }
    plans.retain(|plan| is_selected(plan, args));
    let plans = matrix.spread(&plans).into_iter();
    Ok(plans
        .map(|plan| Subject {
            inputs: probing::inputs(&plan),
            plan,
        })
        .collect())
}

fn is_selected(plan: &Plan, args: &ExploreArgs) -> bool {
    args.filter.as_ref().is_none_or(|filter| filter.selects(plan))
}

/// One selected scenario of each folder that joins.
fn representatives(plans: Vec<Plan>, args: &ExploreArgs) -> Vec<Plan> {
    let chosen = nodejoin_core::compare::representatives(plans.iter().filter(|plan| is_selected(plan, args)));
    plans
        .into_iter()
        .filter(|plan| chosen.contains(&plan.id))
        .collect()
}

/// `nodejoin try` without a run.
#[derive(Debug, Parser)]
struct Adoption {
    #[command(flatten)]
    args: TryArgs,
}

/// The machines of user data.
fn adopted(args: &ExploreArgs, path: &Path) -> Result<Vec<Plan>, ExitCode> {
    let mut words = vec!["try".into(), path.as_os_str().to_owned()];
    for manifest in &args.overlay {
        words.extend(["--overlay".into(), manifest.as_os_str().to_owned()]);
    }
    let adoption = Adoption::try_parse_from(words).map_err(|error| {
        note!("{error}");
        ExitCode::Usage
    })?;
    match try_file::plans_of(&adoption.args).map_err(|error| try_file::refuse(&error))? {
        Ok(plans) => Ok(plans),
        Err(error) => Err(inspect::refuse(&error)),
    }
}

fn print(exploration: &Exploration, args: &ExploreArgs) -> Result<(), ExitCode> {
    match args.format {
        ExploreFormat::Text => out!("{}", report::text(exploration).trim_end()),
        ExploreFormat::Markdown => out!("{}", report::markdown(exploration).trim_end()),
        ExploreFormat::Json => {
            let text = serde_json::to_string_pretty(exploration).map_err(|error| {
                process::report_error("could not print JSON", &error, None);
                ExitCode::Environment
            })?;
            out!("{text}");
        }
    }
    probing::write_summary(args.probing.summary.as_deref(), &report::markdown(exploration))
}

fn exit_code(exploration: &Exploration) -> ExitCode {
    match (exploration.ran(), exploration.open().next()) {
        (0, _) => ExitCode::NothingRan,
        (_, None) => ExitCode::Passed,
        (_, Some(_)) => ExitCode::Failed,
    }
}
