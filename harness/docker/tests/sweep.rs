//! Sweeping on a real engine: a killed run's objects go, a live run's stay.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod common;

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use bollard::models::{ContainerCreateBody, HostConfig};
use bollard::query_parameters::{CreateContainerOptions, StartContainerOptions};
use common::{alone, engine, objects, run_id, shell_image};
use nodejoin_docker::{Engine, ImageSettings, Run, Sweep, sweep};
use testcontainers::{GenericImage, ImageExt as _};

/// Set in the process that is killed.
const CHILD: &str = "NODEJOIN_TEST_CHILD";

/// A run with one of everything.
async fn furnished() -> Run {
    let engine = engine().await;
    let (name, tag) = shell_image(&engine).await;
    let run = Run::begin(engine, run_id());
    let network = run.network("isolated", true).await.unwrap();
    let mount = run.volume_mount("/data");
    let request = GenericImage::new(name, tag)
        .with_entrypoint("/bin/sleep")
        .with_cmd(["600"]);
    let request = request.with_host_config_modifier(move |host| host.mounts = Some(vec![mount.clone()]));
    run.start("node", "swept", &network, request).await.unwrap();
    run
}

/// What the killed process does; in the test's own process it does nothing.
#[tokio::test(flavor = "multi_thread")]
async fn the_process_that_is_killed() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let run = furnished().await;
    println!("\nrun={}", run.id());
    std::future::pending::<()>().await;
}

/// Starts a process that makes a run, and kills it with SIGKILL once the run is furnished.
fn killed_run() -> String {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["the_process_that_is_killed", "--exact", "--nocapture"])
        .env(CHILD, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let id = lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("run=").map(str::to_owned));
    child.kill().unwrap();
    child.wait().unwrap();
    id.expect("the process makes a run")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_runs_objects_go_and_a_live_runs_stay() {
    let engine = engine().await;
    let _alone = tokio::task::spawn_blocking(alone).await.unwrap();
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
    let again = Sweep {
        dry_run: true,
        kept: false,
    }
    .run(&engine)
    .await
    .unwrap();
    assert!(
        !again.removed.iter().any(|object| object.ends_with(&dead)),
        "{again:?}"
    );
}

/// A container of a process that is gone, with a folder of this machine mounted; it ends as soon as it is started.
async fn with_a_folder(engine: &Engine, folder: &std::path::Path) -> String {
    let (name, tag) = shell_image(engine).await;
    let run = Run::begin(engine.clone(), run_id());
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
    let made = engine
        .docker()
        .create_container(None::<CreateContainerOptions>, body);
    made.await.unwrap().id
}

/// Starts the container again and again until it is gone.
async fn keep_starting(engine: Engine, container: String) {
    let docker = engine.docker();
    while docker.inspect_container(&container, None).await.is_ok() {
        let _ = docker
            .start_container(&container, None::<StartContainerOptions>)
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_is_being_started_does_not_bring_its_folder_back() {
    let engine = engine().await;
    let _alone = tokio::task::spawn_blocking(alone).await.unwrap();
    let cache = ImageSettings::from_lookup(|name| std::env::var(name).ok()).cache;
    for _ in 0..SWEPT_WHILE_STARTED {
        let folder = cache.join(format!("swept-{}", run_id()));
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

/// How often: whether a start falls between the folder's removal and the container's is a matter of milliseconds.
const SWEPT_WHILE_STARTED: usize = 5;
