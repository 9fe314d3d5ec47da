//! Builds with a container engine: a silent registry, a base image without apt, concurrent builds, cancelled builds.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bollard::query_parameters::{
    ListContainersOptionsBuilder, ListVolumesOptionsBuilder, RemoveImageOptions, TagImageOptionsBuilder,
};
use nodejoin_docker::{DockerError, Engine, ImageEvent, ImageSettings, Images, new_run_id, sweep};
use tokio::net::TcpListener;

use super::support::{engine, shell_image, tiny};

/// Timeout of the first container of a build.
const FIRST_STEP: Duration = Duration::from_secs(120);

type ImageEvents = Arc<Mutex<Vec<ImageEvent>>>;

fn images(engine: &Engine, cache: &Path, base: &str) -> (Images, ImageEvents) {
    let events = ImageEvents::default();
    let sink = events.clone();
    let settings = ImageSettings {
        base: base.to_owned(),
        registry_timeout: Duration::from_secs(2),
        connect_timeout: Duration::from_millis(500),
        release_url: "http://127.0.0.1:9".to_owned(),
        ..ImageSettings::with_cache(cache)
    };
    (
        Images::new(
            engine.clone(),
            settings,
            Arc::new(move |event| sink.lock().unwrap().push(event)),
        ),
        events,
    )
}

async fn remove(engine: &Engine, image: &str) {
    let _ = engine
        .docker()
        .remove_image(image, None::<RemoveImageOptions>, None)
        .await;
}

