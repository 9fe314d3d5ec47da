//! Collects what traced scenarios ran, for the caller of a run.

use std::sync::Arc;

use nodejoin_core::observation::{Observation, ScriptTrace};
use nodejoin_core::plan::ids::ScenarioId;
use parking_lot::Mutex;

/// The commands of scripts that the nodes of traced plans ran. Clones share one list.
#[derive(Debug, Clone, Default)]
pub struct TraceLog(Arc<Mutex<Vec<(ScenarioId, ScriptTrace)>>>);

impl TraceLog {
    pub(crate) fn note(&self, scenario: &ScenarioId, seen: &Observation) {
        let collected = seen.collected.as_ref();
        if let Some(trace) = collected.and_then(|collected| collected.script_trace.clone()) {
            self.0.lock().push((scenario.clone(), trace));
        }
    }

    /// Adds entries that another process collected.
    pub(crate) fn extend(&self, entries: Vec<(ScenarioId, ScriptTrace)>) {
        self.0.lock().extend(entries);
    }

    /// Removes and returns the entries: one for each node.
    #[must_use]
    pub fn take(&self) -> Vec<(ScenarioId, ScriptTrace)> {
        std::mem::take(&mut self.0.lock())
    }
}
