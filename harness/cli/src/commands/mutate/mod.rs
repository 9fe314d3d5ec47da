//! `nodejoin mutate`: which small changes of a script no scenario notices.

mod changed_lines;
mod chosen;
mod counter;
mod embedded;
mod image_script;
mod rarity;
mod target;
mod written;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use nodejoin_core::mutation::{MutantReport, MutantResult, MutationReport, UnusedScenario};
use nodejoin_core::plan::Plan;
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_engine::report::mutation as report;
use nodejoin_engine::{
    BaseScenario, Events, MutantCase, MutantOutcome, MutatedScript, MutationSettings, TraceLog,
    base_scenarios, mutate,
};
use nodejoin_script::{ParsedScript, coverage};
use parking_lot::Mutex;

use crate::args::MutateCommand;
use crate::commands::{inspect, keeper, probing, run};
use crate::mutate_args::{MutateArgs, MutateFormat};
use crate::{artifacts, process};
use chosen::{NamedMutant, chosen};
use counter::ScenarioCounter;
use image_script::ImageScript;
use target::TargetScript;

/// Changes a script and runs its scenarios.
pub(crate) async fn mutate_script(command: MutateCommand, factor: TimeFactor) -> ExitCode {
    match mutated(&command, factor).await {
        Ok(code) | Err(code) => code,
    }
}

async fn mutated(command: &MutateCommand, factor: TimeFactor) -> Result<ExitCode, ExitCode> {
    let args = &command.mutate;
    let started = Instant::now();
    let file = inspect::settings_file().map_err(|error| inspect::refuse(&error))?;
    let target = TargetScript::read(&args.script)?;
    let chosen = chosen(args, &target)?;
    if args.list {
        list(&chosen, args)?;
        return Ok(ExitCode::Passed);
    }
    let mut plans =
        inspect::load(&args.paths, &file, &args.overlay).map_err(|error| inspect::refuse(&error))?;
    plans.retain(|plan| args.filter.as_ref().is_none_or(|filter| filter.selects(plan)));
    let is_in_files = plans.iter().any(|plan| target.is_in(plan));
    // A script that no file of the scenarios has may be one of their images.
    plans.retain(|plan| !is_in_files || target.is_in(plan));
    let plans = process::matrix(&command.images)?.spread(&plans);
    if plans.is_empty() {
        return Err(without_script(args));
    }
    if chosen.is_empty() {
        note!(
            "nothing to run: no change of `{}` is selected",
            args.script.display()
        );
        return Ok(ExitCode::NothingRan);
    }
    let settings = probing::settings(args.probing.artifacts_dir.as_deref(), args.probing.jobs, &file);
    artifacts::ignore(&settings.artifacts);
    let how = MutationSettings {
        jobs: settings.jobs,
        budget: args.budget,
        most: args.most,
        timeout: args.timeout,
        searches_killers: args.write.is_some(),
    };
    let engine = process::engine(factor).await?;
    let cancel = run::signals()?;
    let (events, stream) = Events::stream();
    let told = tokio::spawn(probing::tell(stream));
    let traces = TraceLog::default();
    let kept = probing::kept(&args.probing, &file, &plans);
    let runner = keeper::plan_runner(engine, settings, factor, kept, events, traces.clone()).await;
    let (mut base, mut not_run) = {
        let ran = ScenarioCounter::of("with the script as it is", plans.len());
        base_scenarios(&runner, &traces, &plans, how.jobs, &|id| ran.report(id), &cancel).await
    };
    let paths = match is_in_files {
        true => BTreeMap::new(),
        false => {
            let of_image = ImageScript {
                runner: &runner,
                traces: &traces,
                target: &target,
                jobs: how.jobs,
            };
            of_image.find(&mut base, &mut not_run, &cancel).await
        }
    };
    if base.is_empty() && !is_in_files && !cancel.is_cancelled() {
        runner.tear_down().await;
        let _ = told.await;
        return Err(without_script(args));
    }
    note!(
        "{} scenarios have the script; {} changes",
        base.len(),
        chosen.len()
    );
    let cases = cases(&chosen, &base, &target);
    let count = AtomicUsize::new(0);
    let lines: BTreeMap<&str, &NamedMutant> = chosen.iter().map(|one| (one.id.as_str(), one)).collect();
    let written: Mutex<BTreeMap<String, String>> = Mutex::default();
    let tell = |case: &MutantCase, outcome: &MutantOutcome| {
        let done = count.fetch_add(1, Ordering::Relaxed) + 1;
        let line = lines.get(case.id.as_str()).map_or(0, |one| one.mutant.line);
        note!(
            "{done}/{}  {}  line {line}: {}",
            chosen.len(),
            case.id,
            told_result(&outcome.result)
        );
        // At once: the command can be cancelled before its report.
        if let Some(path) = lines
            .get(case.id.as_str())
            .and_then(|one| write_killer(args, one, outcome, &base))
        {
            note!("wrote {path}");
            written.lock().insert(case.id.clone(), path);
        }
    };
    let replace =
        |plan: &Plan, text: &str| target.replaced(plan, text, paths.get(&plan.id).map(String::as_str));
    let script = MutatedScript {
        original: &target.text,
        replace: &replace,
    };
    let results = mutate(&runner, &base, &cases, &script, &how, &tell, &cancel).await;
    for left in runner.tear_down().await {
        note!("left behind: {left}; `nodejoin sweep` removes it");
    }
    let _ = told.await;
    let report = MutationReport {
        script: args.script.display().to_string(),
        mutants: reports(&chosen, results, &written.into_inner()),
        scenarios: base.iter().map(|one| one.plan.id.clone()).collect(),
        not_used: not_run
            .into_iter()
            .map(|(scenario, why)| UnusedScenario { scenario, why })
            .collect(),
        seconds: started.elapsed().as_secs_f64(),
    };
    print(&report, args)?;
    if cancel.is_cancelled() {
        note!("cancelled: mutants that had not ended are left out");
        return Ok(ExitCode::Cancelled);
    }
    Ok(exit_code(&report, args))
}

