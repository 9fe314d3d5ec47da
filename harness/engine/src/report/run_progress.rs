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
    /// Seconds of all image builds.
    pub(super) images: f64,
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
            images: 0.0,
            inspected: BTreeSet::new(),
            current: BTreeMap::new(),
        }
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
    fn a_long_step_is_shortened() {
        assert_eq!(shortened("Step 1/2 : RUN x\ny"), "Step 1/2 : RUN x");
        let long = shortened(&"\u{fc}".repeat(200));
        assert_eq!(long, format!("{}...", "\u{fc}".repeat(100)));
    }
}
