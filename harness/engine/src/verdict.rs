//! Verdicts of scenarios without an observed node: skipped, cancelled or errored ones.

use nodejoin_core::judge::verdict::{Outcome, Verdict};

/// A verdict for which no node was observed.
pub(crate) fn verdict_without_observation(outcome: Outcome) -> Verdict {
    let (phases, checks, notes, deviations) = Default::default();
    Verdict {
        outcome,
        versions: None,
        phases,
        diagnosis: None,
        checks,
        notes,
        node: None,
        deviations,
        parts: Vec::new(),
    }
}
