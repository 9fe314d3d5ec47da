//! What a check found: whether runs will work, and how to fix it.

use nodejoin_core::run::error_chain::chain;
use serde::Serialize;

use crate::error::DockerError;

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckResult {
    /// What was checked, such as `storage driver`.
    pub name: &'static str,
    /// Whether runs will work.
    pub state: State,
    /// The value that was found, and its consequence.
    pub seen: String,
    /// How to fix the problem.
    pub remedy: Option<String>,
}

/// Whether runs will work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// All runs will.
    Ok,
    /// Most runs will, or the check was not possible.
    Warn,
    /// No run will.
    Bad,
}

impl CheckResult {
    pub(crate) fn ok(name: &'static str, seen: impl Into<String>) -> Self {
        Self {
            name,
            state: State::Ok,
            seen: seen.into(),
            remedy: None,
        }
    }

    pub(crate) fn warn(name: &'static str, seen: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            name,
            state: State::Warn,
            seen: seen.into(),
            remedy: Some(remedy.into()),
        }
    }

    pub(crate) fn bad(name: &'static str, seen: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            name,
            state: State::Bad,
            seen: seen.into(),
            remedy: Some(remedy.into()),
        }
    }

    /// A check that failed with an error of the engine.
    pub(crate) fn failed(name: &'static str, error: &DockerError) -> Self {
        Self {
            name,
            state: State::Bad,
            seen: chain(error),
            remedy: error.hint(),
        }
    }
}

/// The result of a check that was not possible.
pub(crate) fn not_checked(name: &'static str) -> CheckResult {
    CheckResult::warn(
        name,
        "not checked: no image with a shell exists",
        "run `nodejoin images build`, then `nodejoin doctor` again",
    )
}
