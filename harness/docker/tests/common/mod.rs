//! What the tests on a real engine share.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::collections::HashMap;

use bollard::query_parameters::{
    BuildImageOptionsBuilder, ListContainersOptionsBuilder, ListImagesOptionsBuilder,
    ListNetworksOptionsBuilder, ListVolumesOptionsBuilder,
};
use bollard::{Docker, body_full};
use futures::StreamExt as _;
use nodejoin_core::plan::ids::RunId;
use nodejoin_docker::Engine;

/// Connects, or says what a person must do: a test that passes without an engine proves nothing.
pub async fn engine() -> Engine {
    match Engine::connect().await {
        Ok(engine) => engine,
        Err(error) => panic!("{error}; {}", error.hint().unwrap_or_default()),
    }
}

/// A run id that no other test has.
pub fn run_id() -> RunId {
    use std::hash::{BuildHasher as _, RandomState};
    let bits = RandomState::new().hash_one(std::process::id());
    format!("t{bits:015x}")[..16].parse().unwrap()
}

/// An image with a shell that the engine has: the base image of ours, or anything of Debian.
pub async fn shell_image(engine: &Engine) -> (String, String) {
    let all = engine
        .docker()
        .list_images(Some(ListImagesOptionsBuilder::new().build()))
        .await
        .unwrap();
    let tags: Vec<_> = all.into_iter().flat_map(|image| image.repo_tags).collect();
    let wanted = ["nodejoin/base:", "debian:", "nodejoin/"];
    let found = wanted
        .iter()
        .find_map(|start| tags.iter().find(|tag| tag.starts_with(start)));
    let found = found.expect("an image with a shell: `nodejoin images build` makes one");
    let (name, tag) = found.rsplit_once(':').unwrap();
    (name.to_owned(), tag.to_owned())
}

/// Keeps the sweeps of other tests waiting, those of other processes too: a sweep is of the whole engine.
pub fn alone() -> std::fs::File {
    let file = std::fs::File::create(concat!(env!("CARGO_TARGET_TMPDIR"), "/sweep.lock")).unwrap();
    file.lock().unwrap();
    file
}

/// Containers, networks and volumes with a run's label.
pub async fn objects(engine: &Engine, run: &str) -> Vec<String> {
    objects_with(engine, &format!("nodejoin.run={run}")).await
}

/// The same of everything that this process made.
pub async fn objects_of_this_process(engine: &Engine) -> Vec<String> {
    objects_with(engine, &format!("nodejoin.pid={}", std::process::id())).await
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

/// An image of one file and nothing that runs.
pub async fn tiny(docker: &Docker, name: &str, labels: &[(&str, &str)]) {
    build(docker, name, "FROM scratch\nCOPY Dockerfile /\n", labels).await;
}

/// An image of this Dockerfile.
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
