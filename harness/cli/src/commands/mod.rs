//! The commands, one file each.

mod aws;
mod coverage;
mod diff;
mod doctor;
mod explain;
mod explore;
mod generate;
mod hands;
mod images;
mod init;
pub(crate) mod inspect;
pub(crate) mod keeper;
mod merge;
mod mutate;
mod preflight;
mod probing;
mod run;
pub(crate) mod selection;
mod sweep;
mod try_file;
mod watch;
mod wiring;

use nodejoin_core::run::exit_code::ExitCode;

use crate::args::{Args, Command};

/// Runs the command of the command line.
pub(crate) async fn dispatch(args: Args) -> ExitCode {
    let factor = args.time_factor;
    match args.command {
        Command::Run(args) => run::run(*args, factor).await,
        Command::Watch(args) => watch::watch(*args, factor).await,
        Command::Try(args) => try_file::try_file(*args, factor).await,
        Command::Diff(args) => diff::diff(*args, factor).await,
        Command::Explore(args) => explore::explore_worlds(*args, factor).await,
        Command::Coverage(args) => coverage::coverage(*args, factor).await,
        Command::Mutate(args) => mutate::mutate_script(*args, factor).await,
        Command::Init(args) => init::init(&args),
        Command::Plan(args) => inspect::plan(&args),
        Command::List(args) => inspect::list(&args),
        Command::Schema(args) => inspect::schema(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Completions(args) => generate::completions(&args),
        Command::Man(args) => generate::man(&args),
        Command::Images(args) => images::images(args, factor).await,
        Command::Doctor => doctor::doctor(factor).await,
        Command::Shell(args) => hands::shell(&args, factor).await,
        Command::Logs(args) => hands::logs(&args, factor).await,
        Command::Kubectl(args) => hands::kubectl(&args, factor).await,
        Command::Keeper(args) => keeper::keeper(args, factor).await,
        Command::Merge(args) => merge::merge(&args),
        Command::Sweep(args) => sweep::sweep(&args, factor).await,
        Command::Aws(args) => aws::aws(*args, factor).await,
        Command::Wiring(args) => wiring::wiring(&args),
    }
}