fn without_script(args: &MutateArgs) -> ExitCode {
    note!(
        "error: no scenario has `{}` on its nodes\n  do: name a script of an overlay, of the image, or of the user data of the scenarios, as their nodes run it",
        args.script.display()
    );
    ExitCode::Usage
}

fn told_result(result: &MutantResult) -> String {
    match result {
        MutantResult::Killed { scenario, how } => format!("killed by {scenario}: {how}"),
        MutantResult::TimedOut { scenario } => format!("timed out in {scenario}"),
        MutantResult::NotRun { why } => format!("not run: {why}"),
        other => other.word().to_owned(),
    }
}

/// The changes with the scenarios that run their statements.
fn cases(chosen: &[NamedMutant], base: &[BaseScenario], target: &TargetScript) -> Vec<MutantCase> {
    let script = ParsedScript::of(&target.text);
    let counts: Vec<Vec<u64>> = base
        .iter()
        .map(|one| statement_counts(&script, one, target))
        .collect();
    let case = |one: &NamedMutant| {
        let runs = |counts: &Vec<u64>| match one.mutant.statement {
            Some(index) => counts.get(index).is_some_and(|count| *count > 0),
            None => counts.iter().any(|count| *count > 0),
        };
        let reached = counts.iter().enumerate().filter(|(_, counts)| runs(counts));
        let mut reached_by: Vec<usize> = reached.map(|(index, _)| index).collect();
        if let Some(statement) = one.mutant.statement {
            let rarity = |scenario: &usize| Reverse(rarity::of(&counts, *scenario, statement));
            reached_by.sort_by_cached_key(rarity);
        }
        let mut widest = reached_by.clone();
        widest.sort_by_cached_key(|scenario| {
            let golden = base[*scenario].plan.golden.as_ref();
            let machine = golden.and_then(|golden| golden.machine.as_ref());
            let has_snapshot = machine.is_some_and(|machine| machine.text.is_some());
            let ran = counts[*scenario].iter().filter(|count| **count > 0).count();
            Reverse((has_snapshot, ran))
        });
        let reached_by = rarity::in_turns(&reached_by, &widest);
        MutantCase {
            id: one.id.clone(),
            line: one.mutant.line,
            text: one.mutant.text.clone(),
            reached_by,
        }
    };
    chosen.iter().map(case).collect()
}

