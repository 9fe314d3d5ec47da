//! `nodejoin shell`, `logs` and `kubectl`: into a node and its cluster while their run is held or kept.
//!
//! The terminal belongs to the `docker` or `kubectl` that this process becomes.

use std::io::IsTerminal as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use nodejoin_core::input::problem::ScenarioError;
use nodejoin_core::run::env;
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_docker::{LabelledContainer, containers_of_role, on_path};

use crate::artifacts::default_folder;
use crate::commands::inspect;
use crate::hands_args::{KubectlArgs, LogsArgs, ShellArgs};
use crate::process;

/// Value of the label `nodejoin.role` of a node.
const NODE: &str = "node";
/// Starts the best shell of an image.
const SHELL: [&str; 3] = ["/bin/sh", "-c", "exec bash -l || exec sh -l"];
/// Runs the kubectl of a control plane's image with a kubeconfig from the environment.
const KUBECTL: &str = "umask 077; printf %s \"$NODEJOIN_KUBECONFIG_TEXT\" > /tmp/nodejoin-kubeconfig
unset NODEJOIN_KUBECONFIG_TEXT; PATH=$PATH:/kubernetes; exec kubectl --kubeconfig=/tmp/nodejoin-kubeconfig \"$@\"";

/// Why no container is chosen.
#[derive(Debug, PartialEq, Eq)]
enum NoNode {
    /// No node runs.
    None,
    /// No node has this name.
    Unknown {
        given: String,
        nodes: Vec<String>,
    },
    Several(Vec<String>),
}

impl NoNode {
    fn report(&self) -> ExitCode {
        match self {
            Self::None => {
                note!(
                    "error: no node runs\n  do: run a scenario with `--hold` or `--keep`, then repeat this command in a second terminal"
                );
            }
            Self::Unknown { given, nodes } => {
                note!(
                    "error: no node is named `{given}`\n  do: name one of: {}",
                    nodes.join(", ")
                );
            }
            Self::Several(nodes) => {
                note!(
                    "error: several nodes match\n  do: name one of: {}",
                    nodes.join(", ")
                );
            }
        }
        ExitCode::Usage
    }
}

/// Opens a shell in a node, or runs a command in it.
pub(crate) async fn shell(args: &ShellArgs, factor: TimeFactor) -> ExitCode {
    let nodes = match nodes(factor).await {
        Ok(nodes) => nodes,
        Err(code) => return code,
    };
    let node = match choose(&nodes, args.node.as_deref()) {
        Ok(node) => node,
        Err(error) => return error.report(),
    };
    let mut docker = Command::new("docker");
    docker.args(["exec", "--interactive"]);
    if std::io::stdin().is_terminal() {
        docker.arg("--tty");
    }
    docker.arg(&node.name);
    match args.command.as_slice() {
        [] => docker.args(SHELL),
        command => docker.args(command),
    };
    become_program(docker)
}

/// Prints the journal of a node.
pub(crate) async fn logs(args: &LogsArgs, factor: TimeFactor) -> ExitCode {
    let nodes = match nodes(factor).await {
        Ok(nodes) => nodes,
        Err(code) => return code,
    };
    let (node, unit) = match choose(&nodes, args.node.as_deref()) {
        // The only argument can be a unit.
        Err(NoNode::Unknown { .. }) if args.unit.is_none() => (choose(&nodes, None), args.node.as_deref()),
        chosen => (chosen, args.unit.as_deref()),
    };
    let node = match node {
        Ok(node) => node,
        Err(error) => return error.report(),
    };
    let mut docker = Command::new("docker");
    docker.args([
        "exec",
        &node.name,
        "journalctl",
        "--no-pager",
        "--output=short-iso",
    ]);
    if let Some(unit) = unit {
        docker.args(["--unit", unit]);
    }
    if args.follow {
        docker.args(["--follow", "--lines=all"]);
    }
    become_program(docker)
}

