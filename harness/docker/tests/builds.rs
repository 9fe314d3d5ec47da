//! Builds that do not go well: a registry that is silent, a base without apt, two at once, one that nobody waits for.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod common;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bollard::query_parameters::{
    ListContainersOptionsBuilder, ListVolumesOptionsBuilder, RemoveImageOptions, TagImageOptionsBuilder,
};
use common::{engine, run_id, shell_image, tiny};
use nodejoin_docker::{DockerError, Engine, ImageEvent, ImageSettings, Images, sweep};
use tokio::net::TcpListener;

type Events = Arc<Mutex<Vec<ImageEvent>>>;

fn images(engine: &Engine, cache: &Path, base: &str) -> (Images, Events) {
    let events = Events::default();
    let sink = events.clone();
    let settings = ImageSettings {
        base: base.to_owned(),
        registry_limit: Duration::from_secs(2),
        connect_limit: Duration::from_millis(500),
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

/// A name for a base image that no other test has.
fn own_base() -> String {
    format!("nodejoin-test-base:{}", run_id())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_registry_is_given_up_after_its_limit() {
    let (engine, cache) = (engine().await, tempfile::tempdir().unwrap());
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("{}/debian:none", silent.local_addr().unwrap());
    let begun = Instant::now();
    let error = images(&engine, cache.path(), &base).0.base().await.unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    assert!(error.to_string().contains("was silent for 2 s"), "{error}");
    assert!(error.hint().unwrap().contains("mmdebstrap"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_build_names_its_log_and_shows_its_end() {
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
    assert!(
        lines.contains("/bin/sh"),
        "the reason stands in the error: {lines}"
    );
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
async fn of_two_that_want_an_image_one_makes_it() {
    let (engine, cache, base) = (engine().await, tempfile::tempdir().unwrap(), own_base());
    tiny(engine.docker(), &base, &[("nodejoin-test", &base)]).await;
    let (one, seen_by_one) = images(&engine, cache.path(), &base);
    let (two, seen_by_two) = images(&engine, cache.path(), &base);
    let (first, second) = tokio::join!(one.base(), two.base());
    assert_eq!(first.as_ref().unwrap(), second.as_ref().unwrap());
    let made = |events: &Events| {
        events
            .lock()
            .unwrap()
            .iter()
            .filter(|it| matches!(it, ImageEvent::Done { .. }))
            .count()
    };
    assert_eq!(made(&seen_by_one) + made(&seen_by_two), 1);
    remove(&engine, &first.unwrap()).await;
    remove(&engine, &base).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_that_nobody_waits_for_ends() {
    let (engine, cache, base) = (engine().await, tempfile::tempdir().unwrap(), own_base());
    retag_shell_image(&engine, &base).await;
    let (images, events) = images(&engine, cache.path(), &base);
    let base_image = images.base().await.unwrap();

    // The programs are built from source for a base of one's own: some ten minutes, of which this sees the first seconds.
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
    while !is_running() {
        assert!(!build.is_finished(), "the build must go on: {:?}", build.await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let before = steps(&engine, &base_image).await;
    assert_eq!(before.len(), 1, "a step runs: {before:?}");
    // From elsewhere, with a cache folder that shares no locks.
    let held = tokio::task::spawn_blocking(common::alone).await.unwrap();
    sweep(&engine, false).await.unwrap();
    drop(held);
    assert_eq!(
        steps(&engine, &base_image).await,
        before,
        "a sweep leaves a build that goes on"
    );
    build.abort();
    let begun = Instant::now();
    while !steps(&engine, &base_image).await.is_empty() || !own_claims(&engine).await.is_empty() {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "the step still runs, or its mark is still there"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    remove(&engine, &base_image).await;
    remove(&engine, &base).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_that_nobody_waits_for_leaves_no_process() {
    let (engine, cache) = (engine().await, tempfile::tempdir().unwrap());
    let events = Events::default();
    let sink = events.clone();
    let mark = run_id().to_string();
    let settings = ImageSettings {
        // Another mirror is another image, so it is not there; and the registry has no time to answer.
        debian_mirror: format!("{}/?{mark}", ImageSettings::DEBIAN_MIRROR),
        registry_limit: Duration::ZERO,
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

/// Command lines of every mmdebstrap, unpacked or installed, that was given this mark in its mirror's address.
fn processes(mark: &str) -> Vec<String> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines
        .filter(|line| line.contains("mmdebstrap") && line.contains(mark))
        .collect()
}

/// The long way: `cargo test -p nodejoin-docker --test builds -- --ignored`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes some ten minutes on two processors"]
async fn the_programs_are_built_from_debians_source() {
    let (engine, cache, base) = (engine().await, tempfile::tempdir().unwrap(), own_base());
    retag_shell_image(&engine, &base).await;
    let (images, events) = images(&engine, cache.path(), &base);
    let made = images
        .kubernetes()
        .await
        .unwrap_or_else(|error| panic!("{error}\n{:?}", events.lock().unwrap().last()));
    assert_eq!(made.kubernetes, "v1.20.2");
    assert_eq!(images.kubernetes().await.unwrap(), made);
    remove(&engine, &made.name).await;
    remove(&engine, &images.base().await.unwrap()).await;
    remove(&engine, &base).await;
}

/// Gives a name of its own to an image with a shell and apt.
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

/// What this process says of its builds.
async fn own_claims(engine: &Engine) -> Vec<String> {
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

/// The containers of build steps that descend from an image.
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
