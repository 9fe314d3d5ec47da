//! What a person waits for, in a line.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// What a person waits for.
pub(super) struct RunProgress {
    pub(super) started: Instant,
    /// Time of the last permanent line.
    pub(super) printed: Instant,
    pub(super) scenarios: usize,
    pub(super) finished: usize,
    /// When images were built: start and end in seconds since the start of the run, apart and in their order.
    builds: Vec<(f64, f64)>,
    /// Lines about imported images: every scenario reports its image.
    pub(super) inspected: BTreeSet<String>,
    /// Current work by scenario, image or control plane, in the order of their names.
    pub(super) current: BTreeMap<String, String>,
}

impl RunProgress {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self {
            started: now,
            printed: now,
            scenarios: 0,
            finished: 0,
            builds: Vec::new(),
            inspected: BTreeSet::new(),
            current: BTreeMap::new(),
        }
    }

    /// Adds an image whose build took these seconds and ends now.
    pub(super) fn add_build(&mut self, seconds: f64) {
        let end = self.started.elapsed().as_secs_f64();
        add_span(&mut self.builds, (end - seconds, end));
    }

    /// Seconds of the run with at least one build.
    pub(super) fn seconds_of_builds(&self) -> f64 {
        self.builds.iter().map(|(start, end)| end - start).sum()
    }

    /// The number of the scenario that finished last; empty for a single scenario.
    pub(super) fn counter(&self) -> String {
        match self.scenarios {
            0 | 1 => String::new(),
            all => {
                let width = all.to_string().len();
                format!("[{:>width$}/{all}] ", self.finished)
            }
        }
    }

    /// Elapsed time, finished scenarios, and the current work whose key is selected.
    pub(super) fn line(&self, elapsed: Duration, is_selected: impl Fn(&str) -> bool) -> String {
        let seconds = elapsed.as_secs();
        let current: Vec<String> = self
            .current
            .iter()
            .filter(|(key, _)| is_selected(key))
            .map(|(key, text)| format!("{key}: {text}"))
            .collect();
        let time = format!("{}:{:02}", seconds / 60, seconds % 60);
        // `nodejoin images build` runs no scenarios.
        let done = match self.scenarios {
            0 => String::new(),
            all => format!("  {}/{all} done", self.finished),
        };
        format!("{time}{done}  {}", current.join(", "))
    }
}

/// Adds a span that ends last, and joins it with those that it overlaps.
fn add_span(spans: &mut Vec<(f64, f64)>, (mut start, end): (f64, f64)) {
    while let Some((before, _)) = spans.pop_if(|(_, until)| *until > start) {
        start = start.min(before);
    }
    spans.push((start, end));
}

/// The bytes of a download for a line of text.
pub(super) fn downloaded(file: &str, bytes: u64, total: Option<u64>) -> String {
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    match total {
        Some(total) => format!("{file} {:.1} of {:.1} MB", megabytes(bytes), megabytes(total)),
        None => format!("{file} {:.1} MB", megabytes(bytes)),
    }
}

/// The beginning of the first line of a text: a step of a build can have a thousand characters.
pub(super) fn shortened(text: &str) -> String {
    const LENGTH: usize = 100;
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_at_the_same_time_count_once() {
        let mut spans = Vec::new();
        for span in [
            (0.0, 10.0),
            (20.0, 30.0),
            (25.0, 40.0),
            (-5.0, 50.0),
            (60.0, 61.0),
        ] {
            add_span(&mut spans, span);
        }
        assert_eq!(spans, [(-5.0, 50.0), (60.0, 61.0)]);
    }

    #[test]
    fn a_long_step_is_shortened() {
        assert_eq!(shortened("Step 1/2 : RUN x\ny"), "Step 1/2 : RUN x");
        let long = shortened(&"\u{fc}".repeat(200));
        assert_eq!(long, format!("{}...", "\u{fc}".repeat(100)));
    }
}
