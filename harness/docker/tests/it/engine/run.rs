//! Runs with a container engine: objects exist, have labels, and are removed however a run ends.

use std::time::Duration;

use bollard::models::NetworkConnectRequest;
use bollard::query_parameters::{InspectContainerOptions, RemoveContainerOptionsBuilder};
use futures::StreamExt as _;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_docker::{DockerError, Engine, ImageSettings, Run, new_run_id};
use testcontainers::core::WaitFor;
use testcontainers::{ContainerRequest, CopyDataSource, GenericImage, ImageExt as _};

use super::support::{engine, objects, shell_image};

async fn sleeper(engine: &Engine) -> ContainerRequest<GenericImage> {
    let (name, tag) = shell_image(engine).await;
    GenericImage::new(name, tag)
        .with_entrypoint("/bin/sh")
        .with_cmd(["-c", "echo up; exec sleep 600"])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_is_attached_to_its_network_and_all_objects_are_removed() {
    let engine = engine().await;
    let run = Run::begin(engine.clone(), new_run_id());
    let network = run.network("isolated", true).await.unwrap();
    let mount = run.volume_mount("/data");
    let request = sleeper(&engine).await.with_host_config_modifier(move |host| {
        host.mounts = Some(vec![mount.clone()]);
        host.init = Some(true);
    });
    let started = run.start("node", "node a", &network, request).await.unwrap();

    let seen = engine
        .docker()
        .inspect_container(&started.id, None::<InspectContainerOptions>)
        .await
        .unwrap();
    assert_eq!(
        seen.host_config.unwrap().init,
        Some(true),
        "the settings of the caller stay"
    );
    assert_eq!(seen.config.unwrap().labels.unwrap()["nodejoin.role"], "node");
    let octets = network.gateway.octets();
    assert_eq!(
        started.ip.octets()[..2],
        octets[..2],
        "{started:?} is attached to {network:?}"
    );
    let held = objects(&engine, run.id().as_str()).await;
    assert_eq!(held.len(), 3, "a container, a network and a volume: {held:?}");

    let done = engine
        .exec(&started.name, &["sh", "-c", "echo out; echo err >&2; exit 3"])
        .await
        .unwrap();
    assert_eq!(
        (done.code, done.stdout.as_slice(), done.stderr.as_slice()),
        (3, &b"out\n"[..], &b"err\n"[..])
    );
    let lines = engine
        .exec_lines(&started.id, &["sh", "-c", "printf 'a\\nb'"])
        .await
        .unwrap();
    let lines: Vec<_> = lines.map(|line| line.unwrap()).collect().await;
    assert_eq!(lines, ["a", "b"]);
    assert_eq!(run.logs(&started.id).await.unwrap(), "up\n");

    let done = run.tear_down().await;
    assert!(done.is_clean(), "{done:?}");
    assert_eq!(objects(&engine, run.id().as_str()).await, Vec::<String>::new());
    assert!(matches!(
        run.network("late", true).await,
        Err(DockerError::Ending { .. })
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_engine_cannot_remove_yet_is_removed_as_soon_as_it_can() {
    let engine = engine().await;
    let (run, other) = (
        Run::begin(engine.clone(), new_run_id()),
        Run::begin(engine.clone(), new_run_id()),
    );
    let network = run.network("isolated", true).await.unwrap();
    let home = other.network("isolated", true).await.unwrap();
    let guest = other
        .start("node", "guest", &home, sleeper(&engine).await)
        .await
        .unwrap();
    // The engine removes no network that has a container.
    let connect = NetworkConnectRequest {
        container: guest.id.clone(),
        ..NetworkConnectRequest::default()
    };
    engine
        .docker()
        .connect_network(&network.id, connect)
        .await
        .unwrap();
    let left = async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        other.tear_down().await
    };
    let (done, other) = tokio::join!(run.tear_down(), left);
    assert!(done.is_clean() && other.is_clean(), "{done:?} {other:?}");
    assert_eq!(objects(&engine, run.id().as_str()).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_factor_multiplies_the_startup_timeout() {
    let settings = ImageSettings::from_lookup(|name| std::env::var(name).ok());
    let slow: TimeFactor = "60".parse().unwrap();
    let engine = Engine::connect_with(&settings.cache, slow).await.unwrap();
    let run = Run::begin(engine.clone(), new_run_id());
    let network = run.network("isolated", true).await.unwrap();
    let (name, tag) = shell_image(&engine).await;
    let request = GenericImage::new(name, tag)
        .with_wait_for(WaitFor::message_on_stdout("up"))
        .with_entrypoint("/bin/sh")
        .with_cmd(["-c", "sleep 3; echo up; exec sleep 600"])
        .with_startup_timeout(Duration::from_secs(1));
    let started = run.start("node", "slow", &network, request).await;
    assert!(run.tear_down().await.is_clean());
    assert!(started.is_ok(), "{:?}", started.err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_start_reports_the_reason_and_leaves_nothing() {
    let engine = engine().await;
    let run = Run::begin(engine.clone(), new_run_id());
    let network = run.network("isolated", true).await.unwrap();

    let (name, tag) = shell_image(&engine).await;
    let unknown = GenericImage::new(name, tag)
        .with_entrypoint("/no/such/program")
        .with_cmd(["x"]);
    let error = run.start("node", "unknown", &network, unknown).await.unwrap_err();
    assert!(
        error.to_string().contains("nodejoin-"),
        "the error names the container: {error}"
    );
    assert!(
        std::error::Error::source(&error)
            .unwrap()
            .to_string()
            .contains("no such file"),
        "{error:?}"
    );

    // testcontainers creates its guard after the copies, so it leaks the container of a failed copy.
    let copies = sleeper(&engine)
        .await
        .with_copy_to("/etc/passwd/x", CopyDataSource::Data(b"x".to_vec()));
    let error = run.start("node", "copies", &network, copies).await.unwrap_err();
    assert!(matches!(error, DockerError::Start { .. }), "{error}");

    let missing = GenericImage::new("nodejoin/none", "absent").with_cmd(["true"]);
    let error = run.start("node", "absent", &network, missing).await.unwrap_err();
    assert!(
        error.to_string().contains("find image"),
        "nothing is pulled: {error}"
    );

    let held = objects(&engine, run.id().as_str()).await;
    assert_eq!(held.len(), 1, "only the network: {held:?}");
    assert!(run.tear_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_start_leaves_nothing() {
    let engine = engine().await;
    for delay in [0, 5, 30, 80, 200] {
        let run = Run::begin(engine.clone(), new_run_id());
        let network = run.network("isolated", true).await.unwrap();
        let start = run.start("node", "abandoned", &network, sleeper(&engine).await);
        let _ = tokio::time::timeout(Duration::from_millis(delay), start).await;
        let done = run.tear_down().await;
        assert!(done.is_clean(), "{done:?}");
        let held = objects(&engine, run.id().as_str()).await;
        assert_eq!(held, Vec::<String>::new(), "after {delay} ms");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_container_and_its_network_stay() {
    let engine = engine().await;
    let run = Run::begin(engine.clone(), new_run_id());
    let network = run.network("isolated", true).await.unwrap();
    let kept = run
        .start("node", "kept", &network, sleeper(&engine).await)
        .await
        .unwrap();
    run.start("node", "other", &network, sleeper(&engine).await)
        .await
        .unwrap();
    let name = run.keep(&kept.id).await.unwrap();
    assert_eq!(name, format!("{}-kept", kept.name));
    let done = run.tear_down().await;
    assert!(done.is_clean(), "{done:?}");
    let held = objects(&engine, run.id().as_str()).await;
    assert_eq!(held.len(), 2, "{held:?}");
    assert!(held[0].ends_with("-kept"), "{held:?}");
    let id = run.id().clone();
    drop(run);
    assert_eq!(
        objects(&engine, id.as_str()).await,
        held,
        "dropping the run leaves them"
    );
    let force = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
    engine
        .docker()
        .remove_container(&kept.id, Some(force))
        .await
        .unwrap();
    engine.docker().remove_network(&network.name).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_run_removes_its_objects() {
    let engine = engine().await;
    let run = Run::begin(engine.clone(), new_run_id());
    let id = run.id().clone();
    let network = run.network("isolated", true).await.unwrap();
    run.start("node", "dropped", &network, sleeper(&engine).await)
        .await
        .unwrap();
    drop(run);
    assert_eq!(objects(&engine, id.as_str()).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_single_threaded_runtime_is_enough() {
    let engine = engine().await;
    let run = Run::begin(engine.clone(), new_run_id());
    let network = run.network("open", false).await.unwrap();
    for name in ["one", "two", "three"] {
        run.start("node", name, &network, sleeper(&engine).await)
            .await
            .unwrap();
    }
    assert!(run.tear_down().await.is_clean());
    assert_eq!(objects(&engine, run.id().as_str()).await, Vec::<String>::new());
}

#[tokio::test]
async fn dropping_a_run_on_a_single_threaded_runtime_does_not_deadlock() {
    let engine = engine().await;
    let run = Run::begin(engine.clone(), new_run_id());
    let id = run.id().clone();
    let network = run.network("isolated", true).await.unwrap();
    run.start("node", "dropped", &network, sleeper(&engine).await)
        .await
        .unwrap();
    let begun = std::time::Instant::now();
    drop(run);
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    assert_eq!(objects(&engine, id.as_str()).await, Vec::<String>::new());
}
