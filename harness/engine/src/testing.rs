//! Plans, clocks and events for the unit tests of this crate.

use std::time::{Duration, SystemTime};

use futures::Stream;
use nodejoin_core::compare::{MachineRequests, MachineState};
use nodejoin_core::input::files::Disk;
use nodejoin_core::observation::{JournalLine, ObservedEvent, ScriptTrace};
use nodejoin_core::plan::Plan;
use nodejoin_core::scenario;
use tokio::time::Instant;

use crate::observer::Incoming;
use crate::probe::Probed;

/// The start of every node in these tests.
pub(crate) const EPOCH: SystemTime = SystemTime::UNIX_EPOCH;

/// The plan of a scenario that is given as YAML. A scenario without user data gets a script that does nothing.
pub(crate) fn plan(yaml: &str) -> Plan {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scenario.yaml");
    let user_data = if yaml.contains("user_data:") {
        ""
    } else {
        "user_data: '#!/bin/sh'\n"
    };
    std::fs::write(&path, format!("{yaml}{user_data}")).unwrap();
    let disk = Disk::with_variables([]);
    let found = scenario::discover(&[path], &disk).unwrap();
    let plans = scenario::load_all(&found, &disk).map_err(|error| error.with_hints());
    plans.unwrap_or_else(|error| panic!("{error}")).remove(0)
}

/// A wall clock that follows tokio's paused time.
#[derive(Clone, Copy)]
pub(crate) struct PausedClock(Instant);

impl PausedClock {
    /// A clock that shows [`EPOCH`] now.
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn now(&self) -> SystemTime {
        EPOCH + self.elapsed()
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// An event `millis` after [`EPOCH`].
pub(crate) fn incoming(millis: u64, what: ObservedEvent) -> Incoming {
    Incoming {
        at: EPOCH + Duration::from_millis(millis),
        what,
        node: None,
    }
}

/// A line of the journal.
pub(crate) fn line(message: &str) -> ObservedEvent {
    ObservedEvent::Journal(JournalLine {
        unit: Some("x.service".to_owned()),
        command: Some("x".to_owned()),
        by_systemd: false,
        message: message.to_owned(),
    })
}

/// A stream that yields one event after a pause and then stays open.
pub(crate) fn after(pause: Duration, event: Incoming) -> impl Stream<Item = Incoming> + Unpin {
    use futures::StreamExt as _;
    let event = futures::stream::once(async move {
        tokio::time::sleep(pause).await;
        event
    });
    Box::pin(event.chain(futures::stream::pending()))
}

/// A machine whose kubelet was started with these arguments.
pub(crate) fn probed(arguments: &str) -> Probed {
    let parts = [("kubelet arguments".to_owned(), arguments.to_owned())];
    Probed {
        state: MachineState::of_machine(parts.into()),
        requests: MachineRequests::default(),
        diagnosis: None,
        again: None,
        trace: ScriptTrace::default(),
        steps: 0,
        checks: Vec::new(),
        kubelet: "v1.20.2".to_owned(),
    }
}