/// Runs kubectl with the kubeconfig of a run.
pub(crate) async fn kubectl(args: &KubectlArgs, factor: TimeFactor) -> ExitCode {
    let folder = match artifacts(args.artifacts_dir.as_deref()) {
        Ok(folder) => folder,
        Err(error) => return inspect::refuse(&error),
    };
    let nodes = match running(NODE, factor).await {
        Ok(nodes) => nodes,
        Err(code) => return code,
    };
    let named = |run: &str| args.run.as_ref().is_none_or(|named| named.as_str() == run);
    let mut runs: Vec<String> = nodes
        .into_iter()
        .map(|node| node.run)
        .filter(|run| named(run))
        .collect();
    runs.dedup();
    let file = match kubeconfig(&folder, &runs) {
        Ok(file) => file,
        Err(message) => {
            note!("error: {message}");
            return ExitCode::Usage;
        }
    };
    if on_path("kubectl").is_some() {
        let mut kubectl = Command::new("kubectl");
        kubectl
            .arg(format!("--kubeconfig={}", file.display()))
            .args(&args.arguments);
        return become_program(kubectl);
    }
    in_control_plane(&file, args, factor).await
}

/// The kubeconfig of the only run that has one. The error is a message with its remedy.
fn kubeconfig(folder: &Path, runs: &[String]) -> Result<PathBuf, String> {
    let files: Vec<PathBuf> = runs
        .iter()
        .map(|run| folder.join(run).join("kubeconfig"))
        .filter(|file| file.is_file())
        .collect();
    match files.as_slice() {
        [file] => Ok(file.clone()),
        [] => Err(format!(
            "no held or kept run has a kubeconfig in `{}`\n  do: run a scenario with `--hold` or `--keep`, and repeat this command in the same folder, or with its `--artifacts-dir`",
            folder.display()
        )),
        _ => Err(format!(
            "several runs have a cluster\n  do: add `--run` with one of: {}",
            runs.join(", ")
        )),
    }
}

/// Runs the kubectl in the container of the control plane, for a host without one.
async fn in_control_plane(file: &Path, args: &KubectlArgs, factor: TimeFactor) -> ExitCode {
    let run = file.parent().and_then(Path::file_name).unwrap_or_default();
    let planes = match running("control-plane", factor).await {
        Ok(planes) => planes,
        Err(code) => return code,
    };
    let Some(plane) = planes.iter().find(|plane| run == plane.run.as_str()) else {
        note!(
            "error: no `kubectl` is on PATH\n  do: install kubectl, or use another client with `{}`",
            file.display()
        );
        return ExitCode::Host;
    };
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            process::report_error(&format!("could not read `{}`", file.display()), &error, None);
            return ExitCode::Environment;
        }
    };
    let mut docker = Command::new("docker");
    docker
        .env("NODEJOIN_KUBECONFIG_TEXT", text)
        .args([
            "exec",
            "--interactive",
            "--env",
            "NODEJOIN_KUBECONFIG_TEXT",
            &plane.name,
        ])
        .args(["/bin/sh", "-c", KUBECTL, "kubectl"])
        .args(&args.arguments);
    become_program(docker)
}

/// The nodes that can be entered: those of held and kept runs of this folder if there are any, else all.
async fn nodes(factor: TimeFactor) -> Result<Vec<LabelledContainer>, ExitCode> {
    let folder = artifacts(None).map_err(|error| inspect::refuse(&error))?;
    Ok(of_folder(running(NODE, factor).await?, &folder))
}

/// The nodes whose run has a kubeconfig in the folder; all nodes if there is none.
fn of_folder(all: Vec<LabelledContainer>, folder: &Path) -> Vec<LabelledContainer> {
    let is_here = |node: &&LabelledContainer| folder.join(&node.run).join("kubeconfig").is_file();
    let here: Vec<LabelledContainer> = all.iter().filter(is_here).cloned().collect();
    if here.is_empty() { all } else { here }
}

/// The folder for evidence, as `nodejoin run` resolves it.
fn artifacts(given: Option<&Path>) -> Result<PathBuf, ScenarioError> {
    let file = inspect::settings_file()?;
    let here = process::current_dir();
    let variable = std::env::var_os(env::ARTIFACTS.name).map(PathBuf::from);
    let folder = given.map(Path::to_owned).or(variable).or(file.artifacts_dir);
    Ok(folder.map_or_else(|| default_folder(&here), |folder| here.join(folder)))
}

/// The running containers of a role.
async fn running(role: &str, factor: TimeFactor) -> Result<Vec<LabelledContainer>, ExitCode> {
    let engine = process::engine(factor).await?;
    let mut found = containers_of_role(&engine, role).await.map_err(|error| {
        process::report_error("could not list the containers of runs", &error, error.hint());
        ExitCode::Environment
    })?;
    found.retain(|container| container.is_running);
    Ok(found)
}

