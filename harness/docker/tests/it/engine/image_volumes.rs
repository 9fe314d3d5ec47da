//! Volumes with folders of an image, on an engine whose storage driver runs in user space.

use std::collections::HashMap;
use std::time::Duration;

use bollard::models::{ContainerCreateBody, HostConfig, VolumeCreateRequest};
use bollard::query_parameters::{
    CreateContainerOptions, CreateContainerOptionsBuilder, ListVolumesOptionsBuilder, RemoveContainerOptions,
    RemoveImageOptions, RemoveVolumeOptions, StartContainerOptions, WaitContainerOptions,
};
use futures::StreamExt as _;
use nodejoin_docker::{Engine, Run, new_run_id};

use super::support::{build, engine, shell_image, sweep_lock};

const IMAGE: &str = "nodejoin-test-volumes:1";
const OTHER: &str = "nodejoin-test-volumes:2";
const LOCKED: &str = "nodejoin-test-volumes:3";

async fn remove_image(engine: &Engine, image: &str) {
    let removed = engine
        .docker()
        .remove_image(image, None::<RemoveImageOptions>, None);
    removed.await.unwrap();
}

async fn volumes(engine: &Engine, image: &str) -> Vec<String> {
    let filters = HashMap::from([("label", vec![format!("nodejoin.folder-of={image}")])]);
    let options = ListVolumesOptionsBuilder::new().filters(&filters).build();
    let listed = engine.docker().list_volumes(Some(options)).await.unwrap();
    let mut names: Vec<_> = listed
        .volumes
        .unwrap_or_default()
        .into_iter()
        .map(|volume| volume.name)
        .collect();
    names.sort();
    names
}

/// Whether the volume has a file, by a container that mounts it elsewhere.
async fn has_file(engine: &Engine, volume: &str, path: &str) -> bool {
    let host = HostConfig {
        binds: Some(vec![format!("{volume}:/seen:ro")]),
        network_mode: Some("none".to_owned()),
        ..HostConfig::default()
    };
    let body = ContainerCreateBody {
        image: Some(IMAGE.to_owned()),
        entrypoint: Some(["test", "-e", path].map(str::to_owned).to_vec()),
        host_config: Some(host),
        ..ContainerCreateBody::default()
    };
    let docker = engine.docker();
    let created = docker
        .create_container(None::<CreateContainerOptions>, body)
        .await;
    let id = created.unwrap().id;
    docker
        .start_container(&id, None::<StartContainerOptions>)
        .await
        .unwrap();
    let ended = docker
        .wait_container(&id, None::<WaitContainerOptions>)
        .next()
        .await;
    let removed = docker.remove_container(&id, None::<RemoveContainerOptions>);
    removed.await.unwrap();
    ended.unwrap().is_ok_and(|end| end.status_code == 0)
}

