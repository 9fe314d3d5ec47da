//! What changed in a scenario since its last verdict, for a person who edits and runs it again and again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use nodejoin_core::diagnosis::Cause;
use nodejoin_core::judge::verdict::{Outcome, Verdict};
use nodejoin_core::observation::phase::Phase;
use nodejoin_core::plan::ids::ScenarioId;
use parking_lot::Mutex;

use super::text;

/// The last verdict of each scenario. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct VerdictHistory {
    last: Arc<Mutex<BTreeMap<ScenarioId, PastVerdict>>>,
}

/// What is compared of a verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PastVerdict {
    outcome: Outcome,
    cause: Option<Cause>,
    phases: BTreeSet<Phase>,
    /// Checks that did not hold.
    broken: BTreeSet<String>,
}

impl PastVerdict {
    fn of(verdict: &Verdict) -> Self {
        let broken = verdict.checks.iter().filter(|check| !check.held);
        Self {
            outcome: verdict.outcome.clone(),
            cause: verdict.diagnosis.as_ref().map(|diagnosis| diagnosis.cause),
            phases: verdict.phases.keys().copied().collect(),
            broken: broken.map(|check| check.key.clone()).collect(),
        }
    }

    /// The outcome with its cause.
    fn words(&self) -> String {
        let word = text::word(&self.outcome);
        self.cause
            .map_or_else(|| word.to_owned(), |cause| format!("{word} ({})", cause.word()))
    }

    /// What is different now, a line each.
    fn changes(&self, now: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.words() != now.words() {
            lines.push(format!("{} -> {}", self.words(), now.words()));
        }
        let listed = |what: &str, words: Vec<&str>| {
            (!words.is_empty()).then(|| format!("{what} {}", words.join(", ")))
        };
        let phases = |of: &Self, without: &Self| {
            let difference = of.phases.difference(&without.phases);
            difference.map(|phase| phase.word()).collect()
        };
        let broken = |of: &Self, without: &Self| {
            let difference = of.broken.difference(&without.broken);
            difference.map(|key| format!("`{key}`")).collect::<Vec<_>>()
        };
        let (mended, broke) = (broken(self, now), broken(now, self));
        // How far a node gets after all that is expected of it is a matter of time.
        if [&self.outcome, &now.outcome]
            .iter()
            .any(|outcome| **outcome != Outcome::Passed)
        {
            lines.extend(listed("now reaches", phases(now, self)));
            lines.extend(listed("no longer reaches", phases(self, now)));
        }
        lines.extend(listed("now holds:", mended.iter().map(String::as_str).collect()));
        lines.extend(listed(
            "no longer holds:",
            broke.iter().map(String::as_str).collect(),
        ));
        if lines.is_empty() {
            let is_same = self.outcome == now.outcome;
            let text = if is_same {
                "nothing since the last run"
            } else {
                "only the reason"
            };
            lines.push(text.to_owned());
        }
        lines
    }
}

impl VerdictHistory {
    /// Records a verdict and returns what changed, a line each; nothing for the first verdict of a scenario. A
    /// cancelled scenario has no verdict to compare.
    pub fn record(&self, scenario: &ScenarioId, verdict: &Verdict) -> Vec<String> {
        if verdict.outcome == Outcome::Cancelled {
            return Vec::new();
        }
        let now = PastVerdict::of(verdict);
        let mut last = self.last.lock();
        let before = last.insert(scenario.clone(), now.clone());
        before.map_or_else(Vec::new, |before| before.changes(&now))
    }

    /// Whether the last verdict of a scenario needs action; `None` without one.
    #[must_use]
    pub fn needs_action(&self, scenario: &ScenarioId) -> Option<bool> {
        let last = self.last.lock();
        let past = last.get(scenario)?;
        Some(matches!(past.outcome, Outcome::Failed | Outcome::Errored(_)))
    }
}

#[cfg(test)]
mod tests {
    use nodejoin_core::judge::verdict::Check;

    use super::*;
    use crate::verdict::verdict_without_observation;

    fn verdict(outcome: Outcome, phases: &[Phase], broken: &[&str]) -> Verdict {
        let check = |key: &&str| Check {
            key: (*key).to_owned(),
            held: false,
            expected: String::new(),
            seen: String::new(),
        };
        Verdict {
            phases: phases.iter().map(|phase| (*phase, 1)).collect(),
            checks: broken.iter().map(check).collect(),
            ..verdict_without_observation(outcome)
        }
    }

    #[test]
    fn a_verdict_is_compared_with_the_last_one_of_its_scenario() {
        let history = VerdictHistory::default();
        let (one, other) = ("one".parse().unwrap(), "other".parse().unwrap());
        let failed = verdict(Outcome::Failed, &[Phase::Booted], &["phase", "node.labels.team"]);
        let passed = verdict(Outcome::Passed, &[Phase::Booted, Phase::Registered], &[]);
        assert_eq!(history.needs_action(&one), None);
        assert_eq!(history.record(&one, &failed), Vec::<String>::new());
        assert_eq!(history.needs_action(&one), Some(true));
        assert_eq!(history.record(&other, &failed), Vec::<String>::new());
        assert_eq!(history.record(&one, &failed), ["nothing since the last run"]);
        assert_eq!(
            history.record(&one, &passed),
            [
                "FAIL -> ok",
                "now reaches registered",
                "now holds: `node.labels.team`, `phase`"
            ]
        );
        assert_eq!(history.needs_action(&one), Some(false));
        let cancelled = verdict(Outcome::Cancelled, &[], &[]);
        assert_eq!(history.record(&one, &cancelled), Vec::<String>::new());
        let later = verdict(
            Outcome::Passed,
            &[Phase::Booted, Phase::Registered, Phase::Ready],
            &[],
        );
        assert_eq!(history.record(&one, &later), ["nothing since the last run"]);
        assert_eq!(
            history.record(&one, &failed),
            [
                "ok -> FAIL",
                "no longer reaches registered, ready",
                "no longer holds: `node.labels.team`, `phase`"
            ]
        );
    }

    #[test]
    fn another_reason_of_an_errored_scenario_is_a_change() {
        let history = VerdictHistory::default();
        let id = "one".parse().unwrap();
        history.record(&id, &verdict(Outcome::Errored("a".to_owned()), &[], &[]));
        let changes = history.record(&id, &verdict(Outcome::Errored("b".to_owned()), &[], &[]));
        assert_eq!(changes, ["only the reason"]);
    }
}
