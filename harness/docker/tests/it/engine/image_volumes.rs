//! Volumes with folders of an image, on an engine whose storage driver runs in user space.

use std::collections::HashMap;

use bollard::models::{ContainerCreateBody, HostConfig, VolumeCreateRequest};
use bollard::query_parameters::{
    CreateContainerOptions, ListVolumesOptionsBuilder, RemoveContainerOptions, RemoveImageOptions,
    RemoveVolumeOptions, StartContainerOptions, WaitContainerOptions,
};
use futures::StreamExt as _;
use nodejoin_docker::Engine;

use super::support::{build, engine, shell_image, sweep_lock};

const IMAGE: &str = "nodejoin-test-volumes:1";
const OTHER: &str = "nodejoin-test-volumes:2";

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
    let _lock = sweep_lock();
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
    remove_image(engine, OTHER).await;
    for volume in volumes(engine, OTHER).await {
        let removed = engine
            .docker()
            .remove_volume(&volume, None::<RemoveVolumeOptions>);
        removed.await.unwrap();
    }
}
