//! The doctor on a real engine: says something of everything, and leaves nothing.

mod common;

use common::{engine, objects_of_this_process};
use nodejoin_docker::doctor::{State, check};
use nodejoin_docker::{ImageSettings, Images};

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_looks_at_everything_and_leaves_nothing() {
    let engine = engine().await;
    let settings = ImageSettings::from_lookup(|name| std::env::var(name).ok());
    Images::new(engine.clone(), settings.clone(), std::sync::Arc::new(|_| ()))
        .base()
        .await
        .unwrap();
    let results = check(&settings, engine.time_factor()).await;
    for result in &results {
        eprintln!(
            "{:?} {}: {} {:?}",
            result.state, result.name, result.seen, result.remedy
        );
        assert!(result.state == State::Ok || result.remedy.is_some(), "{result:?}");
    }
    let found = |name| results.iter().find(|result| result.name == name).unwrap();
    assert_eq!(found("engine").state, State::Ok);
    assert_eq!(
        found("way to the fakes").state,
        State::Ok,
        "this machine's firewall: {}",
        found("way to the fakes").seen
    );
    assert_eq!(objects_of_this_process(&engine).await, Vec::<String>::new());
}
