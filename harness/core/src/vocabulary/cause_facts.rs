//! What holds for every diagnosis of a cause.

use super::phase::Phase;

/// A row of `cause_table.rs`, without the functions of its rules.
pub(super) struct CauseFacts {
    pub(super) word: &'static str,
    pub(super) meaning: &'static str,
    pub(super) orders: &'static [u32],
    pub(super) first: Phase,
    pub(super) last: Phase,
    pub(super) permanence: Permanence,
    pub(super) blames: BlamedLine,
    pub(super) evidence: &'static str,
    pub(super) remedy: &'static str,
    pub(super) proof: Proof,
}

/// Whether joins that succeed can also show a cause for a while.
pub(super) enum Permanence {
    Lasts,
    MayPass,
}

/// What proves that a rule finds a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// The id of a scenario of this repository that expects the cause.
    Scenario(&'static str),
    /// Only a case of a unit test, because no scenario can stop a join for the cause: why.
    UnitTest(&'static str),
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
