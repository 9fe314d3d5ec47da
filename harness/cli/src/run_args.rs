//! Options of the commands that run scenarios: which of them run, on what, and what is reported.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args as ClapArgs, ValueEnum};
use nodejoin_core::plan::ProviderName;
use nodejoin_core::run::env;
use nodejoin_core::run::require::Require;
use nodejoin_core::run::settings::JobCount;
use nodejoin_engine::report::console::Verbosity;

use crate::keeper_args::KeeperChoice;

/// How scenarios run, and which reports are written.
#[derive(Debug, Clone, ClapArgs)]
pub struct RunOptions {
    /// Number of scenarios to run at the same time [default: two for each processor, at most 8]
    #[arg(long, short, env = env::JOBS.name)]
    pub jobs: Option<JobCount>,
    /// Keep nodes, network and control plane after the run for inspection [default: never]
    #[arg(long, value_enum, default_missing_value = "on-failure", num_args = 0..=1, require_equals = true,
          env = env::KEEP.name)]
    pub keep: Option<KeepArg>,
    /// Stop at the first failure, or at the end, with node, AWS and API server alive until Ctrl-C
    #[arg(long)]
    pub hold: bool,
    /// Boot nodes up to their user data before their scenarios start, the first one while its control plane starts
    #[arg(long, conflicts_with = "hold")]
    pub boot_ahead: bool,
    /// Node image instead of each scenario's: a built-in name, an image of the engine as `name:tag`, a root file system
    #[arg(long, value_name = "NAME|FILE")]
    pub image: Option<PathBuf>,
    /// Fail scenarios with notes, as `clean: true` in `expect` does
    #[arg(long)]
    pub strict: bool,
    /// When scenarios leave evidence: if they do not pass, or always [default: on-failure]
    #[arg(long, value_enum, hide_possible_values = true)]
    pub evidence: Option<EvidenceArg>,
    /// Folder for evidence [default: target/nodejoin in a cargo project, else .nodejoin]
    #[arg(long, env = env::ARTIFACTS.name)]
    pub artifacts_dir: Option<PathBuf>,
    /// Write a JUnit report to this file
    #[arg(long)]
    pub junit: Option<PathBuf>,
    /// Print only scenarios that fail or error, and the last line
    #[arg(long, short, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print also how each failed node differs from the AMI
    #[arg(long, short)]
    pub verbose: bool,
    /// Format of standard output [default: `github` if `GITHUB_ACTIONS` is `true`, otherwise `text`]
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Write a Markdown summary to this file [default: append to the file in `GITHUB_STEP_SUMMARY`, if set]
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,
    /// Append the count of each outcome to this file as `name=value` lines, the format of `GITHUB_OUTPUT`
    #[arg(long, value_name = "FILE")]
    pub outputs: Option<PathBuf>,
    /// Control plane: local, k3s, kind or external [default: chosen by each scenario]
    #[arg(long, value_name = "PROVIDER", env = env::CONTROL_PLANE.name)]
    pub control_plane: Option<ProviderName>,
    /// Control planes that must be available, comma-separated; without one its scenarios error instead of being skipped
    #[arg(
        long,
        value_name = "PROVIDERS",
        default_value = "",
        hide_default_value = true,
        env = env::REQUIRE.name
    )]
    pub require: Require,
    #[command(flatten)]
    pub keeper: KeeperChoice,
    #[command(flatten)]
    pub external: ExternalArgs,
    #[command(flatten)]
    pub images: ImageArgs,
}

impl RunOptions {
    /// How much the console prints.
    #[must_use]
    pub fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            (false, false) => Verbosity::Normal,
        }
    }
}

/// Which selected scenarios run, how often, and in which order.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct OrderArgs {
    /// Start no more scenarios after one failed or errored; those that run continue
    #[arg(long)]
    pub fail_fast: bool,
    /// Only scenarios that did not pass in the last run that selected them
    #[arg(long)]
    pub rerun_failed: bool,
    /// Run each scenario this number of times; their ids end with `@run-1`, `@run-2`, ...
    #[arg(long, value_name = "COUNT", default_value_t)]
    pub repeat: RepeatCount,
    /// Run the scenarios in the order that this number determines
    #[arg(long, value_name = "SEED")]
    pub shuffle: Option<u64>,
}

/// How often each scenario runs, 1 to 1000.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepeatCount(pub u32);

impl Default for RepeatCount {
    fn default() -> Self {
        Self(1)
    }
}

impl fmt::Display for RepeatCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for RepeatCount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let count = text.parse().ok().filter(|count| (1..=1000).contains(count));
        count
            .map(Self)
            .ok_or_else(|| format!("invalid number of runs `{text}`: expected 1 to 1000"))
    }
}

/// The cluster of the provider `external`.
#[derive(Debug, Clone, ClapArgs)]
pub struct ExternalArgs {
    /// Kubeconfig of the external cluster [default: the files in KUBECONFIG]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context in the kubeconfig [default: its current context] [env: NODEJOIN_CONTEXT]
    #[arg(long)]
    pub context: Option<String>,
    /// Allow an API server outside loopback and private networks [env: NODEJOIN_ALLOW_REMOTE=true]
    #[arg(long)]
    pub allow_remote: bool,
    /// Folder of `nodejoin wiring` that the API server uses [env: NODEJOIN_WIRING]
    #[arg(long, value_name = "FOLDER")]
    pub wiring: Option<PathBuf>,
}

/// When nodes, networks and control planes remain after the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KeepArg {
    /// Nothing
    Never,
    /// Nodes that did not pass, with their control plane
    OnFailure,
    /// Everything
    Always,
}

/// When scenarios leave evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EvidenceArg {
    /// If they do not pass, or their nodes are kept
    OnFailure,
    /// Also if they pass; nodes are removed
    Always,
}

/// The format of standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text for people
    Text,
    /// One JSON event per line
    Json,
    /// Text with GitHub Actions annotations at lines of scripts and scenarios
    Github,
}

/// Versions of Kubernetes and the kubelet.
#[derive(Debug, Clone, ClapArgs)]
pub struct ImageArgs {
    /// Kubernetes versions to test, e.g. `1.20,1.36.2` [default: newest version in NODEJOIN_ASSETS, else 1.20.2]
    #[arg(
        long,
        value_name = "VERSIONS",
        default_value = "",
        hide_default_value = true,
        env = env::KUBERNETES.name
    )]
    pub kubernetes: String,
    /// Kubelet version [default: that of the control plane]
    #[arg(
        long,
        value_name = "VERSION",
        default_value = "",
        hide_default_value = true,
        env = env::KUBELET.name
    )]
    pub kubelet: String,
}
