//! The command line.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args as ClapArgs, CommandFactory as _, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use nodejoin_core::plan::ids::RunId;
use nodejoin_core::plan::{ImagePlan, ProviderName};
use nodejoin_core::run::env;
use nodejoin_core::run::filter::ScenarioFilter;
use nodejoin_core::run::shard::Shard;
use nodejoin_core::run::time_factor::{InvalidTimeFactor, TimeFactor};

use crate::keeper_args::KeeperArgs;
use crate::run_args::{ImageArgs, OrderArgs, RunOptions};
use crate::schema_args::SchemaArgs;
use crate::{aws_args, coverage_args, diff_args, explore_args, hands_args, mutate_args};

/// Does a node that boots with this user data join the cluster as the right node, and if not, why not?
#[derive(Debug, Parser)]
#[command(name = "nodejoin", version = env!("NODEJOIN_VERSION"), about, after_help = EXIT_CODES)]
pub struct Args {
    /// Multiply all timeouts by this factor on slow machines (1 to 1000)
    #[arg(long, global = true, env = env::TIME_FACTOR.name, value_name = "NUMBER", default_value = "1",
          value_parser = time_factor)]
    pub time_factor: TimeFactor,
    #[command(subcommand)]
    pub command: Command,
}

/// The arguments of the command line, with their help texts.
#[must_use]
pub fn command() -> clap::Command {
    Args::command()
}

/// Parses the time factor. An empty environment variable counts as unset.
fn time_factor(text: &str) -> Result<TimeFactor, InvalidTimeFactor> {
    if text.is_empty() {
        return Ok(TimeFactor::ONE);
    }
    text.parse()
}

const EXIT_CODES: &str = "\
Exit codes: 0 passed; 1 a scenario failed; 2 invalid command line or scenario file;
3 this host cannot run nodejoin; 4 a scenario errored; 5 nothing ran; 130 interrupted.";

const RUN_HELP: &str = "\
Filter expressions: terms with `and`, `or`, `not` and parentheses. A term is a text in the id or name (quoted if it
contains one of these words), or a key with a value, in which `*` stands for any text:
  id(TEXT)        whole id, or its last part      tag(WORD)        one of the scenario's `tags`
  name(TEXT)      part of the name                cause(CAUSE)     expected diagnosis of the join or of a step
  folder(PATH)    folder, or one above it         version(1.36)    applies to this Kubernetes version
  flow(NAME)      first folder of the id

Flags take precedence over environment variables, and these over the nearest `nodejoin.yaml` in this folder or
above it (keys: control_plane, jobs, keep, keeper, artifacts_dir, overlays).";

const SETTINGS_FILE: &str = "\
Flags take precedence over environment variables, and these over the nearest `nodejoin.yaml` in this folder or
above it (keys: control_plane, jobs, keep, keeper, artifacts_dir, overlays).";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run scenarios and report whether each node joined as expected
    #[command(after_help = RUN_HELP)]
    Run(Box<RunArgs>),
    /// Run scenarios again whenever a file that they depend on is saved
    #[command(after_help = SETTINGS_FILE)]
    Watch(Box<WatchArgs>),
    /// Run user data of any tool: reports whether its node joins, and why not
    #[command(after_help = SETTINGS_FILE)]
    Try(Box<TryArgs>),
    /// Compare two versions of a script: what they leave differently on each machine, and which joins end differently
    #[command(after_help = diff_args::HELP)]
    Diff(Box<DiffCommand>),
    /// Run user data in other worlds, with other arguments and with failures, and report what goes wrong
    #[command(after_help = explore_args::HELP)]
    Explore(Box<ExploreCommand>),
    /// Run scenarios and report which lines and branches of their scripts ran
    #[command(after_help = coverage_args::HELP)]
    Coverage(Box<CoverageCommand>),
    /// Change a script in small ways and report which changes no scenario notices
    #[command(after_help = mutate_args::HELP)]
    Mutate(Box<MutateCommand>),
    /// Write a first scenario, overlay, workflow and settings for a repository of bootstrap scripts
    Init(InitArgs),
    /// Print the plan of a scenario with all defaults, without starting anything
    Plan(PlanArgs),
    /// List scenarios
    List(ListArgs),
    /// Print the JSON schema of a scenario, for editors, or of a format that nodejoin writes
    Schema(SchemaArgs),
    /// Explain a cause of a stopped join
    Explain(ExplainArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Write the man pages
    Man(ManArgs),
    /// Build, list or remove images
    Images(ImagesArgs),
    /// Check whether this host can run scenarios, without changing anything
    Doctor,
    /// Open a shell in a node of a held or kept run, or run a command in it
    Shell(hands_args::ShellArgs),
    /// Print the journal of a node
    Logs(hands_args::LogsArgs),
    /// Run kubectl as administrator of the cluster of a held or kept run
    Kubectl(hands_args::KubectlArgs),
    /// Keep control planes for later runs with --keeper: report, stop, or serve in the foreground
    #[command(args_conflicts_with_subcommands = true)]
    Keeper(KeeperArgs),
    /// Join the records and JUnit reports of several runs, such as the shards of a CI matrix
    Merge(MergeArgs),
    /// Remove containers, networks and volumes of runs that have ended
    Sweep(SweepArgs),
    /// Serve one fake AWS account, without Docker and without a cluster
    #[command(after_help = aws_args::HELP, args_conflicts_with_subcommands = true)]
    Aws(Box<aws_args::AwsArgs>),
    /// Write files and print flags that connect the API server of an external cluster to nodejoin
    Wiring(WiringArgs),
}

