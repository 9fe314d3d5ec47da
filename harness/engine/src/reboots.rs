//! A node whose user data reboots it: its container starts again, as the instance does on EC2.

use std::time::{Duration, SystemTime};

use futures::StreamExt as _;
use nodejoin_core::observation::{MOST_REBOOTS, Observation};
use nodejoin_core::plan::Plan;
use tokio::time::timeout;

use crate::error::EngineError;
use crate::node_driver::{NodeDriver, NodeEvents};
use crate::observer::Observer;
use crate::settle::settle;

/// Timeout for the last lines of the journal of a container that has ended.
const LAST_LINES: Duration = Duration::from_secs(5);

/// Watches a join until its plan is settled. Boots the node again after each reboot by its user data, up to a limit.
pub(crate) async fn watch_boots(
    plan: &Plan,
    driver: &impl NodeDriver,
    events: &mut NodeEvents,
    observer: &mut Observer,
    clock: impl Fn() -> SystemTime + Copy,
    mut on_look: impl FnMut(&Observation),
) -> Result<(), EngineError> {
    loop {
        settle(driver, events, plan, observer, clock, &mut on_look).await?;
        if observer.observation.exit().is_none() {
            return Ok(());
        }
        read_last_lines(events, observer).await;
        let seen = &observer.observation;
        if !seen.is_rebooting() || seen.reboots().count() >= MOST_REBOOTS {
            return Ok(());
        }
        let at = driver.boot_again(events).await?;
        observer.rebooted(at);
    }
}

/// Takes in what the node wrote before it ended: its exit can be reported before its last lines.
async fn read_last_lines(events: &mut NodeEvents, observer: &mut Observer) {
    while let Ok(Some(event)) = timeout(LAST_LINES, events.node.next()).await {
        observer.absorb(event);
    }
}
