//! The arguments of `nodejoin mutate`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};
use nodejoin_core::run::filter::ScenarioFilter;
use nodejoin_core::run::shard::Shard;
use nodejoin_script::Operator;

use crate::explore_args::budget;
use crate::probing_args::ProbingArgs;

pub const HELP: &str = "\
SCRIPT is a bash script that overlays of the scenarios put on their nodes, their user data or a script that it contains
or writes, or a script of their image, as nodes run it. Each change is a mistake that someone could make: a condition the other way round, a missing statement, retry or argument.

Each scenario boots once with the script as it is, which shows the lines that it runs. A change runs only scenarios that
run its line, up to the start of the kubelet; where the machine differs, the scenario runs to its verdict. A change is
  killed      a scenario does not pass with it
  timed out   a scenario takes longer than --timeout, and no cause is found
  survived    the machine differs, and all scenarios pass
  equivalent  the machine is the same in all scenarios that ran it
  uncovered   no scenario runs its line
The score is the percentage of killed and timed out ones among these and the survived and uncovered ones.

Exit codes: 0 no change survived or is uncovered, or the score is at least that of --min-score; 1 otherwise; others as
for `nodejoin run`.";

/// `nodejoin mutate`
#[derive(Debug, ClapArgs)]
pub struct MutateArgs {
    /// The script
    pub script: PathBuf,
    /// Scenario files, or folders with scenario files
    #[arg(value_name = "PATH", default_value = "scenarios")]
    pub paths: Vec<PathBuf>,
    /// Only scenarios that this expression selects, as in `nodejoin run`
    #[arg(long, short = 'E', value_name = "EXPRESSION")]
    pub filter: Option<ScenarioFilter>,
    /// Add the files of this overlay manifest to every node, after the scenario's own overlay
    #[arg(long, value_name = "MANIFEST")]
    pub overlay: Vec<PathBuf>,
    /// Only changes in lines that differ from this git revision
    #[arg(long, value_name = "REVISION")]
    pub in_diff: Option<String>,
    /// Only these kinds of changes, comma-separated [default: all]
    #[arg(long, value_name = "OPERATORS", value_delimiter = ',', value_parser = operator)]
    pub operator: Vec<Operator>,
    /// Only the change with this id, as an earlier report printed it
    #[arg(long, value_name = "ID")]
    pub mutant: Vec<String>,
    /// Only this shard of the changes, e.g. `1/4` for the first of four
    #[arg(long, value_name = "INDEX/COUNT")]
    pub shard: Option<Shard>,
    /// Time after which no further change runs, such as `90s`, `10m` or `1h` [default: all run]
    #[arg(long, value_name = "TIME", value_parser = budget)]
    pub budget: Option<Duration>,
    /// Longest time of a scenario with a change, such as `90s` [default: twice as long as with the script as it is, and
    /// 15 s more; never more than `limits.join_seconds` of the scenario]
    #[arg(long, value_name = "TIME", value_parser = budget)]
    pub timeout: Option<Duration>,
    /// Number of scenarios that a change runs alone at most; one that it runs together with others counts in part
    #[arg(long, value_name = "COUNT", default_value_t = 8)]
    pub most: usize,
    /// Lowest score in percent that is a success
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub min_score: Option<u8>,
    /// Write a scenario to this folder for each change that survives, as far as an expectation can notice it: it passes
    /// without the change and fails with it
    #[arg(long, value_name = "FOLDER")]
    pub write: Option<PathBuf>,
    /// Print the changes and run nothing
    #[arg(long)]
    pub list: bool,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = MutateFormat::Text)]
    pub format: MutateFormat,
    #[command(flatten)]
    pub probing: ProbingArgs,
}

/// Format of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MutateFormat {
    /// For a terminal
    Text,
    /// One JSON document
    Json,
    /// For a pull request
    Markdown,
}

fn operator(text: &str) -> Result<Operator, String> {
    let found = Operator::ALL.into_iter().find(|operator| operator.name() == text);
    found.ok_or_else(|| {
        let names: Vec<&str> = Operator::ALL.iter().map(|operator| operator.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_operator_is_answered_with_the_names() {
        assert_eq!(operator("drop-retry"), Ok(Operator::DropRetry));
        assert!(operator("retry").unwrap_err().contains("drop-retry, "));
    }
}
