//! `nodejoin`: does a node that boots with this user data join the cluster as the right node, and if not, why not?
//!
//! The command is a library: tests of other repositories run scenarios with it ([`Nodejoin`], [`scenario_tests`]), and
//! the reference pages of the book are generated from its arguments.

mod ami_files;
mod args;
mod artifacts;
mod aws_args;
mod coverage_args;
mod default_jobs;
mod diff_args;
mod explore_args;
mod hands_args;
mod keeper_args;
mod mutate_args;
mod probing_args;
#[macro_use]
mod process;
mod commands;
mod last_run;
mod library;
mod reports;
mod rerun;
mod run_args;
mod schema_args;

use std::process::ExitCode;

pub use args::command;
pub use library::{LibraryError, Nodejoin, NodejoinBuilder, ScenarioReport, ScenarioRequest, scenario_tests};
pub use nodejoin_core::diagnosis::Cause;
pub use nodejoin_core::judge::verdict::Verdict;
pub use nodejoin_core::plan::ProviderName;
pub use nodejoin_core::run::settings::EvidenceWhen;

use clap::Parser as _;

/// Parses the command line of this process and runs it.
#[must_use]
pub fn run() -> ExitCode {
    let args = args::Args::parse();
    process::log_to_stderr();
    let runtime = match process::runtime() {
        Ok(runtime) => runtime,
        Err(error) => return process::host_error("could not start the runtime", &error),
    };
    let code = runtime.block_on(commands::dispatch(args));
    // Reading tasks may still wait for containers that are gone; the run's own teardown is over by now.
    runtime.shutdown_background();
    ExitCode::from(code.code())
}
