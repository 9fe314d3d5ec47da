//! The checks of the doctor with a container engine.

use nodejoin_docker::doctor::{State, check};
use nodejoin_docker::{ImageSettings, Images};

use super::support::{engine, in_own_process};

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_checks_everything_and_leaves_nothing() {
    let test = "engine::doctor::the_doctor_checks_everything_and_leaves_nothing";
    in_own_process(test, check_everything()).await;
}

async fn check_everything() {
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
        found("connection to fakes").state,
        State::Ok,
        "this machine's firewall: {}",
        found("connection to fakes").seen
    );
}
