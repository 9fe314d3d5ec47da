//! Whether a join needs more time.

use crate::observation::Millis;

/// Whether to wait for more events of a join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    Waiting {
        /// What is missing, for the console.
        on: String,
    },
    /// More events would not change the verdict, or the timeout has passed.
    Settled,
}

impl Progress {
    #[must_use]
    pub fn is_settled(&self) -> bool {
        *self == Self::Settled
    }
}

/// The time of a limit.
pub(super) fn millis(seconds: f64) -> Millis {
    // The loader accepts only positive limits far below the maximum of the type.
    (seconds * 1000.0) as Millis
}
