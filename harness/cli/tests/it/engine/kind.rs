//! The control plane `kind`: missing programs are reported, and a run leaves nothing behind, however it ends.

use std::path::Path;
use std::process::Output;

use crate::support::engine_objects::{containers, of_run, on_engine};
use crate::support::running_command::RunningCommand;
use crate::support::{END, REGISTERS, both, exclusive_sweep, folder, nodejoin, sweep, wait_for};
use bollard::query_parameters::KillContainerOptions;
use nodejoin_core::observation::phase::Phase;
use tempfile::TempDir;

/// Timeout of kind's container: kind sends many requests to the engine before.
const CONTAINER: std::time::Duration = std::time::Duration::from_secs(120);

/// Builds the image of kind's node, once and without a timeout: the timeouts here are for kind.
fn build_image_once() {
    static MADE: std::sync::OnceLock<()> = std::sync::OnceLock::new();
    MADE.get_or_init(|| crate::support::build_images("kind"));
}

/// Runs a scenario on kind with these variables.
fn on_kind(variables: &[(&str, &str)]) -> Output {
    let folder = folder(&[("joins.yaml", REGISTERS)]);
    let mut command = nodejoin(folder.path(), &["run", ".", "--control-plane", "kind"]);
    command.envs(variables.iter().copied()).output().unwrap()
}