/// The only node, or the one that the name means: its whole name or id, or the only one that contains it.
fn choose<'a>(nodes: &'a [LabelledContainer], given: Option<&str>) -> Result<&'a LabelledContainer, NoNode> {
    let names = |nodes: &[&LabelledContainer]| nodes.iter().map(|node| node.name.clone()).collect();
    let all: Vec<_> = nodes.iter().collect();
    let matching: Vec<_> = match given {
        None => all.clone(),
        Some(given) => match nodes.iter().find(|node| node.name == given) {
            Some(node) => vec![node],
            None => {
                let is_meant =
                    |node: &&LabelledContainer| node.name.contains(given) || node.id.starts_with(given);
                nodes.iter().filter(is_meant).collect()
            }
        },
    };
    match (matching.as_slice(), given) {
        (_, _) if nodes.is_empty() => Err(NoNode::None),
        ([node], _) => Ok(node),
        ([], given) => Err(NoNode::Unknown {
            given: given.unwrap_or_default().to_owned(),
            nodes: names(&all),
        }),
        (several, _) => Err(NoNode::Several(names(several))),
    }
}

/// Replaces this process. Returns only when the program does not start.
fn become_program(mut command: Command) -> ExitCode {
    let error = command.exec();
    let program = command.get_program().to_string_lossy().into_owned();
    let hint = format!("install the command `{program}`");
    process::report_error(&format!("could not start `{program}`"), &error, Some(hint));
    ExitCode::Host
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str) -> LabelledContainer {
        LabelledContainer {
            run: "aaaaaaaaaa".to_owned(),
            name: name.to_owned(),
            id: format!("0{name}"),
            is_running: true,
        }
    }

    #[test]
    fn a_node_is_chosen_by_its_name_a_part_of_it_or_as_the_only_one() {
        let nodes = [
            node("nodejoin-a-i-0123-1"),
            node("nodejoin-a-i-0123-10"),
            node("nodejoin-b-i-4567-2"),
        ];
        let name = |given: Option<&str>| choose(&nodes, given).map(|node| node.name.as_str());
        assert_eq!(name(Some("nodejoin-a-i-0123-1")), Ok("nodejoin-a-i-0123-1"));
        assert_eq!(name(Some("4567")), Ok("nodejoin-b-i-4567-2"));
        assert_eq!(name(Some("0nodejoin-b")), Ok("nodejoin-b-i-4567-2"));
        assert!(matches!(name(Some("0123")), Err(NoNode::Several(names)) if names.len() == 2));
        assert!(matches!(name(Some("kubelet")), Err(NoNode::Unknown { nodes, .. }) if nodes.len() == 3));
        assert!(matches!(name(None), Err(NoNode::Several(_))));
        assert_eq!(choose(&nodes[..1], None).unwrap().name, nodes[0].name);
        assert_eq!(choose(&[], Some("x")), Err(NoNode::None));
    }

    #[test]
    fn nodes_of_this_folder_come_before_those_of_other_runs() {
        let folder = tempfile::tempdir().unwrap();
        let all = vec![
            node("nodejoin-a"),
            LabelledContainer {
                run: "bbbbbbbbbb".to_owned(),
                ..node("nodejoin-b")
            },
        ];
        assert_eq!(of_folder(all.clone(), folder.path()), all);
        std::fs::create_dir(folder.path().join("bbbbbbbbbb")).unwrap();
        std::fs::write(folder.path().join("bbbbbbbbbb/kubeconfig"), "").unwrap();
        assert_eq!(of_folder(all.clone(), folder.path()), all[1..]);
    }

    #[test]
    fn the_kubeconfig_is_that_of_the_only_run_with_one() {
        let folder = tempfile::tempdir().unwrap();
        let runs = ["aaaaaaaaaa", "bbbbbbbbbb"].map(str::to_owned);
        let add = |run: &str| {
            std::fs::create_dir(folder.path().join(run)).unwrap();
            std::fs::write(folder.path().join(run).join("kubeconfig"), "").unwrap();
        };
        let error = kubeconfig(folder.path(), &runs).unwrap_err();
        assert!(error.contains("`--hold`"), "{error}");
        add(&runs[0]);
        assert_eq!(
            kubeconfig(folder.path(), &runs),
            Ok(folder.path().join("aaaaaaaaaa/kubeconfig"))
        );
        add(&runs[1]);
        let error = kubeconfig(folder.path(), &runs).unwrap_err();
        assert!(error.contains("aaaaaaaaaa, bbbbbbbbbb"), "{error}");
    }
}
