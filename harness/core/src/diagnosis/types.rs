//! What a diagnosis says, and what holds for each cause.

use serde::{Deserialize, Serialize};

use super::Rule;
use super::cause::{Cause, RULES};
use crate::observation::phase::Phase;

/// Why a join stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The last phase that the join reached.
    pub phase: Option<Phase>,
    pub cause: Cause,
    /// The cause in one sentence.
    pub because: String,
    /// The line of evidence, with its source and time.
    pub seen: String,
    /// What to change.
    pub remedy: String,
    /// Where the script ended, if its output says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptLocation>,
}

/// A line of a script, as the node names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptLocation {
    /// The script's path, its file name, or the name of its part of the user data; `None` if only the line is known.
    pub script: Option<String>,
    /// The line, from 1; `None` if only the script is known.
    pub line: Option<u64>,
}

/// What holds for every diagnosis of one cause.
pub(super) struct CauseFacts {
    first: Phase,
    last: Phase,
    permanence: Permanence,
    blames: BlamedLine,
    remedy: &'static str,
}

/// Whether joins that succeed can also show a cause for a while.
pub(super) enum Permanence {
    Lasts,
    MayPass,
}

/// The line of the user's files that a cause blames.
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

impl Cause {
    /// The first and the last phase at which a join can stop for this cause.
    #[must_use]
    pub const fn phases(self) -> (Phase, Phase) {
        let facts = self.facts();
        (facts.first, facts.last)
    }

    /// Whether joins that succeed can also show this cause for a while.
    #[must_use]
    pub const fn may_pass(self) -> bool {
        matches!(self.facts().permanence, Permanence::MayPass)
    }

    /// What to change in general; a diagnosis has the remedy for its join.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        self.facts().remedy
    }

    pub(crate) const fn blames_script(self) -> BlamedLine {
        self.facts().blames
    }
}

/// A rule with the causes that it can find.
pub(super) struct RuleEntry {
    pub(super) apply: Rule,
    pub(super) gives: &'static [Cause],
    pub(super) scope: RuleScope,
}

/// Which joins a rule looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleScope {
    /// Joins that have not reached `ready`, at any time.
    Stopped,
    /// Joins that have reached `ready`.
    Ready,
    /// Joins that have not reached `ready` when they end, after all other rules.
    AtTheEnd,
}

impl RuleEntry {
    pub(super) const fn scope(self, scope: RuleScope) -> Self {
        Self { scope, ..self }
    }

    const fn gives(&self, cause: Cause) -> bool {
        let mut index = 0;
        while index < self.gives.len() {
            if self.gives[index] as usize == cause as usize {
                return true;
            }
            index += 1;
        }
        false
    }
}

/// A cause without a rule does not compile: the error ends with its word.
const _: () = {
    let mut index = 0;
    while index < Cause::ALL.len() {
        let cause = Cause::ALL[index];
        let mut rule = 0;
        while rule < RULES.len() && !RULES[rule].gives(cause) {
            rule += 1;
        }
        if rule == RULES.len() {
            panic!("{}", cause.word());
        }
        index += 1;
    }
};
