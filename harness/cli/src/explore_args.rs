//! The arguments of `nodejoin explore`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};
use nodejoin_core::run::filter::ScenarioFilter;

use crate::probing_args::ProbingArgs;

pub const HELP: &str = "\
PATH is a scenario file, a folder with scenario files, or user data as `nodejoin try` reads it. Of a folder, the first
scenario that joins represents all scenarios beside it.

Each scenario boots in other worlds up to the start of the kubelet: other instance types, regions and networks, each
argument that its scripts accept, a failure of each AWS call; first one change at a time, then combinations. One world
of each distinct machine joins. Findings are what goes wrong in other worlds and not in that of the scenario, and values
that are wrong in every world.

Exit codes: 0 no findings, or all approved; 1 findings; others as for `nodejoin run`.";

/// `nodejoin explore`
#[derive(Debug, ClapArgs)]
pub struct ExploreArgs {
    /// Scenario files, folders with scenario files, or files of user data
    #[arg(value_name = "PATH", default_value = "scenarios")]
    pub paths: Vec<PathBuf>,
    /// Only scenarios that this expression selects, as in `nodejoin run`
    #[arg(long, short = 'E', value_name = "EXPRESSION")]
    pub filter: Option<ScenarioFilter>,
    /// Add the files of this overlay manifest to every node, after those of the AMI
    #[arg(long, value_name = "MANIFEST")]
    pub overlay: Vec<PathBuf>,
    /// Only this change, by its name in the report, such as `ipv6`; several are combined [default: all changes]
    #[arg(long, value_name = "NAME")]
    pub change: Vec<String>,
    /// Time of the command, such as `90s`, `10m` or `1h`: no further world starts after 70 % of it, and no further join
    /// after all of it
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = crate::explore_args::budget)]
    pub budget: Duration,
    /// Decides which changes are combined; equal seeds give equal worlds
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Whether one world of each distinct machine joins
    #[arg(long, value_enum, default_value_t = ExploreJoins::Group)]
    pub joins: ExploreJoins,
    /// Do not let bash report the commands that scripts run; combinations then come first for other machines alone
    #[arg(long)]
    pub no_trace: bool,
    /// A file with the ids of findings that are known, one in each line; text after an id is a remark
    #[arg(long, value_name = "FILE")]
    pub approve: Option<PathBuf>,
    /// Write a scenario for each finding that is not approved: it fails until its node joins in that world
    #[arg(long, value_name = "FOLDER")]
    pub write: Option<PathBuf>,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = ExploreFormat::Text)]
    pub format: ExploreFormat,
    #[command(flatten)]
    pub probing: ProbingArgs,
}

/// Which worlds join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExploreJoins {
    /// One world of each distinct machine
    Group,
    /// None
    None,
}

/// Format of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExploreFormat {
    /// For a terminal
    Text,
    /// One JSON document
    Json,
    /// For a pull request
    Markdown,
}

/// Parses a time with a unit.
pub(crate) fn budget(text: &str) -> Result<Duration, String> {
    let wrong =
        || format!("`{text}` is not a time: expected a number with a unit, such as `90s`, `10m` or `1h`");
    let parsed: jiff::SignedDuration = text.parse().map_err(|_| wrong())?;
    Duration::try_from(parsed).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_has_a_unit() {
        assert_eq!(budget("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(budget("1h 30m"), Ok(Duration::from_secs(5400)));
        for wrong in ["10", "-5m", "soon", ""] {
            assert!(budget(wrong).unwrap_err().contains("such as `90s`"), "{wrong}");
        }
    }
}
