//! What containers may do on a real engine, found out by trying.

mod common;

use std::time::{Duration, Instant};

use bollard::models::{ContainerCreateBody, HostConfig};
use bollard::query_parameters::LogsOptionsBuilder;
use common::{engine, objects_of_this_process, shell_image};
use futures::StreamExt as _;
use nodejoin_docker::Engine;

#[tokio::test(flavor = "multi_thread")]
async fn what_was_found_out_holds_and_is_kept() {
    let (name, tag) = shell_image(&engine().await).await;
    let image = format!("{name}:{tag}");
    let cache = tempfile::tempdir().unwrap();
    let engine = Engine::connect_with_cache(cache.path()).await.unwrap();
    let allowed = engine.privileges(&image).await.unwrap();
    // A container that asks for just that can be made and started, and it has what limits are raised by, unless that is said to be
    // lacking.
    let host = HostConfig {
        privileged: Some(allowed.privileged),
        cap_add: (!allowed.privileged).then(|| vec!["ALL".to_owned()]),
        cap_drop: Some(allowed.dropped.clone()),
        ..HostConfig::default()
    };
    let labels = [("nodejoin.run".to_owned(), "test".to_owned())].into();
    let body = ContainerCreateBody {
        image: Some(image.clone()),
        entrypoint: Some(vec!["cat".to_owned(), "/proc/self/status".to_owned()]),
        labels: Some(labels),
        host_config: Some(host),
        ..ContainerCreateBody::default()
    };
    let none = None::<bollard::query_parameters::CreateContainerOptions>;
    let made = engine.docker().create_container(none, body).await.unwrap();
    let none = None::<bollard::query_parameters::StartContainerOptions>;
    engine.docker().start_container(&made.id, none).await.unwrap();
    let none = None::<bollard::query_parameters::WaitContainerOptions>;
    let _ended = engine.docker().wait_container(&made.id, none).next().await;
    let options = LogsOptionsBuilder::new().stdout(true).build();
    let pieces = engine.docker().logs(&made.id, Some(options));
    let status: String = pieces.map(|piece| piece.unwrap().to_string()).collect().await;
    engine
        .docker()
        .remove_container(
            &made.id,
            None::<bollard::query_parameters::RemoveContainerOptions>,
        )
        .await
        .unwrap();
    let set = status
        .lines()
        .find_map(|line| line.strip_prefix("CapBnd:"))
        .unwrap();
    let set = u64::from_str_radix(set.trim(), 16).unwrap();
    // By its number in the kernel: what raised limits of pods need.
    let has_resource = set & (1 << 24) != 0;
    assert_eq!(
        has_resource,
        !allowed.lacking.contains(&"SYS_RESOURCE".to_owned()),
        "{status}"
    );

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
