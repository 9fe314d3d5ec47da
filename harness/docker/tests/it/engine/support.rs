//! Helpers of the tests with a container engine.

use std::collections::HashMap;
use std::sync::Arc;

use bollard::query_parameters::{
    BuildImageOptionsBuilder, ListContainersOptionsBuilder, ListNetworksOptionsBuilder,
    ListVolumesOptionsBuilder,
};
use bollard::{Docker, body_full};
use futures::StreamExt as _;
use nodejoin_docker::{Engine, ImageSettings, Images};

/// Set in child processes of tests, to the full name of the test that they run.
pub const CHILD: &str = "NODEJOIN_TEST_CHILD";

/// Connects, or fails with the hint: a test that passes without an engine proves nothing.
///
/// What the crate logs is part of the output of a test that fails.
pub async fn engine() -> Engine {
    let log = tracing_subscriber::fmt().with_env_filter("nodejoin_docker=debug");
    let _ = log.with_test_writer().try_init();
    match Engine::connect().await {
        Ok(engine) => engine,
        Err(error) => panic!("{error}; {}", error.hint().unwrap_or_default()),
    }
}

/// The base image, which has a shell and apt, as name and tag. It is built if it is missing, so that the choice does
/// not depend on the images of the engine.
pub async fn shell_image(engine: &Engine) -> (String, String) {
    let settings = ImageSettings::from_lookup(|name| std::env::var(name).ok());
    let base = Images::new(engine.clone(), settings, Arc::new(|_| ()))
        .base()
        .await;
    let base = base.unwrap_or_else(|error| panic!("{error}; {}", error.hint().unwrap_or_default()));
    let (name, tag) = base.rsplit_once(':').unwrap();
    (name.to_owned(), tag.to_owned())
}

/// Runs a test in its own process, and checks that the process leaves no objects: other tests of this binary create
/// objects with the pid of this process. `test` is the full name of the calling test.
pub async fn in_own_process(test: &str, body: impl Future<Output = ()>) {
    if std::env::var(CHILD).is_ok_and(|child| child == test) {
        return body.await;
    }
    let mut child = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(CHILD, test)
        .spawn()
        .unwrap();
    let pid = child.id().unwrap();
    assert!(
        child.wait().await.unwrap().success(),
        "`{test}` failed in its own process"
    );
    let left = objects_with(&engine().await, &format!("nodejoin.pid={pid}")).await;
    assert_eq!(left, Vec::<String>::new());
}

/// Excludes sweeps of other tests and test processes, because a sweep affects the whole engine.
pub fn sweep_lock() -> std::fs::File {
    let file = std::fs::File::create(concat!(env!("CARGO_TARGET_TMPDIR"), "/sweep.lock")).unwrap();
    file.lock().unwrap();
    file
}

/// Containers, networks and volumes with a run's label.
pub async fn objects(engine: &Engine, run: &str) -> Vec<String> {
    objects_with(engine, &format!("nodejoin.run={run}")).await
}

async fn objects_with(engine: &Engine, label: &str) -> Vec<String> {
    let filter = HashMap::from([("label", vec![label.to_owned()])]);
    let docker = engine.docker();
    let containers = ListContainersOptionsBuilder::new()
        .all(true)
        .filters(&filter)
        .build();
    let containers = docker.list_containers(Some(containers)).await.unwrap();
    let networks = ListNetworksOptionsBuilder::new().filters(&filter).build();
    let networks = docker.list_networks(Some(networks)).await.unwrap();
    let volumes = ListVolumesOptionsBuilder::new().filters(&filter).build();
    let volumes = docker
        .list_volumes(Some(volumes))
        .await
        .unwrap()
        .volumes
        .unwrap_or_default();
    let containers = containers
        .into_iter()
        .map(|it| format!("container {}", it.names.unwrap_or_default().concat()));
    let networks = networks
        .into_iter()
        .map(|it| format!("network {}", it.name.unwrap_or_default()));
    let volumes = volumes.into_iter().map(|it| format!("volume {}", it.name));
    containers.chain(networks).chain(volumes).collect()
}

/// Builds an image with one file and no programs.
pub async fn tiny(docker: &Docker, name: &str, labels: &[(&str, &str)]) {
    build(docker, name, "FROM scratch\nCOPY Dockerfile /\n", labels).await;
}

/// Builds an image from a Dockerfile.
pub async fn build(docker: &Docker, name: &str, dockerfile: &str, labels: &[(&str, &str)]) {
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(dockerfile.len() as u64);
    header.set_mode(0o644);
    archive
        .append_data(&mut header, "Dockerfile", dockerfile.as_bytes())
        .unwrap();
    let context = archive.into_inner().unwrap();
    let labels: HashMap<_, _> = labels
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let options = BuildImageOptionsBuilder::new()
        .dockerfile("Dockerfile")
        .t(name)
        .labels(&labels)
        .rm(true)
        .build();
    let mut output = docker.build_image(options, None, Some(body_full(context.into())));
    while let Some(piece) = output.next().await {
        piece.unwrap();
    }
}
