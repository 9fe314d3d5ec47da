//! Sweeps with a container engine.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use bollard::models::{ContainerCreateBody, HostConfig};
use bollard::query_parameters::{CreateContainerOptions, StartContainerOptions};
use nodejoin_docker::{Engine, ImageSettings, Run, SweepOptions, new_run_id, sweep};
use testcontainers::{GenericImage, ImageExt as _};

use super::support::{CHILD, engine, objects, shell_image, sweep_lock};

/// Full name of the test that runs in the killed process.
const KILLED: &str = "engine::sweep::the_process_that_is_killed";

/// Number of sweeps that race with starts: a start must fall into the few milliseconds between the removal of the
/// folder and that of the container.
const SWEPT_WHILE_STARTED: usize = 5;

/// A run with a container, a network and a volume.
async fn furnished() -> Run {
    let engine = engine().await;
    let (name, tag) = shell_image(&engine).await;
    let run = Run::begin(engine, new_run_id());
    let network = run.network("isolated", true).await.unwrap();
    let mount = run.volume_mount("/data");
    let request = GenericImage::new(name, tag)
        .with_entrypoint("/bin/sleep")
        .with_cmd(["600"]);
    let request = request.with_host_config_modifier(move |host| host.mounts = Some(vec![mount.clone()]));
    run.start("node", "swept", &network, request).await.unwrap();
    run
}

/// Runs in the killed process only; elsewhere it does nothing.
#[tokio::test(flavor = "multi_thread")]
async fn the_process_that_is_killed() {
    if !std::env::var(CHILD).is_ok_and(|child| child == KILLED) {
        return;
    }
    let run = furnished().await;
    println!("\nrun={}", run.id());
    std::future::pending::<()>().await;
}

/// Starts a process that creates a run, and kills it with SIGKILL when the objects of the run exist.
fn killed_run() -> String {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([KILLED, "--exact", "--nocapture"])
        .env(CHILD, KILLED)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let id = lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("run=").map(str::to_owned));
    child.kill().unwrap();
    child.wait().unwrap();
    id.expect("the process prints the id of its run")
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_a_killed_run_are_removed_and_those_of_a_live_run_stay() {
    let engine = engine().await;
    let _alone = tokio::task::spawn_blocking(sweep_lock).await.unwrap();
    let dead = tokio::task::spawn_blocking(killed_run).await.unwrap();
    let live = furnished().await;
    assert_eq!(
        objects(&engine, &dead).await.len(),
        3,
        "SIGKILL leaves a container, a network and a volume"
    );

    let dry = sweep(&engine, true).await.unwrap();
    assert_eq!(
        dry.removed
            .iter()
            .filter(|object| object.ends_with(&dead))
            .count(),
        3,
        "{dry:?}"
    );
    assert_eq!(
        objects(&engine, &dead).await.len(),
        3,
        "a dry run removes nothing"
    );

    let swept = sweep(&engine, false).await.unwrap();
    assert!(swept.live >= 3, "{swept:?}");
    assert!(
        !swept
            .removed
            .iter()
            .any(|object| object.ends_with(live.id().as_str())),
        "{swept:?}"
    );
    assert_eq!(objects(&engine, &dead).await, Vec::<String>::new());
    assert_eq!(objects(&engine, live.id().as_str()).await.len(), 3);

    assert!(live.tear_down().await.is_clean());
    let again = SweepOptions {
        dry_run: true,
        ..SweepOptions::default()
    }
    .run(&engine)
    .await
    .unwrap();
    assert!(
        !again.removed.iter().any(|object| object.ends_with(&dead)),
        "{again:?}"
    );
}

/// A container of a dead process with a folder of this machine mounted; it ends immediately when it is started.
async fn with_a_folder(engine: &Engine, folder: &std::path::Path) -> String {
    let (name, tag) = shell_image(engine).await;
    let run = Run::begin(engine.clone(), new_run_id());
    let mut labels = run.labels("node");
    labels.insert("nodejoin.pid-start".to_owned(), "1".to_owned());
    labels.extend([run.folder_label(folder)]);
    let body = ContainerCreateBody {
        image: Some(format!("{name}:{tag}")),
        entrypoint: Some(vec!["/bin/true".to_owned()]),
        labels: Some(labels),
        host_config: Some(HostConfig {
            binds: Some(vec![format!("{}:/wiring", folder.join("wiring").display())]),
            ..HostConfig::default()
        }),
        ..ContainerCreateBody::default()
    };
    let created = engine
        .docker()
        .create_container(None::<CreateContainerOptions>, body);
    created.await.unwrap().id
}

/// Starts the container repeatedly until it is removed.
async fn keep_starting(engine: Engine, container: String) {
    let docker = engine.docker();
    while docker.inspect_container(&container, None).await.is_ok() {
        let _ = docker
            .start_container(&container, None::<StartContainerOptions>)
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_during_a_sweep_does_not_restore_the_folder() {
    let engine = engine().await;
    let _alone = tokio::task::spawn_blocking(sweep_lock).await.unwrap();
    let cache = ImageSettings::from_lookup(|name| std::env::var(name).ok()).cache;
    for _ in 0..SWEPT_WHILE_STARTED {
        let folder = cache.join(format!("swept-{}", new_run_id()));
        let container = with_a_folder(&engine, &folder).await;
        let starts: Vec<_> = (0..2)
            .map(|_| tokio::spawn(keep_starting(engine.clone(), container.clone())))
            .collect();
        sweep(&engine, false).await.unwrap();
        for start in starts {
            start.await.unwrap();
        }
        assert!(!folder.exists(), "{}", folder.display());
    }
}
