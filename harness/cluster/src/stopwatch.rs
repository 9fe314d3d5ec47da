//! Where the time of a start goes, lap by lap.

use std::time::{Duration, Instant};

/// How long a phase of the start took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartTime {
    /// What was done.
    pub phase: &'static str,
    /// How long it took.
    pub took: Duration,
    /// Whether the programs needed the time, or the harness.
    pub by_programs: bool,
}

/// Laps of a start.
#[derive(Debug)]
pub struct Stopwatch {
    last: Instant,
    laps: Vec<StartTime>,
}

impl Stopwatch {
    /// Starts it.
    #[must_use]
    pub fn start() -> Self {
        Self {
            last: Instant::now(),
            laps: Vec::new(),
        }
    }

    /// Ends a lap: what was done since the last one, and whether the programs needed the time or the harness.
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
