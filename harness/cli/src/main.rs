//! `nodejoin`: does a node that boots with this user data join the cluster as the right node, and if not, why not?

mod args;
mod aws_args;
#[macro_use]
mod edge;
mod commands;
mod reports;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let args = args::Args::parse();
    edge::log_to_stderr();
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return edge::host_error("could not start the runtime", &error),
    };
    let code = runtime.block_on(commands::dispatch(args));
    // Reading tasks may still wait for containers that are gone; the run's own teardown is over by now.
    runtime.shutdown_background();
    ExitCode::from(code.code())
}
