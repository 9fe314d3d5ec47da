//! The result of `nodejoin diff`, as data.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::group::Group;
use crate::plan::sources::SourceLine;
use crate::vocabulary::cause::Cause;
use crate::vocabulary::ids::ScenarioId;

/// The result of `nodejoin diff`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The two versions, as the command line names them.
    pub old: String,
    pub new: String,
    /// Differences that scenarios show, those of many scenarios first.
    pub groups: Vec<Group>,
    /// Joins of both versions: one scenario of each group.
    pub joins: Vec<JoinOutcome>,
    /// All scenarios of both versions, in their order.
    pub scenarios: Vec<ComparedScenario>,
    /// First lines of changed statements that no machine of the new version was seen to run, of bash scripts that ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_run: Vec<SourceLine>,
    /// First changed lines of other files that no difference of a machine is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_shown: Vec<SourceLine>,
    /// Ids of groups that `--approve` lists.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub approved: BTreeSet<String>,
    /// Whether it was cancelled: scenarios and joins that had not ended are missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
    /// Seconds of the whole comparison.
    pub seconds: f64,
}

/// A scenario of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedScenario {
    pub scenario: ScenarioId,
    /// Why there is nothing to compare: only one version has it, it was skipped, or a probe did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_compared: Option<String>,
    /// Whether both versions leave a machine that starts no kubelet, although the scenario expects a join: it compares
    /// only what happens until then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_kubelet: bool,
    /// Why the new version starts no kubelet then: the cause of a diagnosis and its sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_kubelet_because: Option<String>,
    /// Whether the scenario is one that the command derived from another one: another world with the same user data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world: Option<String>,
}

/// How a scenario ended with each version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JoinOutcome {
    pub scenario: ScenarioId,
    pub old: SideOutcome,
    pub new: SideOutcome,
}

/// How a scenario ended with one version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SideOutcome {
    /// `passed`, `failed`, `errored` or `skipped`; `not run` for blessed states, which no scripts belong to.
    pub outcome: String,
    /// The cause of a join that stopped, and what it was found by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Folder of the evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
}

impl SideOutcome {
    const NOT_RUN: &str = "not run";

    /// Whether the node did not join for a reason of its own, and not for one that nodejoin or its host lacks.
    fn is_failure(&self) -> bool {
        let limits = [Cause::HarnessLimit, Cause::HostLimit].map(Cause::word);
        let cause = self.cause.as_deref().and_then(|cause| cause.split(':').next());
        self.outcome == "failed" && !cause.is_some_and(|cause| limits.contains(&cause))
    }

    /// That of states without scripts.
    #[must_use]
    pub fn not_run() -> Self {
        Self {
            outcome: Self::NOT_RUN.to_owned(),
            cause: None,
            evidence: None,
        }
    }
}

impl JoinOutcome {
    /// Whether the new version fails where the old one does not, or is not run.
    #[must_use]
    pub fn is_new_failure(&self) -> bool {
        ["passed", SideOutcome::NOT_RUN].contains(&self.old.outcome.as_str()) && self.new.is_failure()
    }

    /// Whether both versions end in the same way.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.old.outcome == self.new.outcome && self.old.cause == self.new.cause
    }
}

impl Comparison {
    /// The groups that no one approved. Those of scenarios that fail since the new version come first.
    #[must_use]
    pub fn open(&self) -> Vec<&Group> {
        let mut open: Vec<&Group> = self
            .groups
            .iter()
            .filter(|group| !self.approved.contains(&group.id))
            .collect();
        open.sort_by_key(|group| !self.joins_of(group).any(JoinOutcome::is_new_failure));
        open
    }

    /// The joins of scenarios that show a group.
    pub fn joins_of<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = &'a JoinOutcome> {
        let is_of = |join: &&JoinOutcome| group.scenarios.contains(&join.scenario);
        self.joins.iter().filter(is_of)
    }

    /// Scenarios that were not compared, by the reason.
    #[must_use]
    pub fn not_compared(&self) -> BTreeMap<&str, Vec<&ScenarioId>> {
        let mut by_reason: BTreeMap<&str, Vec<&ScenarioId>> = BTreeMap::new();
        for one in &self.scenarios {
            if let Some(reason) = &one.not_compared {
                by_reason.entry(reason).or_default().push(&one.scenario);
            }
        }
        by_reason
    }

    /// Scenarios that expect a join, and start no kubelet with either version, by the reason of the new one.
    #[must_use]
    pub fn without_kubelet(&self) -> BTreeMap<&str, Vec<&ScenarioId>> {
        let mut by_reason: BTreeMap<&str, Vec<&ScenarioId>> = BTreeMap::new();
        for one in self.scenarios.iter().filter(|one| one.without_kubelet) {
            let reason = one.without_kubelet_because.as_deref().unwrap_or_default();
            by_reason.entry(reason).or_default().push(&one.scenario);
        }
        by_reason
    }

    /// Number of scenarios with a state of both versions.
    #[must_use]
    pub fn compared(&self) -> usize {
        let compared = self.scenarios.iter().filter(|one| one.not_compared.is_none());
        compared.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(id: &str, scenario: &str) -> Group {
        Group {
            id: id.to_owned(),
            differences: Vec::new(),
            scenarios: vec![scenario.parse().unwrap()],
            only_with: None,
            in_all: false,
            changed: Vec::new(),
            follows: Vec::new(),
        }
    }

    fn join(scenario: &str, old: &str, new: &str) -> JoinOutcome {
        let side = |outcome: &str| SideOutcome {
            outcome: outcome.to_owned(),
            cause: None,
            evidence: None,
        };
        JoinOutcome {
            scenario: scenario.parse().unwrap(),
            old: side(old),
            new: side(new),
        }
    }

    #[test]
    fn only_a_failure_of_the_node_itself_is_a_new_one() {
        let with = |cause: &str| {
            let mut join = join("a", "passed", "failed");
            join.new.cause = Some(cause.to_owned());
            join
        };
        assert!(with("script-failed: part-001 ended with 1").is_new_failure());
        assert!(with("phase: expected ready, seen metadata").is_new_failure());
        for limit in ["harness-limit: AMIs have `x`", "host-limit: no cgroups"] {
            assert!(!with(limit).is_new_failure(), "{limit}");
        }
        for end in ["errored", "skipped", "passed"] {
            assert!(!join("a", "passed", end).is_new_failure(), "{end}");
        }
        assert!(!join("a", "failed", "failed").is_new_failure());
    }

    #[test]
    fn new_failures_come_first_and_approved_groups_do_not_count() {
        let comparison = Comparison {
            groups: vec![group("1", "a"), group("2", "b"), group("3", "c")],
            joins: vec![
                join("a", "passed", "passed"),
                join("b", "passed", "failed"),
                join("c", "failed", "failed"),
            ],
            approved: BTreeSet::from(["1".to_owned()]),
            ..Comparison::default()
        };
        let open: Vec<_> = comparison.open().iter().map(|group| group.id.as_str()).collect();
        assert_eq!(open, ["2", "3"]);
        assert!(comparison.joins[2].is_same() && !comparison.joins[1].is_same());
    }
}