/// `nodejoin run`
#[derive(Debug, ClapArgs)]
pub struct RunArgs {
    /// Scenario files, or folders with scenario files
    #[arg(default_value = "scenarios")]
    pub paths: Vec<PathBuf>,
    /// Only scenarios that this expression selects, such as `flow(al2) and not tag(slow)`
    #[arg(long, short = 'E', value_name = "EXPRESSION")]
    pub filter: Option<ScenarioFilter>,
    /// Rewrite the snapshots (`golden`) of nodes that pass otherwise, and print which changed
    #[arg(long)]
    pub bless: bool,
    /// Add the files of this overlay manifest to every node, after the scenario's own overlay
    #[arg(long)]
    pub overlay: Vec<PathBuf>,
    /// Run only this shard, e.g. `1/4` for the first of four; the id of a scenario determines its shard
    #[arg(long, value_name = "INDEX/COUNT", env = env::SHARD.name)]
    pub shard: Option<Shard>,
    /// Balance the shards by the times in this report, `run.json` or folder, as `nodejoin merge` reads it; all shards
    /// need the same one
    #[arg(long, value_name = "FILE", env = env::TIMES.name)]
    pub times: Option<OsString>,
    #[command(flatten)]
    pub order: OrderArgs,
    #[command(flatten)]
    pub options: RunOptions,
}

/// `nodejoin watch`
#[derive(Debug, ClapArgs)]
pub struct WatchArgs {
    /// Scenario files, or folders with scenario files
    #[arg(default_value = "scenarios")]
    pub paths: Vec<PathBuf>,
    /// Only scenarios that this expression selects, as in `nodejoin run`
    #[arg(long, short = 'E', value_name = "EXPRESSION")]
    pub filter: Option<ScenarioFilter>,
    /// Add the files of this overlay manifest to every node, after the scenario's own overlay
    #[arg(long)]
    pub overlay: Vec<PathBuf>,
    /// Run nothing before the first save
    #[arg(long)]
    pub postpone: bool,
    #[command(flatten)]
    pub options: RunOptions,
}

/// `nodejoin try`
#[derive(Debug, ClapArgs)]
pub struct TryArgs {
    /// User data, or a file or folder of another tool that contains it; `-` reads standard input
    pub file: PathBuf,
    /// Use this script as /etc/eks/bootstrap.sh in the node
    #[arg(long, value_name = "SCRIPT")]
    pub bootstrap: Option<PathBuf>,
    /// Add the files of this overlay manifest to every node, after those of the AMI
    #[arg(long, value_name = "MANIFEST")]
    pub overlay: Vec<PathBuf>,
    /// Value of a parameter of the file, or of a place in the user data that is not filled in, such as `${NAME}`
    #[arg(long, value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub set: Vec<(String, String)>,
    /// Keys that the scenario of each machine gets as well, such as `network: open`, or a YAML file with them. Paths in
    /// them are relative to the folder of FILE
    #[arg(long, value_name = "KEYS")]
    pub with: Vec<String>,
    /// Only machines whose name is this text, or contains it [default: all]
    #[arg(long, value_name = "NAME")]
    pub select: Vec<String>,
    /// Save the scenarios and their files in this folder, for `nodejoin run FOLDER`, instead of running them
    #[arg(long, value_name = "FOLDER")]
    pub write: Option<PathBuf>,
    #[command(flatten)]
    pub options: RunOptions,
}

