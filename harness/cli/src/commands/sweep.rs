//! `nodejoin sweep`

use nodejoin_core::exit_code::ExitCode;

use crate::args::Sweep;
use crate::edge;

/// Removes what dead runs left behind, or says what that would be.
pub(crate) async fn sweep(args: &Sweep) -> ExitCode {
    let engine = match edge::engine().await {
        Ok(engine) => engine,
        Err(code) => return code,
    };
    let swept = match nodejoin_docker::sweep(&engine, args.dry_run).await {
        Ok(swept) => swept,
        Err(error) => {
            edge::complain("could not sweep", &error, error.hint());
            return ExitCode::Environment;
        }
    };
    let verb = if args.dry_run { "would remove" } else { "removed" };
    swept.removed.iter().for_each(|object| println!("{verb} {object}"));
    swept.left.iter().for_each(|object| eprintln!("left behind: {object}"));
    println!("{verb} {} of dead runs; {} of live runs stay", swept.removed.len(), swept.live);
    if swept.left.is_empty() { ExitCode::Passed } else { ExitCode::Environment }
}
