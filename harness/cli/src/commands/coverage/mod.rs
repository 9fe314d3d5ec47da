//! `nodejoin coverage`: which lines and branches of scripts the scenarios reach.

mod names;

use std::path::Path;

use nodejoin_core::observation::ScriptTrace;
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::ids::ScenarioId;
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::run::last_run::without_run;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_engine::TraceLog;
use nodejoin_script::{CoverageReport, ParsedScript};

use crate::args::CoverageCommand;
use crate::commands::run::{self, RunRequest};
use crate::commands::{inspect, preflight, selection};
use crate::coverage_args::CoverageArgs;
use crate::reports::Github;
use crate::{process, rerun};

/// Runs scenarios and reports the coverage of their scripts.
pub(crate) async fn coverage(args: CoverageCommand, factor: TimeFactor) -> ExitCode {
    let github = Github::from_lookup(|name| std::env::var(name).ok());
    let selected =
        inspect::settings_file().and_then(|file| Ok((run::selected_plans(&args.run, &file)?, file)));
    let (mut plans, file) = match selected {
        Ok(selected) => selected,
        Err(error) => return run::refuse(&error, args.run.options.format, &github),
    };
    if plans.is_empty() {
        return run::no_match(&args.run.paths);
    }
    if let Err(code) =
        preflight::reports([&args.coverage.lcov, &args.coverage.cobertura, &args.coverage.html])
    {
        return code;
    }
    let shard = match selection::shard(args.run.shard, args.run.times.as_deref()) {
        Ok(shard) => shard,
        Err(code) => return code,
    };
    plans.iter_mut().for_each(|plan| plan.is_traced = true);
    let traces = TraceLog::default();
    let request = RunRequest {
        rerun: &|| rerun::of_run(&args.run),
        options: &args.run.options,
        file: &file,
        github: &github,
        factor,
        bless: args.run.bless,
        shard,
        order: args.run.order.clone(),
        recorded: true,
        traces: traces.clone(),
    };
    let code = run::run_plans(&request, &plans).await;
    if code == ExitCode::Cancelled {
        note!("cancelled before all scenarios ran, so there is no coverage");
        return code;
    }
    let report = report(&plans, traces.take());
    if report.scripts.is_empty() {
        note!("no bash script ran, so there is no coverage");
        return code;
    }
    out!("\n{}", report.to_text().trim_end());
    match write(&report, &args.coverage) {
        Ok(()) => code,
        Err(failed) => failed,
    }
}

/// What the nodes of the plans ran.
pub(crate) fn report(plans: &[Plan], traces: Vec<(ScenarioId, ScriptTrace)>) -> CoverageReport {
    let mut report = CoverageReport::default();
    let here = process::current_dir();
    for (scenario, ScriptTrace(scripts)) in traces {
        let plan = names::plan_of(plans, &scenario);
        for traced in scripts {
            let place = names::place(plan, &traced, &here);
            let commands = traced.commands.iter();
            let commands = commands.map(|command| (command.line, command.start.as_str(), command.count));
            let coverage = nodejoin_script::coverage(&ParsedScript::of(&traced.text), commands);
            let run = without_run(&scenario).to_owned();
            report.add(&run, &place.name, place.offset, &traced.text, coverage);
        }
    }
    report
}

fn write(report: &CoverageReport, args: &CoverageArgs) -> Result<(), ExitCode> {
    if let Some(file) = &args.lcov {
        write_file(file, &report.to_lcov())?;
    }
    let formats = [
        (&args.cobertura, report.to_cobertura()),
        (&args.html, report.to_html()),
    ];
    for (file, text) in formats {
        let Some(file) = file else { continue };
        let text = text.map_err(|error| {
            process::report_error("could not format the coverage", &error, None);
            ExitCode::Environment
        })?;
        write_file(file, &text)?;
    }
    Ok(())
}

fn write_file(file: &Path, text: &str) -> Result<(), ExitCode> {
    std::fs::write(file, text).map_err(|error| {
        process::report_error(&format!("could not write `{}`", file.display()), &error, None);
        ExitCode::Environment
    })
}
