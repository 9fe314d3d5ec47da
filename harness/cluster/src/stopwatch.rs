//! Measures the phases of a start.

use std::time::{Duration, Instant};

/// The duration of one phase of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartTime {
    pub phase: &'static str,
    pub took: Duration,
    /// Whether programs of Kubernetes used the time; otherwise the harness did.
    pub by_programs: bool,
}

/// Laps of a start.
#[derive(Debug)]
pub struct Stopwatch {
    last: Instant,
    laps: Vec<StartTime>,
}

impl Stopwatch {
    #[must_use]
    pub fn start() -> Self {
        Self {
            last: Instant::now(),
            laps: Vec::new(),
        }
    }

    /// Records the time since the last lap as this phase.
    pub fn lap(&mut self, phase: &'static str, by_programs: bool) {
        let now = Instant::now();
        self.laps.push(StartTime {
            phase,
            took: now - self.last,
            by_programs,
        });
        self.last = now;
    }

    pub(crate) fn laps(self) -> Vec<StartTime> {
        self.laps
    }
}
