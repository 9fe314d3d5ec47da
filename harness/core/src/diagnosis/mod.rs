//! Why a join stopped.

use crate::observation::{Millis, Observation};
use crate::plan::Plan;
use crate::verdict::Diagnosis;

/// A cause that was found, and since when it holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finding {
    pub(crate) diagnosis: Diagnosis,
    pub(crate) at: Millis,
    /// Whether nothing that the node does by itself can mend it.
    pub(crate) is_final: bool,
}

pub(crate) fn find(_plan: &Plan, _observation: &Observation) -> Option<Finding> {
    None
}

/// Why a join stopped; `None` for one that reached everything.
#[must_use]
pub fn diagnose(plan: &Plan, observation: &Observation) -> Option<Diagnosis> {
    find(plan, observation).map(|finding| finding.diagnosis)
}
