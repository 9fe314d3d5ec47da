//! A run on a real engine: what it makes is there, is labelled, and is gone afterwards, however it ends.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod common;

use std::time::Duration;

use bollard::query_parameters::{InspectContainerOptions, RemoveContainerOptionsBuilder};
use common::{engine, objects, run_id, shell_image};
use futures::StreamExt as _;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_docker::{DockerError, Engine, ImageSettings, Run};
use testcontainers::core::WaitFor;
use testcontainers::{ContainerRequest, CopyDataSource, GenericImage, ImageExt as _};

async fn sleeper(engine: &Engine) -> ContainerRequest<GenericImage> {
    let (name, tag) = shell_image(engine).await;
    GenericImage::new(name, tag)
        .with_entrypoint("/bin/sh")
        .with_cmd(["-c", "echo up; exec sleep 600"])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_is_on_its_network_and_everything_goes() {
    let engine = engine().await;
    let run = Run::begin(engine.clone(), run_id());
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
        "the caller's own settings stay"
    );
    assert_eq!(seen.config.unwrap().labels.unwrap()["nodejoin.role"], "node");
    let octets = network.gateway.octets();
    assert_eq!(
        started.ip.octets()[..2],
        octets[..2],
        "{started:?} stands on {network:?}"
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
async fn a_slow_machine_is_given_longer_to_start_a_container() {
    let settings = ImageSettings::from_lookup(|name| std::env::var(name).ok());
    let slow: TimeFactor = "60".parse().unwrap();
    let engine = Engine::connect_with(&settings.cache, slow).await.unwrap();
    let run = Run::begin(engine.clone(), run_id());
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
async fn a_failed_start_says_why_and_leaves_nothing() {
    let engine = engine().await;
    let run = Run::begin(engine.clone(), run_id());
    let network = run.network("isolated", true).await.unwrap();

    let (name, tag) = shell_image(&engine).await;
    let unknown = GenericImage::new(name, tag)
        .with_entrypoint("/no/such/program")
        .with_cmd(["x"]);
    let error = run.start("node", "unknown", &network, unknown).await.unwrap_err();
    assert!(
        error.to_string().contains("nodejoin-"),
        "the container is named: {error}"
    );
    assert!(
        std::error::Error::source(&error)
            .unwrap()
            .to_string()
            .contains("no such file"),
        "{error:?}"
    );

    // testcontainers makes its guard only after the copying: a failed copy is what it leaks.
    let copies = sleeper(&engine)
        .await
        .with_copy_to("/etc/passwd/x", CopyDataSource::Data(b"x".to_vec()));
    let error = run.start("node", "copies", &network, copies).await.unwrap_err();
    assert!(matches!(error, DockerError::Start { .. }), "{error}");

    let absent = GenericImage::new("nodejoin/none", "absent").with_cmd(["true"]);
    let error = run.start("node", "absent", &network, absent).await.unwrap_err();
    assert!(
        error.to_string().contains("find image"),
        "nothing is pulled: {error}"
    );

    let held = objects(&engine, run.id().as_str()).await;
    assert_eq!(held.len(), 1, "only the network: {held:?}");
    assert!(run.tear_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abandoned_start_leaves_nothing() {
    let engine = engine().await;
    for delay in [0, 5, 30, 80, 200] {
        let run = Run::begin(engine.clone(), run_id());
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
async fn a_kept_container_stays_with_its_network() {
    let engine = engine().await;
    let run = Run::begin(engine.clone(), run_id());
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
        "the end of the run, and of the process, leaves them"
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
async fn a_run_that_is_dropped_removes_what_it_made() {
    let engine = engine().await;
    let run = Run::begin(engine.clone(), run_id());
    let id = run.id().clone();
    let network = run.network("isolated", true).await.unwrap();
    run.start("node", "dropped", &network, sleeper(&engine).await)
        .await
        .unwrap();
    drop(run);
    assert_eq!(objects(&engine, id.as_str()).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_runtime_of_one_thread_is_enough() {
    let engine = engine().await;
    let run = Run::begin(engine.clone(), run_id());
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
async fn a_dropped_run_does_not_wait_for_the_thread_that_it_blocks() {
    let engine = engine().await;
    let run = Run::begin(engine.clone(), run_id());
    let id = run.id().clone();
    let network = run.network("isolated", true).await.unwrap();
    run.start("node", "dropped", &network, sleeper(&engine).await)
        .await
        .unwrap();
    let begun = std::time::Instant::now();
    drop(run);
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    assert_eq!(objects(&engine, id.as_str()).await, Vec::<String>::new());
}