/// A unique name for a base image.
fn own_base() -> String {
    format!("nodejoin-test-base:{}", new_run_id())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_registry_times_out() {
    let (engine, cache) = (engine().await, tempfile::tempdir().unwrap());
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("{}/debian:none", silent.local_addr().unwrap());
    let error = images(&engine, cache.path(), &base).0.base().await.unwrap_err();
    assert!(error.to_string().contains("did not respond for 2 s"), "{error}");
    assert!(error.hint().unwrap().contains("mmdebstrap"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_error_of_a_failed_build_has_the_log_and_its_last_lines() {
    let (engine, cache, base) = (engine().await, tempfile::tempdir().unwrap(), own_base());
    tiny(engine.docker(), &base, &[("nodejoin-test", &base)]).await;
    let (images, events) = images(&engine, cache.path(), &base);
    let error = images.control_plane().await.unwrap_err();
    let DockerError::Build { log, lines, .. } = &error else {
        panic!("{error}")
    };
    assert!(
        std::fs::read_to_string(log).unwrap().contains("Step 4/"),
        "all output is in `{}`",
        log.display()
    );
    assert!(lines.contains("/bin/sh"), "the reason is in the error: {lines}");
    assert!(
        events
            .lock()
            .unwrap()
            .iter()
            .any(|event| matches!(event, ImageEvent::Step { .. }))
    );
    remove(&engine, &images.base().await.unwrap()).await;
    remove(&engine, &base).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_builds_of_an_image_run_once() {
    let (engine, cache, base) = (engine().await, tempfile::tempdir().unwrap(), own_base());
    tiny(engine.docker(), &base, &[("nodejoin-test", &base)]).await;
    let (one, seen_by_one) = images(&engine, cache.path(), &base);
    let (two, seen_by_two) = images(&engine, cache.path(), &base);
    let (first, second) = tokio::join!(one.base(), two.base());
    assert_eq!(first.as_ref().unwrap(), second.as_ref().unwrap());
    let created = |events: &ImageEvents| {
        events
            .lock()
            .unwrap()
            .iter()
            .filter(|it| matches!(it, ImageEvent::Done { .. }))
            .count()
    };
    assert_eq!(created(&seen_by_one) + created(&seen_by_two), 1);
    remove(&engine, &first.unwrap()).await;
    remove(&engine, &base).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_build_ends() {
    // Another test removes the images that no recipe has, such as this base image.
    let held = tokio::task::spawn_blocking(super::support::sweep_lock)
        .await
        .unwrap();
    let (engine, cache, base) = (engine().await, tempfile::tempdir().unwrap(), own_base());
    retag_shell_image(&engine, &base).await;
    let (images, events) = images(&engine, cache.path(), &base);
    let base_image = images.base().await.unwrap();

    // With another base image the programs are built from source, which takes minutes: this test sees the first
    // seconds.
    let build = tokio::spawn({
        let images = images.clone();
        async move { images.kubernetes().await }
    });
    let is_running = || {
        events
            .lock()
            .unwrap()
            .iter()
            .any(|it| matches!(it, ImageEvent::Step { text, .. } if text.contains("apt-get")))
    };
    let begun = Instant::now();
    while !is_running() {
        assert!(!build.is_finished(), "the build must go on: {:?}", build.await);
        assert!(begun.elapsed() < FIRST_STEP, "{:?}", events.lock().unwrap());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let mut before = steps(&engine, &base_image).await;
    while before.is_empty() {
        assert!(!build.is_finished(), "the build must go on: {:?}", build.await);
        assert!(begun.elapsed() < FIRST_STEP, "no container of a step");
        tokio::time::sleep(Duration::from_millis(50)).await;
        before = steps(&engine, &base_image).await;
    }
    let locks = build_locks(&engine).await;
    assert_eq!(before.len(), 1, "a step runs: {before:?}");
    // The sweep uses another cache folder, so it does not see the file lock of the build.
    sweep(&engine, false).await.unwrap();
    drop(held);
    assert_eq!(
        steps(&engine, &base_image).await,
        before,
        "a sweep leaves a build in progress alone"
    );
    build.abort();
    let begun = Instant::now();
    while !steps(&engine, &base_image).await.is_empty()
        || build_locks(&engine).await.iter().any(|lock| locks.contains(lock))
    {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "the step or its build lock still exists"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    remove(&engine, &base_image).await;
    remove(&engine, &base).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_bootstrap_leaves_no_process() {
    let (engine, cache) = (engine().await, tempfile::tempdir().unwrap());
    let events = ImageEvents::default();
    let sink = events.clone();
    let mark = new_run_id().to_string();
    let settings = ImageSettings {
        // Another mirror yields another image, which does not exist; and the registry has no time to respond.
        debian_mirror: format!("{}/?{mark}", ImageSettings::DEBIAN_MIRROR),
        registry_timeout: Duration::ZERO,
        ..ImageSettings::with_cache(cache.path())
    };
    let progress = Arc::new(move |event| sink.lock().unwrap().push(event));
    let images = Images::new(engine.clone(), settings, progress);
    let build = tokio::spawn(async move { images.base().await });
    let begun = Instant::now();
    while processes(&mark).is_empty() {
        assert!(!build.is_finished(), "{:?}", build.await);
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "{:?}",
            events.lock().unwrap()
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    build.abort();
    let begun = Instant::now();
    while !processes(&mark).is_empty() {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "still there: {:?}",
            processes(&mark)
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Command lines of every mmdebstrap with this mark in the address of its mirror.
fn processes(mark: &str) -> Vec<String> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines
        .filter(|line| line.contains("mmdebstrap") && line.contains(mark))
        .collect()
}

/// Run it with `cargo test -p nodejoin-docker --test it engine::builds -- --ignored`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes about 8 minutes on two processors"]
async fn the_programs_are_built_from_debians_source() {
    let (engine, cache, base) = (engine().await, tempfile::tempdir().unwrap(), own_base());
    retag_shell_image(&engine, &base).await;
    let (images, events) = images(&engine, cache.path(), &base);
    let created = images
        .kubernetes()
        .await
        .unwrap_or_else(|error| panic!("{error}\n{:?}", events.lock().unwrap().last()));
    assert_eq!(created.kubernetes, "v1.20.2");
    assert_eq!(images.kubernetes().await.unwrap(), created);
    remove(&engine, &created.name).await;
    remove(&engine, &images.base().await.unwrap()).await;
    remove(&engine, &base).await;
}

/// Gives another name to an image with a shell and apt.
async fn retag_shell_image(engine: &Engine, as_name: &str) {
    let (name, tag) = shell_image(engine).await;
    let (repository, new_tag) = as_name.rsplit_once(':').unwrap();
    let options = TagImageOptionsBuilder::new()
        .repo(repository)
        .tag(new_tag)
        .build();
    engine
        .docker()
        .tag_image(&format!("{name}:{tag}"), Some(options))
        .await
        .unwrap();
}

/// The build locks of this process, which includes those of other tests.
async fn build_locks(engine: &Engine) -> Vec<String> {
    let labels = vec![
        "nodejoin.run=build".to_owned(),
        format!("nodejoin.pid={}", std::process::id()),
    ];
    let options = ListVolumesOptionsBuilder::new()
        .filters(&HashMap::from([("label", labels)]))
        .build();
    let volumes = engine.docker().list_volumes(Some(options)).await.unwrap().volumes;
    volumes
        .unwrap_or_default()
        .into_iter()
        .map(|volume| volume.name)
        .collect()
}

/// The containers of build steps that are based on an image.
async fn steps(engine: &Engine, base: &str) -> Vec<String> {
    let filter = HashMap::from([
        ("ancestor", vec![base.to_owned()]),
        ("label", vec!["nodejoin.role=build".to_owned()]),
    ]);
    let options = ListContainersOptionsBuilder::new()
        .all(true)
        .filters(&filter)
        .build();
    let containers = engine.docker().list_containers(Some(options)).await.unwrap();
    containers
        .into_iter()
        .filter_map(|container| container.id)
        .collect()
}
