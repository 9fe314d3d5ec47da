//! What the runs of a mutant have shown so far.

use std::collections::{BTreeSet, VecDeque};

use nodejoin_core::compare::{MachineDifference, MachineState};
use nodejoin_core::mutation::MutantResult;
use nodejoin_core::plan::ids::ScenarioId;

use super::MutantCase;
use super::end::MutantRun;

/// A mutant between its runs.
pub(super) struct MutantProgress<'m> {
    pub(super) mutant: &'m MutantCase,
    /// Indexes of the scenarios that it has not run, in their order.
    left: VecDeque<usize>,
    same: Vec<ScenarioId>,
    passed: Vec<ScenarioId>,
    differs: BTreeSet<String>,
    problem: Option<String>,
    pub(super) survivals: Vec<Survival>,
}

/// A scenario that passes with a mutant, and the machine that it leaves.
pub(super) struct Survival {
    pub(super) index: usize,
    pub(super) state: Box<MachineState>,
    pub(super) differences: Vec<MachineDifference>,
}

impl<'m> MutantProgress<'m> {
    pub(super) fn new(mutant: &'m MutantCase, scenarios: Vec<usize>) -> Self {
        Self {
            mutant,
            left: scenarios.into(),
            same: Vec::new(),
            passed: Vec::new(),
            differs: BTreeSet::new(),
            problem: None,
            survivals: Vec::new(),
        }
    }

    pub(super) fn next(&mut self) -> Option<usize> {
        self.left.pop_front()
    }

    pub(super) fn has_next(&self) -> bool {
        !self.left.is_empty()
    }

    /// Indexes of the scenarios that it has not run.
    pub(super) fn left(&self) -> impl Iterator<Item = usize> + '_ {
        self.left.iter().copied()
    }

    /// Takes a scenario out of its turn.
    pub(super) fn take(&mut self, index: usize) {
        self.left.retain(|other| *other != index);
    }

    pub(super) fn put_first(&mut self, index: usize) {
        self.take(index);
        self.left.push_front(index);
    }

    /// Whether each scenario that ran left the machine of the script as it is.
    pub(super) fn is_same_everywhere(&self) -> bool {
        !self.same.is_empty() && self.passed.is_empty() && self.problem.is_none()
    }

    /// How many scenarios left the machine of the script as it is.
    pub(super) fn count_same(&self) -> usize {
        self.same.len()
    }

    /// Adds a run, and returns the result if it decides the mutant.
    pub(super) fn note(
        &mut self,
        index: usize,
        scenario: &ScenarioId,
        run: MutantRun,
    ) -> Option<MutantResult> {
        let scenario = scenario.clone();
        match run {
            MutantRun::Same => self.same.push(scenario),
            MutantRun::Passed(state, differences) => {
                let parts = differences.iter().map(|difference| difference.part.clone());
                self.differs.extend(parts);
                self.passed.push(scenario);
                self.survivals.push(Survival {
                    index,
                    state,
                    differences,
                });
            }
            MutantRun::Killed(how) => return Some(MutantResult::Killed { scenario, how }),
            MutantRun::TimedOut => return Some(MutantResult::TimedOut { scenario }),
            MutantRun::NotRun(why) => self.problem = Some(format!("{scenario}: {why}")),
        }
        None
    }

    /// The result after the last run.
    pub(super) fn result(&self) -> MutantResult {
        match (self.passed.is_empty(), self.same.is_empty(), &self.problem) {
            (false, ..) => MutantResult::Survived {
                scenarios: self.passed.clone(),
                differs: self.differs.iter().cloned().collect(),
            },
            (true, false, _) => MutantResult::Equivalent {
                scenarios: self.same.clone(),
            },
            (true, true, why) => MutantResult::NotRun {
                why: why.clone().unwrap_or_else(|| "no scenario ran".to_owned()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_scenario_that_passes_with_another_machine_makes_a_survivor() {
        let mutant = MutantCase {
            id: "a".to_owned(),
            text: String::new(),
            reached_by: vec![4, 7, 9],
        };
        let scenario = |name: &str| name.parse::<ScenarioId>().unwrap();
        let mut progress = MutantProgress::new(&mutant, vec![4, 7, 9]);
        assert_eq!(progress.next(), Some(4));
        assert_eq!(progress.note(4, &scenario("x"), MutantRun::Same), None);
        assert!(progress.is_same_everywhere() && progress.has_next());
        progress.put_first(9);
        assert_eq!(progress.left().collect::<Vec<_>>(), [9, 7]);
        let passed = MutantRun::Passed(Box::default(), Vec::new());
        assert_eq!(progress.note(9, &scenario("y"), passed), None);
        assert!(!progress.is_same_everywhere());
        let MutantResult::Survived { scenarios, .. } = progress.result() else {
            panic!("not survived");
        };
        assert_eq!(scenarios, [scenario("y")]);
        let killed = progress.note(7, &scenario("z"), MutantRun::Killed("why".to_owned()));
        assert!(matches!(killed, Some(MutantResult::Killed { .. })));
    }
}
