//! How versions are compared.

use std::time::Duration;

use super::worlds::WorldsWhen;

/// Which scenarios with differences join with both versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinsWhen {
    Never,
    /// One scenario of each group of differences.
    OfEachGroup,
    /// Every scenario that shows a difference.
    Always,
}

/// How versions are compared.
#[derive(Debug, Clone)]
pub struct CompareSettings {
    /// Scenarios that run at the same time.
    pub jobs: usize,
    pub joins: JoinsWhen,
    pub worlds: WorldsWhen,
    /// After this time no further world starts.
    pub budget: Option<Duration>,
}
