//! How mutants run.

use std::time::Duration;

/// How mutants run.
#[derive(Debug, Clone)]
pub struct MutationSettings {
    /// Scenarios that run at the same time.
    pub jobs: usize,
    /// Time after which no further mutant starts; `None`: all run.
    pub budget: Option<Duration>,
    /// Runs that a mutant causes at most, until a scenario passes with another machine: as many once more then. A run
    /// of several mutants counts in part.
    pub most: usize,
    /// Time after which a scenario with a mutant has timed out; `None`: twice the time of the script as it is, and
    /// 15 s more.
    pub timeout: Option<Duration>,
    /// Whether to search an expectation for each mutant that survives.
    pub searches_killers: bool,
}