#[tokio::test(flavor = "multi_thread")]
async fn volumes_are_made_once_for_all_processes_and_go_with_their_image() {
    // A sweep of another test must not remove the containers that copy.
    let _lock = tokio::task::spawn_blocking(sweep_lock).await.unwrap();
    let engines = [engine().await, engine().await];
    let engine = &engines[0];
    let driver = engine.facts().storage_driver.clone();
    let (name, tag) = shell_image(engine).await;
    let dockerfile = format!(
        "FROM {name}:{tag}\nRUN mkdir -p /etc/of && echo here > /usr/share/of-the-image && touch /etc/of/the-image\n"
    );
    build(engine.docker(), IMAGE, &dockerfile, &[]).await;
    // Each connection stands for a process: they share no memory.
    let (one, other) = tokio::join!(engines[0].image_volumes(IMAGE), engines[1].image_volumes(IMAGE));
    assert_eq!(one, other);
    if driver == "fuse-overlayfs" {
        let folders: Vec<_> = one.iter().map(|volume| volume.folder).collect();
        assert_eq!(folders, ["/usr", "/etc", "/var/log"]);
        let found = volumes(engine, IMAGE).await;
        assert_eq!(found.len(), 4, "{found:?}");
        let mark = found.iter().find(|name| name.ends_with("-complete")).unwrap();
        let [usr, etc] = [&one[0].name, &one[1].name];
        assert!(has_file(engine, usr, "/seen/share/of-the-image").await);
        assert!(has_file(engine, etc, "/seen/of/the-image").await);
        // What a process left that ended while it copied is copied again.
        for name in [usr, mark] {
            engine
                .docker()
                .remove_volume(name, None::<RemoveVolumeOptions>)
                .await
                .unwrap();
        }
        let partial = VolumeCreateRequest {
            name: Some(usr.clone()),
            ..VolumeCreateRequest::default()
        };
        engine.docker().create_volume(partial).await.unwrap();
        let third = super::support::engine().await;
        assert_eq!(third.image_volumes(IMAGE).await, one);
        assert!(has_file(engine, usr, "/seen/share/of-the-image").await);
    } else {
        eprintln!("nothing to copy: the storage driver is {driver}");
        assert!(one.is_empty(), "{one:?}");
    }
    remove_image(engine, IMAGE).await;
    // The first node of another image removes the volumes of images that are gone.
    build(
        engine.docker(),
        OTHER,
        &format!("FROM {name}:{tag}\nLABEL other=true\n"),
        &[],
    )
    .await;
    engine.image_volumes(OTHER).await;
    assert_eq!(volumes(engine, IMAGE).await, Vec::<String>::new());
    remove_with_volumes(engine, OTHER).await;
}

async fn remove_with_volumes(engine: &Engine, image: &str) {
    remove_image(engine, image).await;
    for volume in volumes(engine, image).await {
        let removed = engine
            .docker()
            .remove_volume(&volume, None::<RemoveVolumeOptions>);
        removed.await.unwrap();
    }
}

/// Creates the container that locks the volumes of an image, as a process that ended while it copied.
async fn lock_as_ended_process(engine: &Engine, image: &str) {
    let inspected = engine.docker().inspect_image(image).await.unwrap();
    let id = inspected.id.unwrap();
    let digest = id.strip_prefix("sha256:").unwrap();
    let mut labels = Run::begin(engine.clone(), new_run_id()).labels("image-volumes");
    labels.insert("nodejoin.pid-start".to_owned(), "1".to_owned());
    let body = ContainerCreateBody {
        image: Some(image.to_owned()),
        entrypoint: Some(vec!["true".to_owned()]),
        labels: Some(labels),
        ..ContainerCreateBody::default()
    };
    let name = format!("nodejoin-image-{}-lock", &digest[..12]);
    let options = CreateContainerOptionsBuilder::new().name(&name).build();
    let created = engine.docker().create_container(Some(options), body);
    created.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lock_of_a_process_that_ended_keeps_no_other_from_copying() {
    // A sweep of another test would remove the lock.
    let _lock = tokio::task::spawn_blocking(sweep_lock).await.unwrap();
    let engine = &engine().await;
    let driver = &engine.facts().storage_driver;
    if driver != "fuse-overlayfs" {
        eprintln!("skipped: nothing to copy, because the storage driver is {driver}");
        return;
    }
    let (name, tag) = shell_image(engine).await;
    build(
        engine.docker(),
        LOCKED,
        &format!("FROM {name}:{tag}\nLABEL locked=true\n"),
        &[],
    )
    .await;
    lock_as_ended_process(engine, LOCKED).await;
    // Long enough for a copy on a busy engine, and less than a process waits for another one that copies.
    let volumes = tokio::time::timeout(Duration::from_secs(300), engine.image_volumes(LOCKED)).await;
    assert_eq!(volumes.expect("waits for a process that ended").len(), 3);
    remove_with_volumes(engine, LOCKED).await;
}
