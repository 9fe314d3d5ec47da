//! `nodejoin try`: reads a file of another tool, turns its machines into scenarios, and runs them.

mod print;
mod read;
mod scenarios;
mod version;
mod write;

pub(crate) use print::refuse;
pub(crate) use read::TryError;
pub(crate) use write::save;

use nodejoin_core::input::problem::ScenarioError;
use nodejoin_core::plan::Plan;
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_engine::TraceLog;

use crate::args::TryArgs;
use crate::commands::inspect;
use crate::commands::run::{self, RunRequest, run_plans};
use crate::reports::Github;
use crate::rerun;
use crate::run_args::OrderArgs;

/// The plans of the machines of a file; the inner error is that of the scenarios.
pub(crate) fn plans_of(args: &TryArgs) -> Result<Result<Vec<Plan>, ScenarioError>, TryError> {
    let tried = read::tried(args)?;
    scenarios::plans(&tried, args)
}

/// Tries the machines of a file.
pub(crate) async fn try_file(mut args: TryArgs, factor: TimeFactor) -> ExitCode {
    let github = Github::from_lookup(|name| std::env::var(name).ok());
    let mut tried = match read::tried(&args) {
        Ok(tried) => tried,
        Err(error) => return refuse(&error),
    };
    if let Some(folder) = &args.write {
        return match write::write(folder, &tried, &args) {
            Ok(written) => {
                print::adoption(&tried, args.options.format);
                print::written(folder, &written);
                match tried.not_tried.iter().any(|one| one.is_mistake) {
                    true => ExitCode::Failed,
                    false => ExitCode::Passed,
                }
            }
            Err(error) => refuse(&error),
        };
    }
    let plans = match scenarios::plans(&tried, &args) {
        Ok(Ok(plans)) => plans,
        Ok(Err(error)) => return run::refuse(&error, args.options.format, &github),
        Err(error) => return refuse(&error),
    };
    let file = match inspect::settings_file() {
        Ok(file) => file,
        Err(error) => return run::refuse(&error, args.options.format, &github),
    };
    version::choose(&mut tried, &mut args.options, &file, factor).await;
    print::adoption(&tried, args.options.format);
    plans.iter().for_each(inspect::warn_of_placeholders);
    let request = RunRequest {
        rerun: &rerun::of_this_process,
        options: &args.options,
        file: &file,
        github: &github,
        factor,
        bless: false,
        shard: None,
        order: OrderArgs::default(),
        recorded: false,
        traces: TraceLog::default(),
    };
    let code = run_plans(&request, &plans).await;
    if matches!(code, ExitCode::Failed | ExitCode::Passed) {
        print::below_verdicts(&tried, args.options.format);
    }
    // A pass of the others says nothing about them.
    match code {
        ExitCode::Passed if tried.not_tried.iter().any(|one| one.is_mistake) => ExitCode::Failed,
        code => code,
    }
}
