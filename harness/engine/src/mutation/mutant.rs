//! A changed script, and what came of its runs.

use nodejoin_core::mutation::MutantResult;
use nodejoin_core::plan::expect::Expect;

/// A changed script.
pub struct MutantCase {
    /// Part of the ids of its scenarios.
    pub id: String,
    /// Line of the change, from 1.
    pub line: u64,
    /// The whole script.
    pub text: String,
    /// Indexes of the scenarios that run the changed statement, the one that tells most first.
    pub reached_by: Vec<usize>,
}

/// A mutant after its runs.
pub struct MutantOutcome {
    pub result: MutantResult,
    /// What would notice a mutant that survived; `None` if it did not, or nothing was found.
    pub killer: Option<KillingExpectation>,
}

/// An expectation that holds with the script as it is, and not with a mutant.
pub struct KillingExpectation {
    /// Index of the scenario.
    pub scenario: usize,
    pub expect: Expect,
}

impl From<MutantResult> for MutantOutcome {
    fn from(result: MutantResult) -> Self {
        Self { result, killer: None }
    }
}
