//! Images on a real engine: made once, found again at once.

mod common;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::engine;
use nodejoin_docker::{Engine, ImageEvent, ImageSettings, Images};

fn settings() -> ImageSettings {
    ImageSettings::from_lookup(|name| std::env::var(name).ok())
}

fn images(engine: &Engine, settings: ImageSettings) -> (Images, Arc<Mutex<Vec<ImageEvent>>>) {
    let events = Arc::new(Mutex::new(Vec::new()));
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
    let made = images.control_plane().await.unwrap();
    assert!(made.kubernetes.starts_with("v1."), "{made:?}");
    events.lock().unwrap().clear();
    let begun = Instant::now();
    assert_eq!(images.control_plane().await.unwrap(), made);
    assert!(
        begun.elapsed() < Duration::from_millis(500),
        "{:?}",
        begun.elapsed()
    );
    assert!(events.lock().unwrap().is_empty());
    let listed = images.list().await.unwrap();
    let found = listed.iter().find(|image| image.name == made.name).unwrap();
    assert!(found.is_current);
    assert_eq!(found.role, "control-plane");
}