/// `nodejoin diff`
#[derive(Debug, ClapArgs)]
pub struct DiffCommand {
    #[command(flatten)]
    pub diff: diff_args::DiffArgs,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// `nodejoin explore`
#[derive(Debug, ClapArgs)]
pub struct ExploreCommand {
    #[command(flatten)]
    pub explore: explore_args::ExploreArgs,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// `nodejoin coverage`
#[derive(Debug, ClapArgs)]
pub struct CoverageCommand {
    #[command(flatten)]
    pub coverage: coverage_args::CoverageArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

/// `nodejoin mutate`
#[derive(Debug, ClapArgs)]
pub struct MutateCommand {
    #[command(flatten)]
    pub mutate: mutate_args::MutateArgs,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// `nodejoin init`
#[derive(Debug, ClapArgs)]
pub struct InitArgs {
    /// Folder of the repository
    #[arg(default_value = ".")]
    pub folder: PathBuf,
}

/// Parses `NAME=VALUE`.
fn name_and_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').unwrap_or_default();
    if name.is_empty() {
        return Err("expected `NAME=VALUE`".to_owned());
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// `nodejoin explain`
#[derive(Debug, ClapArgs)]
pub struct ExplainArgs {
    /// Word of the cause, e.g. `role-not-mapped` [default: list all causes]
    pub cause: Option<String>,
}

/// `nodejoin completions`
#[derive(Debug, ClapArgs)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

/// `nodejoin man`
#[derive(Debug, ClapArgs)]
pub struct ManArgs {
    /// Folder for the pages; pages of an earlier version are overwritten
    pub folder: PathBuf,
}

/// `nodejoin plan`
#[derive(Debug, ClapArgs)]
pub struct PlanArgs {
    /// The scenario file
    pub file: PathBuf,
    /// Add the files of this overlay manifest to the node, after the scenario's own overlay
    #[arg(long)]
    pub overlay: Vec<PathBuf>,
}

/// `nodejoin list`
#[derive(Debug, ClapArgs)]
pub struct ListArgs {
    /// Scenario files, or folders with scenario files
    #[arg(default_value = "scenarios")]
    pub paths: Vec<PathBuf>,
    /// Only scenarios that this expression selects, as in `nodejoin run`
    #[arg(long, short = 'E', value_name = "EXPRESSION")]
    pub filter: Option<ScenarioFilter>,
    /// Format of the list
    #[arg(long, value_enum, default_value_t = ListFormat::Text, conflicts_with = "matrix")]
    pub format: ListFormat,
    /// Print a Markdown table of the facets of a join that the scenarios of each folder cover
    #[arg(long, conflicts_with = "shard")]
    pub matrix: bool,
    /// List only this shard, as in `nodejoin run --shard`
    #[arg(long, value_name = "INDEX/COUNT", env = env::SHARD.name)]
    pub shard: Option<Shard>,
    /// Balance the shards by the times in this file, as in `nodejoin run --times`
    #[arg(long, value_name = "FILE", env = env::TIMES.name)]
    pub times: Option<OsString>,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// The format of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// Id and name of each scenario
    Text,
    /// One JSON array
    Json,
}

/// `nodejoin images`
#[derive(Debug, ClapArgs)]
pub struct ImagesArgs {
    #[command(subcommand)]
    pub command: ImagesCommand,
}

#[derive(Debug, Subcommand)]
pub enum ImagesCommand {
    /// Build all missing images: those of the nodes and of one control plane
    Build {
        /// Control plane: local, k3s, kind, or external (no image) [default: that of nodejoin.yaml, otherwise local]
        #[arg(long, value_name = "PROVIDER", env = env::CONTROL_PLANE.name)]
        control_plane: Option<ProviderName>,
        /// Built-in node images, comma-separated: al2, al2023
        #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = ImagePlan::DEFAULT)]
        nodes: Vec<String>,
        #[command(flatten)]
        images: ImageArgs,
    },
    /// Import a root file system as a node image, as a scenario with `image: { rootfs: FILE }` does
    Import {
        /// Tar archive (plain, gzip, zstd or xz), folder, or folder with an OCI image layout
        file: PathBuf,
    },
    /// List images and whether they are current: this nodejoin does not use a stale one
    List,
    /// Remove images of outdated recipes, and imported images whose source has changed
    Prune,
}

/// `nodejoin wiring`
#[derive(Debug, ClapArgs)]
pub struct WiringArgs {
    /// Address and port of this host that the API server can reach; runs listen there
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: SocketAddr,
    /// Folder for the files; existing files for the same address stay unchanged
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    /// Path of the folder on the API server's host [default: that of --out]
    #[arg(long, value_name = "FOLDER")]
    pub mounted_at: Option<PathBuf>,
}

/// `nodejoin merge`
#[derive(Debug, ClapArgs)]
pub struct MergeArgs {
    /// Folders with evidence or reports of runs, `run.json` files, and reports of `nodejoin run --junit`
    #[arg(required = true, value_name = "FOLDER|FILE")]
    pub inputs: Vec<PathBuf>,
    /// Write one JUnit report to this file
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write one HTML page to this file
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// Number of the slowest scenarios to print
    #[arg(long, value_name = "COUNT", default_value_t = 5)]
    pub slowest: usize,
}

/// `nodejoin sweep`
#[derive(Debug, ClapArgs)]
pub struct SweepArgs {
    /// Remove only the objects of this run if it has ended, including kept ones [default: all ended runs]
    #[arg(value_name = "RUN")]
    pub run: Option<RunId>,
    /// Print what would be removed, without removing it
    #[arg(long)]
    pub dry_run: bool,
    /// Also remove objects that `nodejoin run --keep` kept
    #[arg(long)]
    pub kept: bool,
}
