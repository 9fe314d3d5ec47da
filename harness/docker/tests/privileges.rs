//! What containers may do on a real engine, found out by trying.

mod common;

use std::time::{Duration, Instant};

use bollard::models::{ContainerCreateBody, HostConfig};
use common::{engine, objects_of_this_process, shell_image};
use nodejoin_docker::Engine;

#[tokio::test(flavor = "multi_thread")]
async fn what_was_found_out_holds_and_is_kept() {
    let (name, tag) = shell_image(&engine().await).await;
    let image = format!("{name}:{tag}");
    let cache = tempfile::tempdir().unwrap();
    let engine = Engine::connect_with_cache(cache.path()).await.unwrap();
    let allowed = engine.privileges(&image).await.unwrap();
    assert!(!allowed.privileged || allowed.dropped.is_empty(), "{allowed:?}");

    // A container that asks for just that can be made and started.
    let host = HostConfig {
        privileged: Some(allowed.privileged),
        cap_add: (!allowed.privileged).then(|| vec!["ALL".to_owned()]),
        cap_drop: Some(allowed.dropped.clone()),
        auto_remove: Some(true),
        ..HostConfig::default()
    };
    let labels = [("nodejoin.run".to_owned(), "test".to_owned())].into();
    let body = ContainerCreateBody {
        image: Some(image.clone()),
        entrypoint: Some(vec!["true".to_owned()]),
        labels: Some(labels),
        host_config: Some(host),
        ..ContainerCreateBody::default()
    };
    let none = None::<bollard::query_parameters::CreateContainerOptions>;
    let made = engine.docker().create_container(none, body).await.unwrap();
    let none = None::<bollard::query_parameters::StartContainerOptions>;
    engine.docker().start_container(&made.id, none).await.unwrap();

    let begun = Instant::now();
    let again = Engine::connect_with_cache(cache.path()).await.unwrap();
    assert_eq!(
        again.privileges("no-such-image").await.unwrap(),
        allowed,
        "it is not tried a second time"
    );
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(objects_of_this_process(&engine).await, Vec::<String>::new());
}
