//! What is reported while versions are compared.

use nodejoin_core::compare::JoinOutcome;
use nodejoin_core::plan::ids::ScenarioId;

/// What a comparison reports while it runs.
#[derive(Debug)]
pub enum CompareStep<'a> {
    /// A scenario was compared.
    Compared {
        scenario: &'a ScenarioId,
        result: String,
    },
    /// A scenario joined with both versions.
    Joined(&'a JoinOutcome),
}
