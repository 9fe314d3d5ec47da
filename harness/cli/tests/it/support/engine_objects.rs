//! Containers, networks and volumes on the container engine.

use std::collections::HashMap;

use bollard::query_parameters::{
    ListContainersOptionsBuilder, ListNetworksOptionsBuilder, ListVolumesOptionsBuilder,
};
use nodejoin_docker::Engine;

/// Containers, networks and volumes of the engine with this label.
pub fn objects(label: &str) -> Vec<String> {
    on_engine(async |engine| {
        let filter = HashMap::from([("label", vec![label.to_owned()])]);
        let docker = engine.docker();
        let options = ListContainersOptionsBuilder::new()
            .all(true)
            .filters(&filter)
            .build();
        let containers = docker.list_containers(Some(options)).await.unwrap();
        let options = ListNetworksOptionsBuilder::new().filters(&filter).build();
        let networks = docker.list_networks(Some(options)).await.unwrap();
        let options = ListVolumesOptionsBuilder::new().filters(&filter).build();
        let volumes = docker.list_volumes(Some(options)).await.unwrap().volumes;
        let mut all: Vec<_> = containers
            .into_iter()
            .map(|it| format!("container {}", it.names.unwrap_or_default().concat()))
            .collect();
        all.extend(
            networks
                .into_iter()
                .map(|it| format!("network {}", it.name.unwrap_or_default())),
        );
        all.extend(
            volumes
                .unwrap_or_default()
                .into_iter()
                .map(|it| format!("volume {}", it.name)),
        );
        // An engine lists volumes in random order.
        all.sort();
        all
    })
}

/// Objects of a run on the engine.
pub fn of_run(run: &str) -> Vec<String> {
    objects(&format!("nodejoin.run={run}"))
}

/// Counts the containers among objects.
pub fn containers(objects: &[String]) -> usize {
    objects
        .iter()
        .filter(|object| object.starts_with("container"))
        .count()
}

/// Runs `query` on the engine. Panics without one: a test that passes without an engine proves nothing.
pub fn on_engine<T>(query: impl AsyncFnOnce(&Engine) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        match Engine::connect().await {
            Ok(engine) => query(&engine).await,
            Err(error) => panic!("{error}; {}", error.hint().unwrap_or_default()),
        }
    })
}