/// How often each statement ran in a scenario.
fn statement_counts(script: &ParsedScript, base: &BaseScenario, target: &TargetScript) -> Vec<u64> {
    let mut counts = vec![0; script.statements.len()];
    for traced in base.trace.0.iter().filter(|traced| target.is_text(&traced.text)) {
        let commands = traced.commands.iter();
        let commands = commands.map(|command| (command.line, command.start.as_str(), command.count));
        for (count, statement) in counts.iter_mut().zip(coverage(script, commands).statements) {
            *count += statement.count;
        }
    }
    counts
}

/// Writes the scenario that kills a change that survived. Returns its path.
fn write_killer(
    args: &MutateArgs,
    one: &NamedMutant,
    outcome: &MutantOutcome,
    base: &[BaseScenario],
) -> Option<String> {
    let (folder, killer) = args.write.as_deref().zip(outcome.killer.as_ref())?;
    let script = args.script.display().to_string();
    written::write(folder, &script, one, base.get(killer.scenario)?, killer)
}

fn reports(
    chosen: &[NamedMutant],
    outcomes: Vec<MutantOutcome>,
    written: &BTreeMap<String, String>,
) -> Vec<MutantReport> {
    let pairs = chosen.iter().zip(outcomes);
    pairs
        .map(|(one, outcome)| reported(one, outcome.result, written.get(&one.id).cloned()))
        .collect()
}

fn reported(one: &NamedMutant, result: MutantResult, written: Option<String>) -> MutantReport {
    MutantReport {
        id: one.id.clone(),
        operator: one.mutant.operator.name().to_owned(),
        line: one.mutant.line,
        before: one.mutant.before.clone(),
        after: one.mutant.after.clone(),
        result,
        written,
    }
}

fn list(chosen: &[NamedMutant], args: &MutateArgs) -> Result<(), ExitCode> {
    let report = MutationReport {
        script: args.script.display().to_string(),
        mutants: chosen
            .iter()
            .map(|one| reported(one, MutantResult::LeftOut, None))
            .collect(),
        ..MutationReport::default()
    };
    if args.format == MutateFormat::Json {
        return print(&report, args);
    }
    for mutant in &report.mutants {
        out!("{}", report::listed(mutant));
    }
    Ok(())
}

fn print(report: &MutationReport, args: &MutateArgs) -> Result<(), ExitCode> {
    match args.format {
        MutateFormat::Text => out!("{}", report::text(report).trim_end()),
        MutateFormat::Markdown => out!("{}", report::markdown(report).trim_end()),
        MutateFormat::Json => {
            let text = serde_json::to_string_pretty(report).map_err(|error| {
                process::report_error("could not print JSON", &error, None);
                ExitCode::Environment
            })?;
            out!("{text}");
        }
    }
    probing::write_summary(args.probing.summary.as_deref(), &report::markdown(report))
}

fn exit_code(report: &MutationReport, args: &MutateArgs) -> ExitCode {
    let ran = report.mutants.len() - report.count("left out") - report.count("not run");
    let is_enough = match (args.min_score, report.score()) {
        (Some(least), Some(score)) => score >= f64::from(least),
        (Some(_), None) => true,
        (None, _) => report.count("survived") + report.count("uncovered") == 0,
    };
    match (ran, is_enough) {
        (0, _) => ExitCode::NothingRan,
        (_, true) => ExitCode::Passed,
        (_, false) => ExitCode::Failed,
    }
}
