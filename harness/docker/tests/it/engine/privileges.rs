//! The privileges of containers, determined with a container engine.

use bollard::models::{ContainerCreateBody, HostConfig};
use bollard::query_parameters::LogsOptionsBuilder;
use futures::StreamExt as _;
use nodejoin_docker::Engine;

use super::support::{engine, in_own_process, shell_image};

#[tokio::test(flavor = "multi_thread")]
async fn the_privileges_are_correct_and_cached() {
    let test = "engine::privileges::the_privileges_are_correct_and_cached";
    in_own_process(test, check_privileges()).await;
}

async fn check_privileges() {
    let (name, tag) = shell_image(&engine().await).await;
    let image = format!("{name}:{tag}");
    let cache = tempfile::tempdir().unwrap();
    let engine = Engine::connect_with_cache(cache.path()).await.unwrap();
    let allowed = engine.privileges(&image, "cat").await.unwrap();
    // A container with these privileges starts, and has CAP_SYS_RESOURCE unless that is reported as lacking.
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
    let created = engine.docker().create_container(none, body).await.unwrap();
    let none = None::<bollard::query_parameters::StartContainerOptions>;
    engine.docker().start_container(&created.id, none).await.unwrap();
    let none = None::<bollard::query_parameters::WaitContainerOptions>;
    let _ended = engine.docker().wait_container(&created.id, none).next().await;
    let options = LogsOptionsBuilder::new().stdout(true).build();
    let pieces = engine.docker().logs(&created.id, Some(options));
    let status: String = pieces.map(|piece| piece.unwrap().to_string()).collect().await;
    engine
        .docker()
        .remove_container(
            &created.id,
            None::<bollard::query_parameters::RemoveContainerOptions>,
        )
        .await
        .unwrap();
    let set = status
        .lines()
        .find_map(|line| line.strip_prefix("CapBnd:"))
        .unwrap();
    let set = u64::from_str_radix(set.trim(), 16).unwrap();
    // CAP_SYS_RESOURCE by its number in the kernel; containers need it to raise limits.
    let has_resource = set & (1 << 24) != 0;
    assert_eq!(
        has_resource,
        !allowed.lacking.contains(&"SYS_RESOURCE".to_owned()),
        "{status}"
    );

    let again = Engine::connect_with_cache(cache.path()).await.unwrap();
    assert_eq!(
        again.privileges("no-such-image", "cat").await.unwrap(),
        allowed,
        "no container of a missing image can start, so the result is cached"
    );
}
