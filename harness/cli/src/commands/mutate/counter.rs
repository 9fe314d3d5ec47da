//! What runs before the first change.

use std::sync::atomic::{AtomicUsize, Ordering};

use nodejoin_core::plan::ids::ScenarioId;

/// Reports the scenarios that run before the first change.
pub(super) struct ScenarioCounter {
    how: &'static str,
    all: usize,
    ran: AtomicUsize,
}

impl ScenarioCounter {
    pub(super) fn of(how: &'static str, all: usize) -> Self {
        Self {
            how,
            all,
            ran: AtomicUsize::new(0),
        }
    }

    pub(super) fn report(&self, scenario: &ScenarioId) {
        let ran = self.ran.fetch_add(1, Ordering::Relaxed) + 1;
        note!("{ran}/{}  {scenario} ran {}", self.all, self.how);
    }
}
