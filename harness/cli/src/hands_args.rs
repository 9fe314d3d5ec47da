//! Arguments of the commands that enter a node or its cluster.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use nodejoin_core::plan::ids::RunId;
use nodejoin_core::run::env;

/// `nodejoin shell`
#[derive(Debug, ClapArgs)]
pub struct ShellArgs {
    /// Name or id of the container, or a part of its name [default: the only node]
    pub node: Option<String>,
    /// Command and its arguments [default: bash, else sh]
    #[arg(last = true)]
    pub command: Vec<OsString>,
}

/// `nodejoin logs`
#[derive(Debug, ClapArgs)]
pub struct LogsArgs {
    /// Name or id of the container, or a part of its name [default: the only node]
    pub node: Option<String>,
    /// Only the lines of this unit, such as `kubelet` or `cloud-final`; with one node, NODE can be left out
    pub unit: Option<String>,
    /// Follow the journal until Ctrl-C
    #[arg(long, short)]
    pub follow: bool,
}

/// `nodejoin kubectl`
#[derive(Debug, ClapArgs)]
pub struct KubectlArgs {
    /// Run whose cluster is used [default: the only one]
    #[arg(long, value_name = "RUN")]
    pub run: Option<RunId>,
    /// Folder for evidence, as in `nodejoin run`
    #[arg(long, env = env::ARTIFACTS.name)]
    pub artifacts_dir: Option<PathBuf>,
    /// Arguments of kubectl, such as `get nodes`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<OsString>,
}
