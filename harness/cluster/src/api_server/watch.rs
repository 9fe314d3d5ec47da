//! Watches that reconnect quickly.

use std::time::Duration;

use futures::{Stream, StreamExt as _};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

const FIRST_WAIT: Duration = Duration::from_millis(10);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// Every added, changed or deleted object, for as long as the stream is polled. An interrupted watch restarts with
/// back-off.
pub(crate) fn events<K>(api: Api<K>) -> impl Stream<Item = Event<K>> + Send
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    watcher::watcher(api, watcher::Config::default())
        .backoff(Doubling(FIRST_WAIT))
        .filter_map(|event| async {
            event
                .inspect_err(|error| tracing::debug!(%error, "a watch was interrupted"))
                .ok()
        })
}

/// Every added or changed object.
pub(crate) fn touched<K>(api: Api<K>) -> impl Stream<Item = K> + Send
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    events(api).filter_map(|event| async {
        match event {
            Event::Apply(object) | Event::InitApply(object) => Some(object),
            Event::Delete(_) | Event::Init | Event::InitDone => None,
        }
    })
}

/// Doubles the wait from 10 ms on. RBAC takes effect a moment after it is applied, and the first wait of `kube` is most
/// of a second.
struct Doubling(Duration);

impl Iterator for Doubling {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let wait = self.0;
        self.0 = (wait * 2).min(LONGEST_WAIT);
        Some(wait)
    }
}

impl Backoff for Doubling {
    fn reset(&mut self) {
        self.0 = FIRST_WAIT;
    }
}
