//! The causes of a stopped join: what each means, where it occurs, and how to remove it.
//!
//! A new cause is a row of `cause_table.rs` and a function in `diagnosis`; a scenario expects it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cause_facts::{BlamedLine, CauseFacts, Permanence, Proof};
use super::cause_table::cause_table;
use super::phase::Phase;

/// Declares the enum, what lists its variants, and what holds for each.
macro_rules! causes {
    ($(
        $(#[doc = $meaning:literal])+
        $variant:ident = $word:literal {
            rules: $scope:ident { $($order:literal: $file:ident::$rule:ident),+ },
            phases: $first:ident..=$last:ident, permanence: $permanence:ident, blames: $blames:expr,
            evidence: $evidence:literal,
            remedy: $remedy:literal,
            proof: $proof:expr,
        }
    )+) => {
        /// Why a join stopped.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum Cause {
            $($(#[doc = $meaning])+ #[serde(rename = $word)] $variant,)+
        }

        impl Cause {
            /// Every cause, in the order of a join.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            const fn facts(self) -> CauseFacts {
                use BlamedLine::{KubeletFlag, LastOfScript, NoLine, PartWithoutInterpreter};
                use Proof::{Scenario, UnitTest};
                match self {
                    $(Self::$variant => CauseFacts {
                        word: $word,
                        meaning: concat!($($meaning,)+).trim_ascii(),
                        orders: &[$($order,)+],
                        first: Phase::$first,
                        last: Phase::$last,
                        permanence: Permanence::$permanence,
                        blames: $blames,
                        evidence: $evidence,
                        remedy: $remedy,
                        proof: $proof,
                    },)+
                }
            }
        }
    };
}

cause_table!(causes);

impl Cause {
    /// The word in scenarios and reports.
    #[must_use]
    pub const fn word(self) -> &'static str {
        self.facts().word
    }

    /// One or two sentences for the page of diagnoses.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        self.facts().meaning
    }

    /// Where the evidence is read from.
    #[must_use]
    pub const fn evidence(self) -> &'static str {
        self.facts().evidence
    }

    /// Where its rules stand among all rules: the rule with the smallest number that finds its cause gives the
    /// diagnosis.
    #[must_use]
    pub const fn orders(self) -> &'static [u32] {
        self.facts().orders
    }

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

    /// The scenario that expects it, or why no scenario can.
    #[must_use]
    pub const fn proof(self) -> Proof {
        self.facts().proof
    }

    /// Whether only joins that have reached `ready` can have the cause.
    #[must_use]
    pub fn is_after_ready(self) -> bool {
        self.phases().0 == Phase::Ready
    }

    pub(crate) const fn blames_script(self) -> BlamedLine {
        self.facts().blames
    }
}
