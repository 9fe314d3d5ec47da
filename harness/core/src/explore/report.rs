//! The result of `nodejoin explore`, as data.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::compare::short_id;
use crate::plan::Plan;
use crate::plan::expect::Expect;
use crate::vocabulary::ids::ScenarioId;

/// The result of `nodejoin explore`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Exploration {
    /// What goes wrong, worst first.
    pub findings: Vec<ExploreFinding>,
    /// All worlds that ran or could not run, in order.
    pub worlds: Vec<ExploredWorld>,
    /// Worlds for which the time did not suffice.
    pub left_out: usize,
    /// Whether it was cancelled: what had not ended is left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
    /// Number of distinct machines.
    pub machines: usize,
    /// Seed of the combinations.
    pub seed: u64,
    /// Seconds of the whole exploration.
    pub seconds: f64,
    /// Ids of findings that `--approve` lists.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub approved: BTreeSet<String>,
}

/// A world of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExploredWorld {
    pub scenario: ScenarioId,
    /// Names of its changes; empty for the world of the scenario itself.
    pub changes: Vec<String>,
    /// How many commands of shell scripts ran in it and in no world before it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub new_commands: usize,
    /// Why it did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<String>,
    /// The world whose machine is equal; a join of the one stands for both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_machine_as: Option<ScenarioId>,
    /// How the join ended: `passed`, `failed`, `errored` or `skipped`. Unset for a world that did not join.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join: Option<String>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Something that goes wrong in a world and not in that of the scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExploreFinding {
    /// Ten hexadecimal digits that depend on kind, changes and what goes wrong; `--approve` names it.
    pub id: String,
    pub kind: FindingKind,
    /// The worlds that show it.
    pub worlds: Vec<ScenarioId>,
    /// The fewest changes with which it occurs; empty if it occurs in the world of the scenario.
    pub only_with: Vec<String>,
    /// What goes wrong, in a sentence.
    pub what: String,
    /// More about it: last words of user data, evidence of a join.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// The scenario, and the scenario in the world with the fewest changes: for a scenario file of the finding.
    #[serde(skip)]
    pub reproduction: Option<Box<Reproduction>>,
    /// What that scenario file expects besides a join, after the step of the world if it has one. `None` if no
    /// expectation tells a machine with the finding from others.
    #[serde(skip)]
    pub expect: Option<Box<Expect>>,
}

/// What a scenario file of a finding is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Reproduction {
    pub scenario: Plan,
    pub world: Plan,
}

/// What kind of thing goes wrong. The order is that of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// No kubelet starts.
    NoKubelet,
    /// The kubelet starts, and the node does not join.
    NoJoin,
    /// A reboot, a restart, or a second run of the user data changes the machine.
    Unstable,
    /// A value on the machine is wrong in every world.
    SuspiciousValue,
    /// Two boots of one world leave different machines.
    Race,
}

impl FindingKind {
    /// The word in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::NoKubelet => "no kubelet",
            Self::NoJoin => "no join",
            Self::Unstable => "unstable",
            Self::SuspiciousValue => "suspicious value",
            Self::Race => "race",
        }
    }
}

impl ExploreFinding {
    /// The finding with the id of its content.
    #[must_use]
    pub fn with_id(mut self) -> Self {
        self.id = short_id([format!("{} {:?} {}", self.kind.word(), self.only_with, self.what)]);
        self
    }
}

impl Exploration {
    /// The findings that `--approve` does not list.
    pub fn open(&self) -> impl Iterator<Item = &ExploreFinding> {
        self.findings
            .iter()
            .filter(|finding| !self.approved.contains(&finding.id))
    }

    /// Number of worlds that ran.
    #[must_use]
    pub fn ran(&self) -> usize {
        self.worlds.iter().filter(|world| world.not_run.is_none()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approved_findings_are_not_open_and_the_id_depends_on_what_goes_wrong() {
        let finding = |what: &str, world: &str| {
            let finding = ExploreFinding {
                id: String::new(),
                kind: FindingKind::NoJoin,
                worlds: vec![world.parse().unwrap()],
                only_with: vec!["ipv6".to_owned()],
                what: what.to_owned(),
                details: Vec::new(),
                reproduction: None,
                expect: None,
            };
            finding.with_id()
        };
        let (one, other) = (finding("a", "x"), finding("b", "x"));
        assert_eq!(one.id, finding("a", "y").id);
        assert_eq!(one.id.len(), 10);
        let exploration = Exploration {
            approved: BTreeSet::from([one.id.clone()]),
            findings: vec![one, other.clone()],
            ..Exploration::default()
        };
        assert_eq!(exploration.open().collect::<Vec<_>>(), [&other]);
    }
}
