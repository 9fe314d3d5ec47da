//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use nodejoin_core::plan::ProviderName;
use nodejoin_core::run::require::Require;
use nodejoin_core::run::shard::Shard;
use nodejoin_core::run::time_factor::{NoTimeFactor, TimeFactor};

use crate::aws_args;

/// Does a node that boots with this user data join the cluster as the right node, and if not, why not?
#[derive(Debug, Parser)]
#[command(name = "nodejoin", version, about, after_help = EXIT_CODES)]
pub struct Args {
    /// By what every limit is multiplied, on a machine that is slower than they were made for: 1 to 1000
    #[arg(long, global = true, env = nodejoin_docker::env::NODEJOIN_TIME_FACTOR, value_name = "NUMBER", default_value = "1",
          value_parser = time_factor)]
    pub time_factor: TimeFactor,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// An empty variable counts as one that is not set.
fn time_factor(text: &str) -> Result<TimeFactor, NoTimeFactor> {
    if text.is_empty() {
        return Ok(TimeFactor::ONE);
    }
    text.parse()
}

const EXIT_CODES: &str = "\
Exit codes: 0 passed; 1 a scenario failed; 2 the command line or a scenario file is wrong;
3 this host cannot run the harness; 4 the harness could not tell; 130 ended by the user.";

const SETTINGS_FILE: &str = "\
What is not given here is read from the environment, then from the nearest `nodejoin.yaml` in this folder or above it
(keys: control_plane, jobs, keep, artifacts_dir, overlays).";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run scenarios and say of each whether its node joined as it should
    #[command(after_help = SETTINGS_FILE)]
    Run(Box<Run>),
    /// Print the plan of a scenario, with every default, without starting anything
    Plan(Plan),
    /// List scenarios
    List(List),
    /// Print the JSON schema of a scenario, for editors
    Schema,
    /// Make, list or remove images
    Images(Images),
    /// Check what this host needs; changes nothing
    Doctor,
    /// Remove what runs that are no longer alive left behind
    Sweep(Sweep),
    /// Serve one account of AWS alone, without Docker and without a cluster
    #[command(after_help = aws_args::HELP, args_conflicts_with_subcommands = true)]
    Aws(Box<aws_args::Aws>),
    /// Write files and print flags by which the API server of a cluster of yours asks nodejoin
    Wiring(Wiring),
}

/// `nodejoin run`
#[derive(Debug, ClapArgs)]
pub struct Run {
    /// Scenario files or folders of them
    #[arg(default_value = "scenarios")]
    pub paths: Vec<PathBuf>,
    /// Only scenarios whose id or name contains this text
    #[arg(long, short = 'E')]
    pub filter: Option<String>,
    /// How many scenarios run at once [default: 1]
    #[arg(long, short, env = "NODEJOIN_JOBS")]
    pub jobs: Option<usize>,
    /// Keep nodes, network and control plane after the run, to look into them
    #[arg(long, value_enum, default_missing_value = "on-failure", num_args = 0..=1, require_equals = true,
          env = "NODEJOIN_KEEP")]
    pub keep: Option<Keep>,
    /// Write the snapshots (`golden`) of nodes that pass otherwise anew, and say which differed
    #[arg(long)]
    pub bless: bool,
    /// Lay the files of this overlay manifest over every node, after the scenario's own
    #[arg(long)]
    pub overlay: Vec<PathBuf>,
    /// Folder for the evidence of runs [default: target/nodejoin]
    #[arg(long, env = "NODEJOIN_ARTIFACTS")]
    pub artifacts_dir: Option<PathBuf>,
    /// Write a JUnit report to this file
    #[arg(long)]
    pub junit: Option<PathBuf>,
    /// What to print on standard output; `github` where `GITHUB_ACTIONS` is `true`, else `text`
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Run only this share of the scenarios, such as `1/4`, the first of four; which one a scenario is in follows from its id
    #[arg(long, value_name = "INDEX/COUNT", env = "NODEJOIN_SHARD")]
    pub shard: Option<Shard>,
    /// Write a summary in Markdown to this file; added to the file that `GITHUB_STEP_SUMMARY` names where absent
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,
    /// Add the counts of outcomes to this file as `name=value` lines, as `GITHUB_OUTPUT` takes them
    #[arg(long, value_name = "FILE")]
    pub outputs: Option<PathBuf>,
    /// Who runs the API server: local, k3s, kind or external; where absent, each scenario says
    #[arg(long, value_name = "PROVIDER", env = "NODEJOIN_CONTROL_PLANE")]
    pub control_plane: Option<ProviderName>,
    /// Control planes that must be there, with commas: where one of them cannot be had, its scenarios are errored, not skipped
    #[arg(
        long,
        value_name = "PROVIDERS",
        default_value = "",
        hide_default_value = true,
        env = "NODEJOIN_REQUIRE"
    )]
    pub require: Require,
    /// Which cluster `external` is
    #[command(flatten)]
    pub external: ExternalArgs,
    /// Where images and programs come from
    #[command(flatten)]
    pub images: ImageArgs,
}

