//! The result of a scenario: its verdict, and what it leaves behind.

use std::time::{Duration, Instant};

use nodejoin_core::judge::verdict::{Outcome, Verdict};

use crate::evidence::EvidenceFolder;
use crate::verdict::verdict_without_observation;

/// The result of a scenario.
pub(crate) struct ScenarioResult {
    pub(crate) verdict: Verdict,
    /// The folder with its evidence; `None` when there is none.
    pub(crate) evidence: Option<EvidenceFolder>,
    /// Commands that lead into what was kept.
    pub(crate) kept: Vec<String>,
    /// Failures that do not change the verdict, a line each.
    pub(crate) problems: Vec<String>,
    /// When the scenario had its images and its control plane; `None` if it did not start.
    pub(crate) started: Option<Instant>,
    /// How long a person held it, without which its duration counts.
    pub(crate) held: Duration,
}

impl ScenarioResult {
    pub(crate) fn without_observation(outcome: Outcome) -> Self {
        Self {
            verdict: verdict_without_observation(outcome),
            evidence: None,
            kept: Vec::new(),
            problems: Vec::new(),
            started: None,
            held: Duration::ZERO,
        }
    }
}
