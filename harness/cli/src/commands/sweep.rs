//! `nodejoin sweep`

use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_docker::SweepOptions;

use crate::args::Sweep as RequestedVersions;
use crate::edge;

/// Removes what dead runs left behind, or says what that would be.
pub(crate) async fn sweep(args: &RequestedVersions, factor: TimeFactor) -> ExitCode {
    let engine = match edge::engine(factor).await {
        Ok(engine) => engine,
        Err(code) => return code,
    };
    let sweep = SweepOptions {
        dry_run: args.dry_run,
        kept: args.kept,
    };
    let swept = match sweep.run(&engine).await {
        Ok(swept) => swept,
        Err(error) => {
            edge::complain("could not sweep", &error, error.hint());
            return ExitCode::Environment;
        }
    };
    let verb = if args.dry_run { "would remove" } else { "removed" };
    swept.removed.iter().for_each(|object| out!("{verb} {object}"));
    swept
        .kept
        .iter()
        .for_each(|object| out!("kept, `--kept` removes it: {object}"));
    swept
        .left
        .iter()
        .for_each(|object| eprintln!("left behind: {object}"));
    out!(
        "{verb} {} objects of dead runs; {} of live runs stay",
        swept.removed.len(),
        swept.live
    );
    if swept.left.is_empty() {
        ExitCode::Passed
    } else {
        ExitCode::Environment
    }
}
