//! Images on a real engine: made once, found again at once, listed, and pruned when no recipe makes them any more.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod common;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bollard::query_parameters::RemoveImageOptions;
use common::{build, engine, shell_image, tiny};
use nodejoin_docker::{Engine, ImageEvent, ImageSettings, Images};

type Events = Arc<Mutex<Vec<ImageEvent>>>;

fn settings() -> ImageSettings {
    ImageSettings::from_lookup(|name| std::env::var(name).ok())
}

fn images(engine: &Engine, settings: ImageSettings) -> (Images, Events) {
    let events = Events::default();
    let sink = events.clone();
    let progress = move |event| {
        eprintln!("{event:?}");
        sink.lock().unwrap().push(event);
    };
    (Images::new(engine.clone(), settings, Arc::new(progress)), events)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_is_there_is_found_at_once() {
    let engine = engine().await;
    let (images, events) = images(&engine, settings());
    let plane = images.control_plane().await.unwrap();
    let node = images.node("al2").await.unwrap();
    assert!(plane.kubernetes.starts_with("v1."), "{plane:?}");
    assert_eq!(plane.kubernetes, node.kubernetes);
    events.lock().unwrap().clear();
    let begun = Instant::now();
    assert_eq!(images.node("al2").await.unwrap(), node);
    let took = begun.elapsed();
    assert!(took < Duration::from_millis(200), "{took:?}");
    assert!(events.lock().unwrap().is_empty(), "nothing is made a second time");
    assert!(images.absent().await.unwrap().is_empty());
    let listed = images.list().await.unwrap();
    let found = |name: &str| listed.iter().find(|image| image.name == name).unwrap();
    assert!(found(&node.name).is_current && found(&plane.name).is_current);
    assert_eq!(found(&node.name).role, "node");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_image_is_refused_with_the_known_ones() {
    let engine = engine().await;
    let error = images(&engine, settings()).0.node("al3").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "there is no node image `al3`; there are: {}",
            Images::node_names().join(", ")
        )
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_image_for_kind_must_be_one_and_of_the_wanted_version() {
    let engine = engine().await;
    let (name, tag) = shell_image(&engine).await;
    let shell = format!("{name}:{tag}");
    let other = "nodejoin-test-kind-node:1";
    let dockerfile = format!("FROM {shell}\nRUN mkdir /kind && echo v1.19.16 > /kind/version\n");
    build(engine.docker(), other, &dockerfile, &[]).await;
    let refused = async |image: &str| {
        let settings = ImageSettings {
            kind_image: Some(image.to_owned()),
            kubernetes: Some("1.20.2".to_owned()),
            ..settings()
        };
        images(&engine, settings).0.kind_node().await.unwrap_err()
    };
    let error = refused(other).await;
    assert_eq!(
        error.to_string(),
        format!("image `{other}` has Kubernetes v1.19.16, and v1.20.2 is wanted")
    );
    assert!(error.hint().unwrap().contains("NODEJOIN_KIND_IMAGE"));
    let none = refused(&shell).await.to_string();
    assert!(
        none.contains("is no node image of kind: it has no /kind/version"),
        "{none}"
    );
    engine
        .docker()
        .remove_image(other, None::<RemoveImageOptions>, None)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_no_recipe_makes_is_stale_and_others_are_not_ours() {
    let _alone = STALE.lock().await;
    let engine = engine().await;
    let (images, _) = images(&engine, settings());
    let (stale, theirs) = ("nodejoin/al2:000000000000", "nodejoin-test-theirs:1");
    tiny(engine.docker(), stale, &OURS).await;
    tiny(engine.docker(), theirs, &[("somebody", "else")]).await;
    let listed = images.list().await.unwrap();
    assert!(
        !listed
            .iter()
            .find(|image| image.name == stale)
            .unwrap()
            .is_current
    );
    assert!(!listed.iter().any(|image| image.name == theirs), "{listed:?}");
    for name in [stale, theirs] {
        engine
            .docker()
            .remove_image(name, None::<RemoveImageOptions>, None)
            .await
            .unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "prunes for good: images of other checkouts go, too"]
async fn only_what_no_recipe_makes_is_pruned() {
    let _alone = STALE.lock().await;
    let engine = engine().await;
    let (images, _) = images(&engine, settings());
    let plane = images.control_plane().await.unwrap();
    tiny(engine.docker(), "nodejoin/al2:111111111111", &OURS).await;
    let pruned = images.prune().await.unwrap();
    assert!(
        pruned
            .removed
            .iter()
            .any(|image| image == "nodejoin/al2:111111111111"),
        "{pruned:?}"
    );
    let left: Vec<_> = images
        .list()
        .await
        .unwrap()
        .into_iter()
        .map(|image| image.name)
        .collect();
    assert!(left.contains(&plane.name), "{left:?}");
}

/// Held by the tests that make stale images: pruning takes those of the others, too.
static STALE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Labels as an image of ours has them.
const OURS: [(&str, &str); 3] = [
    ("nodejoin.recipe", "000000000000"),
    ("nodejoin.image", "al2"),
    ("nodejoin.role", "node"),
];
