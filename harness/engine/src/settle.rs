//! Watches a node until its plan is settled by its whole journal, not by the part that arrived.

use std::time::SystemTime;

use nodejoin_core::judge;
use nodejoin_core::observation::Observation;
use nodejoin_core::plan::Plan;

use crate::error::EngineError;
use crate::node_driver::{NodeDriver, NodeEvents};
use crate::observer::Observer;
use crate::watch::watch;

/// Watches until the plan is settled. Then reads the lines of the journal that did not arrive, and continues if these
/// settle it no longer: the engine's stream can lose lines of a busy journal, a phase among them.
pub(crate) async fn settle(
    driver: &impl NodeDriver,
    events: &mut NodeEvents,
    plan: &Plan,
    observer: &mut Observer,
    clock: impl Fn() -> SystemTime + Copy,
    mut on_look: impl FnMut(&Observation),
) -> Result<(), EngineError> {
    loop {
        watch(plan, events.stream(), observer, clock, &mut on_look).await;
        let missed = driver.missed().await?;
        if missed.is_empty() {
            return Ok(());
        }
        observer.absorb_late(missed);
        on_look(&observer.observation);
        let now = observer.now(clock());
        if judge::progress(plan, &observer.observation, now).is_settled() {
            return Ok(());
        }
    }
}
