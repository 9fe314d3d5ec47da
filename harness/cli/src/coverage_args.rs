//! The arguments of `nodejoin coverage`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

pub const HELP: &str = "\
Runs scenarios as `nodejoin run` does, and lets each bash on their nodes report its commands: those of user data, of the
scripts that it calls, sources or writes, in functions and subshells. Scripts of other shells, and of a bash that starts
without the environment of its unit, such as behind `env -i` or `sudo`, are not in the report.
Lines count where a statement begins. A branch of `if`, `case`, a loop, `&&` or `||` counts as taken and as not taken.

Exit codes: as for `nodejoin run`.";

/// `nodejoin coverage`
#[derive(Debug, ClapArgs)]
pub struct CoverageArgs {
    /// Write a tracefile of lcov to this file
    #[arg(long, value_name = "FILE")]
    pub lcov: Option<PathBuf>,
    /// Write a Cobertura XML report to this file
    #[arg(long, value_name = "FILE")]
    pub cobertura: Option<PathBuf>,
    /// Write one HTML page to this file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}
