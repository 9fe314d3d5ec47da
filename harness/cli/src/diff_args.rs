//! The arguments of `nodejoin diff`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};
use nodejoin_core::run::filter::ScenarioFilter;

use crate::explore_args::budget;
use crate::probing_args::ProbingArgs;

pub const HELP: &str = "\
OLD and NEW are two versions of one thing:
  a revision of git     of the folder that --tree names [default: the repository of the current folder]
  a folder              another copy of that folder, or of the folder that the variable of --variable names
  a file                an overlay manifest, whose files each node gets in addition
  an image              with --images: a node image, as in `nodejoin run --image`
OLD can also be a file that --bless wrote: the machines that the files left at that time.

Each scenario boots with both versions up to the start of the kubelet, and the machines are compared: arguments and
configuration of the kubelet, units, files, kernel settings, AWS calls. One scenario of each difference then joins with
both versions. Expectations of scenarios only count for these joins. What differs between two runs of OLD is left out.

Exit codes: 0 no difference, or all approved; 1 differences; others as for `nodejoin run`.";

/// `nodejoin diff`
#[derive(Debug, ClapArgs)]
pub struct DiffArgs {
    /// The version to compare with: a revision of git, a folder, an overlay manifest, an image, or a file of --bless
    #[arg(required_unless_present = "bless", conflicts_with = "bless")]
    pub old: Option<String>,
    /// The other version [default: the files as they are now]
    pub new: Option<String>,
    /// Compare nothing: write the machines that the files leave now to this JSON file, for a later
    /// `nodejoin diff FILE`. Machines in it that are not selected stay as they are
    #[arg(long, value_name = "FILE", conflicts_with_all = ["images", "tree", "variable", "approve", "html"])]
    pub bless: Option<PathBuf>,
    /// Scenario files, or folders with scenario files
    #[arg(long, value_name = "PATH", default_value = "scenarios")]
    pub scenarios: Vec<PathBuf>,
    /// The folder that OLD and NEW are versions of, as the scenarios and their overlays name it
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["variable", "images"])]
    pub tree: Option<PathBuf>,
    /// The environment variable by which overlays name the folder that OLD and NEW are versions of
    #[arg(long, value_name = "NAME", conflicts_with = "images")]
    pub variable: Option<String>,
    /// OLD and NEW are node images
    #[arg(long)]
    pub images: bool,
    /// Add the files of this overlay manifest to every node, after those of the AMI, as each version has it
    #[arg(long, value_name = "MANIFEST")]
    pub overlay: Vec<PathBuf>,
    /// Only scenarios that this expression selects, as in `nodejoin run`
    #[arg(long, short = 'E', value_name = "EXPRESSION")]
    pub filter: Option<ScenarioFilter>,
    /// Other worlds that run, too: instance types, regions, networks, IPv6, arguments of scripts, failures of AWS
    /// calls, a reboot. `--worlds` alone means `--worlds=all`
    #[arg(long, value_enum, value_name = "WHICH", num_args = 0..=1, require_equals = true,
          default_value_t = WorldsArg::Related, default_missing_value = "all")]
    pub worlds: WorldsArg,
    /// Time after which no further world starts, such as `90s`, `10m` or `1h`. Worlds that the changed lines are about
    /// come first [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = budget, conflicts_with_all = ["bless", "world"])]
    pub budget: Option<Duration>,
    /// Run one joining scenario of each folder in this world, by its name in the report, such as `ipv6`, and nothing
    /// else. Several times: in these worlds
    #[arg(long, value_name = "NAME", conflicts_with_all = ["worlds", "bless"])]
    pub world: Vec<String>,
    /// Which scenarios with differences join with both versions: one of each group, every one, or none
    #[arg(long, value_enum, default_value_t = JoinsArg::Group)]
    pub joins: JoinsArg,
    /// A file with the ids of differences that are intended, one in each line; text after an id is a remark
    #[arg(long, value_name = "FILE")]
    pub approve: Option<PathBuf>,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = DiffFormat::Text)]
    pub format: DiffFormat,
    /// Write one HTML page with all lines of every difference to this file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub probing: ProbingArgs,
}

/// Which other worlds run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WorldsArg {
    /// Those that the changed lines are about, a reboot and a second run of the user data, with one scenario
    Related,
    /// All, with one joining scenario of each folder
    All,
    /// None
    None,
}

/// Which scenarios join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum JoinsArg {
    /// One scenario of each group of differences
    Group,
    /// Every scenario that shows a difference
    Every,
    /// None
    None,
}

/// Format of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DiffFormat {
    /// For a terminal
    Text,
    /// One JSON document
    Json,
    /// For a pull request
    Markdown,
}
