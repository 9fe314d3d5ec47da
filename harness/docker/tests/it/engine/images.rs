//! Images with a container engine: built once, found, listed and pruned.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bollard::query_parameters::RemoveImageOptions;
use nodejoin_docker::{Engine, ImageEvent, ImageSettings, Images};

use super::support::{build, engine, shell_image, tiny};

type ImageEvents = Arc<Mutex<Vec<ImageEvent>>>;

fn settings() -> ImageSettings {
    ImageSettings::from_lookup(|name| std::env::var(name).ok())
}

fn images(engine: &Engine, settings: ImageSettings) -> (Images, ImageEvents) {
    let events = ImageEvents::default();
    let sink = events.clone();
    let progress = move |event| {
        eprintln!("{event:?}");
        sink.lock().unwrap().push(event);
    };
    (Images::new(engine.clone(), settings, Arc::new(progress)), events)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_existing_image_is_found_immediately() {
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
    assert!(
        events.lock().unwrap().is_empty(),
        "nothing is built a second time"
    );
    assert!(images.missing_images().await.unwrap().is_empty());
    let listed = images.list().await.unwrap();
    let found = |name: &str| listed.iter().find(|image| image.name == name).unwrap();
    assert!(found(&node.name).is_current && found(&plane.name).is_current);
    assert_eq!(found(&node.name).role, "node");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_image_is_rejected_with_the_known_ones() {
    let engine = engine().await;
    let error = images(&engine, settings()).0.node("al3").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "unknown node image `al3`: expected one of {}",
            Images::node_names().join(", ")
        )
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn al2023_starts_from_al2_and_is_no_part_of_a_first_start() {
    let engine = engine().await;
    let (images, _) = images(&engine, settings());
    let al2 = images.node("al2").await.unwrap();
    // Missing or not, `doctor` and `images build` do not ask for it.
    let missing = images.missing_images().await.unwrap();
    assert!(
        missing.iter().all(|folder| !folder.contains("al2023")),
        "{missing:?}"
    );
    let al2023 = images.node("al2023").await.unwrap();
    assert_eq!(al2023.kubernetes, al2.kubernetes);
    let layers = async |name: &str| {
        let image = engine.docker().inspect_image(name).await.unwrap();
        image.root_fs.and_then(|root| root.layers).unwrap_or_default()
    };
    let (base, all) = (layers(&al2.name).await, layers(&al2023.name).await);
    assert!(
        all.starts_with(&base) && all.len() > base.len(),
        "{base:?} {all:?}"
    );
    let listed = images.list().await.unwrap();
    let listed = listed.iter().find(|image| image.name == al2023.name).unwrap();
    assert!(listed.is_current && listed.role == "node", "{listed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_image_for_kind_is_checked_with_its_version() {
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
        format!("image `{other}` has Kubernetes v1.19.16: expected v1.20.2")
    );
    assert!(error.hint().unwrap().contains("NODEJOIN_KIND_IMAGE"));
    let none = refused(&shell).await.to_string();
    assert!(
        none.contains("is not a node image for kind: /kind/version is missing"),
        "{none}"
    );
    engine
        .docker()
        .remove_image(other, None::<RemoveImageOptions>, None)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_without_a_recipe_is_stale_and_images_without_labels_are_ignored() {
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
#[ignore = "prunes the images of other checkouts as well"]
async fn only_stale_images_are_pruned() {
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

/// Held by tests with stale images, because pruning removes those of other tests as well.
static STALE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Labels of an image that the harness has built.
const OURS: [(&str, &str); 3] = [
    ("nodejoin.recipe", "000000000000"),
    ("nodejoin.image", "al2"),
    ("nodejoin.role", "node"),
];