/// A folder for the start of PATH, with a `kind` that prints this version.
fn kind_with_version(version: &str) -> TempDir {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = TempDir::new().unwrap();
    let program = folder.path().join("kind");
    std::fs::write(&program, format!("#!/bin/sh\necho {version}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

#[test]
fn without_kind_and_a_way_to_download_it_the_error_explains_the_installation() {
    crate::support::build_images_once();
    // PATH has only docker: no kind, and no apt to download it with; the cache is empty.
    let (path, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let docker = nodejoin_docker::on_path("docker").unwrap();
    std::os::unix::fs::symlink(docker, path.path().join("docker")).unwrap();
    let output = on_kind(&[
        ("PATH", path.path().to_str().unwrap()),
        ("NODEJOIN_CACHE", cache.path().to_str().unwrap()),
    ]);
    let text = both(&output);
    assert_eq!(output.status.code(), Some(4), "{text}");
    assert!(
        text.contains("could not use the program `kind`: it is not on PATH"),
        "{text}"
    );
    assert!(text.contains("no apt-get to download it"), "{text}");
    assert!(text.contains("install kind (https://kind.sigs.k8s.io/"), "{text}");
}

#[test]
fn the_image_of_its_node_is_built_when_the_settings_name_kind() {
    build_image_once();
    let folder = folder(&[("nodejoin.yaml", "control_plane: kind\n")]);
    for (variable, image) in [("", "kind-node:"), ("local", "control-plane:")] {
        let mut command = nodejoin(folder.path(), &["images", "build"]);
        if !variable.is_empty() {
            command.env("NODEJOIN_CONTROL_PLANE", variable);
        }
        let output = command.output().unwrap();
        let text = both(&output);
        assert_eq!(output.status.code(), Some(0), "{text}");
        let images: Vec<_> = text
            .lines()
            .filter(|line| line.contains("(Kubernetes "))
            .collect();
        assert!(images.len() == 2 && images[1].contains(image), "{text}");
    }
}

#[test]
fn a_kind_that_is_too_old_is_refused_by_its_version() {
    let old = kind_with_version("kind v0.9.0 go1.15.2 linux/amd64");
    let path = format!("{}:{}", old.path().display(), std::env::var("PATH").unwrap());
    let output = on_kind(&[("PATH", &path)]);
    let text = both(&output);
    assert_eq!(output.status.code(), Some(4), "{text}");
    assert!(
        text.contains("has version 0.9, but nodejoin needs 0.20 or later"),
        "{text}"
    );
}

/// A run on kind whose node container has started: kind is still creating the cluster.
fn while_kind_works(folder: &Path) -> RunningCommand {
    build_image_once();
    let run = RunningCommand::start(folder, &["--control-plane", "kind"]);
    wait_for("the container of kind's node", CONTAINER, || {
        containers(&of_run(&run.id)) > 0
    });
    run
}

#[test]
fn an_interrupt_while_kind_creates_its_cluster_leaves_nothing() {
    let folder = folder(&[("joins.yaml", REGISTERS)]);
    let run = while_kind_works(folder.path());
    let id = run.id.clone();
    run.signal("INT");
    let ended = run.end(END);
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert_eq!(of_run(&id), Vec::<String>::new(), "{}", ended.stderr);
    assert_eq!(files_of(&id), Vec::<String>::new());
}

#[test]
fn a_killed_run_is_swept_with_its_cluster_and_other_clusters_remain() {
    let folder = folder(&[("joins.yaml", REGISTERS)]);
    let theirs = Theirs::start();
    let run = while_kind_works(folder.path());
    let id = run.id.clone();
    let _alone = exclusive_sweep();
    assert!(is_at_work(&id), "kind has ended before it could be left alone");
    run.signal("KILL");
    assert_eq!(run.end(END).code, None);
    assert!(
        !files_of(&id).is_empty(),
        "the cluster has files as long as it is there"
    );
    wait_for("the end of kind, which the killed run had started", END, || {
        !is_at_work(&id)
    });
    // The engine may still be creating objects that kind requested.
    wait_for("a sweep that leaves nothing", END, || {
        sweep(&[]);
        of_run(&id).is_empty()
    });
    assert_eq!(files_of(&id), Vec::<String>::new());
    theirs.is_untouched();
}

#[test]
fn a_cluster_that_dies_during_a_join_is_an_error_of_the_harness() {
    build_image_once();
    let folder = folder(&[("joins.yaml", REGISTERS)]);
    let mut run = RunningCommand::start(folder.path(), &["--control-plane", "kind"]);
    run.until_phase(Phase::Booted);
    let id = run.id.clone();
    let node = of_run(&id)
        .into_iter()
        .find(|it| it.ends_with("-control-plane"))
        .unwrap();
    let node = node.trim_start_matches("container /").to_owned();
    on_engine(async |engine| {
        let docker = engine.docker();
        docker
            .kill_container(&node, None::<KillContainerOptions>)
            .await
            .unwrap();
    });
    let ended = run.end(END * 2);
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    let events = format!("{:?}", ended.events);
    assert!(
        events.contains("the control plane's container ended while nodes joined"),
        "{events}"
    );
    assert_eq!(of_run(&id), Vec::<String>::new());
}

/// Whether kind is creating a cluster for this run.
fn is_at_work(run: &str) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    let mut lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.any(|line| line.contains("create cluster") && line.contains(run))
}

/// The files of a run's clusters in the cache folder.
fn files_of(run: &str) -> Vec<String> {
    let settings = nodejoin_docker::ImageSettings::from_lookup(|name| std::env::var(name).ok());
    let entries = std::fs::read_dir(settings.cache.join("kind"))
        .into_iter()
        .flatten()
        .flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names
        .filter(|name| name.contains(run) && !name.ends_with(".log"))
        .collect()
}

/// Stands for another cluster of this host: it has kind's labels and none of the harness.
struct Theirs {
    container: String,
}

impl Theirs {
    fn start() -> Self {
        let container = format!("kind-{}-control-plane", std::process::id());
        let image = image_with_a_shell();
        let label = format!("io.x-k8s.kind.cluster=kind-{}", std::process::id());
        docker(&[
            "run",
            "--detach",
            "--name",
            &container,
            "--label",
            &label,
            "--network",
            "none",
            &image,
            "sleep",
            "600",
        ]);
        Self { container }
    }

    fn is_untouched(&self) {
        assert_eq!(
            docker(&["inspect", "--format", "{{.State.Running}}", &self.container]),
            "true"
        );
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        docker(&["rm", "--force", "--volumes", &self.container]);
    }
}

fn image_with_a_shell() -> String {
    let all = docker(&["images", "--format", "{{.Repository}}:{{.Tag}}", "nodejoin/base"]);
    all.lines()
        .next()
        .expect("`nodejoin images build` makes one")
        .to_owned()
}

fn docker(arguments: &[&str]) -> String {
    let output = std::process::Command::new("docker")
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", both(&output));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
