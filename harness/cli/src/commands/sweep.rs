//! `nodejoin sweep`

use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_docker::{SweepOptions, Swept};

use crate::args::SweepArgs;
use crate::process;

/// Removes the objects of ended runs, or prints which it would remove.
pub(crate) async fn sweep(args: &SweepArgs, factor: TimeFactor) -> ExitCode {
    let engine = match process::engine(factor).await {
        Ok(engine) => engine,
        Err(code) => return code,
    };
    let sweep = SweepOptions {
        dry_run: args.dry_run,
        kept: args.kept || args.run.is_some(),
        only: args.run.clone(),
    };
    let swept = match sweep.run(&engine).await {
        Ok(swept) => swept,
        Err(error) => {
            process::report_error("could not remove the objects of ended runs", &error, error.hint());
            return ExitCode::Environment;
        }
    };
    if let Some(run) = &args.run
        && swept == Swept::default()
    {
        note!(
            "error: no container, network or volume of run `{run}` exists; `docker ps --filter label=nodejoin.run` lists runs"
        );
        return ExitCode::Usage;
    }
    let verb = if args.dry_run { "would remove" } else { "removed" };
    swept.removed.iter().for_each(|object| out!("{verb} {object}"));
    swept
        .kept
        .iter()
        .for_each(|object| out!("kept (remove it with `--kept`): {object}"));
    swept
        .left
        .iter()
        .for_each(|object| note!("could not remove: {object}"));
    out!(
        "{verb} {} objects of ended runs; {} objects of active runs remain",
        swept.removed.len(),
        swept.live
    );
    if swept.left.is_empty() {
        ExitCode::Passed
    } else {
        ExitCode::Environment
    }
}