/// The cluster of the provider `external`.
#[derive(Debug, Clone, ClapArgs)]
pub struct ExternalArgs {
    /// Kubeconfig of the cluster; where absent, what KUBECONFIG names
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig, where it is not the current one [env: NODEJOIN_CONTEXT]
    #[arg(long)]
    pub context: Option<String>,
    /// Let nodes join an API server beyond loopback and private networks [env: NODEJOIN_ALLOW_REMOTE=true]
    #[arg(long)]
    pub allow_remote: bool,
    /// Folder of `nodejoin wiring` whose files the API server has [env: NODEJOIN_WIRING]
    #[arg(long, value_name = "FOLDER")]
    pub wiring: Option<PathBuf>,
}

/// When something is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Keep {
    /// Nothing is kept
    Never,
    /// Nodes that did not pass, and what they need
    OnFailure,
    /// Everything
    Always,
}

/// What is printed on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a person
    Text,
    /// One event a line, as JSON
    Json,
    /// For the log of GitHub Actions: text, and an annotation at the line of the script or scenario
    Github,
}

/// Where images and programs come from.
#[derive(Debug, Clone, ClapArgs)]
pub struct ImageArgs {
    /// Kubernetes versions, such as `1.20,1.32,1.36.2`, each for all scenarios; what can be had without asking where absent
    #[arg(
        long,
        value_name = "VERSIONS",
        default_value = "",
        hide_default_value = true,
        env = "NODEJOIN_KUBERNETES"
    )]
    pub kubernetes: String,
    /// Version of the kubelet, where it is not the control plane's
    #[arg(
        long,
        value_name = "VERSION",
        default_value = "",
        hide_default_value = true,
        env = "NODEJOIN_KUBELET"
    )]
    pub kubelet: String,
}

/// `nodejoin plan`
#[derive(Debug, ClapArgs)]
pub struct Plan {
    /// The scenario file
    pub file: PathBuf,
    /// Lay the files of this overlay manifest over the node, after the scenario's own
    #[arg(long)]
    pub overlay: Vec<PathBuf>,
}

/// `nodejoin list`
#[derive(Debug, ClapArgs)]
pub struct List {
    /// Scenario files or folders of them
    #[arg(default_value = "scenarios")]
    pub paths: Vec<PathBuf>,
    /// Print, as a table in Markdown, which facets of a join the scenarios of each folder prove
    #[arg(long, conflicts_with = "shard")]
    pub matrix: bool,
    /// Only this share of the scenarios, as `nodejoin run --shard` would run it
    #[arg(long, value_name = "INDEX/COUNT", env = "NODEJOIN_SHARD")]
    pub shard: Option<Shard>,
    /// Versions to list for
    #[command(flatten)]
    pub images: ImageArgs,
}

/// `nodejoin images`
#[derive(Debug, ClapArgs)]
pub struct Images {
    /// What to do with images.
    #[command(subcommand)]
    pub command: ImagesCommand,
    /// Where images and programs come from
    #[command(flatten)]
    pub images: ImageArgs,
}

/// What can be done with images.
#[derive(Debug, Subcommand)]
pub enum ImagesCommand {
    /// Make every image that is not there yet: of the nodes, and of one control plane
    Build {
        /// The control plane: local, k3s, kind, or external, which needs none; nodejoin.yaml's where absent, else local
        #[arg(long, value_name = "PROVIDER", env = "NODEJOIN_CONTROL_PLANE")]
        control_plane: Option<ProviderName>,
    },
    /// List images, and say which are current
    List,
    /// Remove images that no current recipe makes
    Prune,
}

/// `nodejoin wiring`
#[derive(Debug, ClapArgs)]
pub struct Wiring {
    /// Address and port of this machine that the API server reaches; runs listen there
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: SocketAddr,
    /// Folder for the files; one that has some for the same address stays as it is
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    /// The folder where the API server sees them, where it is another
    #[arg(long, value_name = "FOLDER")]
    pub mounted_at: Option<PathBuf>,
}

/// `nodejoin sweep`
#[derive(Debug, ClapArgs)]
pub struct Sweep {
    /// Only say what would be removed
    #[arg(long)]
    pub dry_run: bool,
    /// Remove what was kept on purpose, too
    #[arg(long)]
    pub kept: bool,
}
