//! Sweeping on a real engine: a killed run's objects go, a live run's stay.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod common;

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use common::{alone, engine, objects, run_id, shell_image};
use nodejoin_docker::{Run, Sweep, sweep};
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
