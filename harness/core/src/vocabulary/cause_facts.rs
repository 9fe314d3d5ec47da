//! What holds for every diagnosis of a cause.

use super::phase::Phase;

/// What holds for every diagnosis of one cause.
pub(super) struct CauseFacts {
    pub(super) first: Phase,
    pub(super) last: Phase,
    pub(super) permanence: Permanence,
    pub(super) blames: BlamedLine,
    pub(super) remedy: &'static str,
}

/// Whether joins that succeed can also show a cause for a while.
pub(super) enum Permanence {
    Lasts,
    MayPass,
}

/// The line of user data or scripts that a cause blames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlamedLine {
    /// No script is to blame.
    NoLine,
    /// The last line that the script's output names, as long as the kubelet is not configured.
    LastOfScript,
    /// The line of the user data that contains this flag of the kubelet.
    KubeletFlag(&'static str),
    /// The first line of the part that does not begin with `#!`.
    PartWithoutInterpreter,
}

impl CauseFacts {
    pub(super) const fn new(
        first: Phase,
        last: Phase,
        permanence: Permanence,
        blames: BlamedLine,
        remedy: &'static str,
    ) -> Self {
        Self {
            first,
            last,
            permanence,
            blames,
            remedy,
        }
    }
}
