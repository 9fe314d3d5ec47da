//! What the runs of a mutant have shown so far.

use std::collections::{BTreeSet, VecDeque};

use nodejoin_core::compare::{ChangedLine, MachineDifference, MachineState};
use nodejoin_core::mutation::MutantResult;
use nodejoin_core::plan::expect::Expect;
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
    /// Scenarios that it has run or will run.
    chosen: BTreeSet<usize>,
    is_extended: bool,
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
            same: Vec::new(),
            passed: Vec::new(),
            differs: BTreeSet::new(),
            problem: None,
            chosen: scenarios.iter().copied().collect(),
            is_extended: false,
            left: scenarios.into(),
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

    /// Adds scenarios that run the changed line and whose expectations name what differs, before a mutant survives:
    /// those that name most, at most this number. Returns whether there are any. The expectations are those of all
    /// scenarios.
    pub(super) fn extend(&mut self, expectations: &[&Expect], most: usize) -> bool {
        if self.is_extended || self.survivals.is_empty() {
            return false;
        }
        self.is_extended = true;
        let differences = self.survivals.iter().flat_map(|survival| &survival.differences);
        let words = differing_words(differences);
        let others = self.mutant.reached_by.iter().copied();
        let mut named: Vec<(usize, usize)> = others
            .filter(|index| !self.chosen.contains(index))
            .filter_map(|index| Some((count_named(expectations.get(index)?, &words), index)))
            .filter(|(count, _)| *count > 0)
            .collect();
        named.sort_by_key(|(count, index)| (std::cmp::Reverse(*count), *index));
        self.left.extend(named.iter().take(most).map(|(_, index)| index));
        !self.left.is_empty()
    }

    /// Whether each scenario that ran left the machine of the script as it is.
    pub(super) fn is_same_everywhere(&self) -> bool {
        !self.same.is_empty() && !self.has_difference()
    }

    /// Whether a scenario that ran did not leave the machine of the script as it is.
    pub(super) fn has_difference(&self) -> bool {
        !self.passed.is_empty() || self.problem.is_some()
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

/// Words of the differing lines that tell what they are about: names of settings, arguments, paths and units.
fn differing_words<'d>(differences: impl Iterator<Item = &'d MachineDifference>) -> BTreeSet<String> {
    const SHORTEST: usize = 5;
    let mut words = BTreeSet::new();
    for difference in differences {
        let lines = difference.lines.iter().map(|line| match line {
            ChangedLine::Old(line) | ChangedLine::New(line) => line.as_str(),
        });
        for text in lines.chain([difference.part.as_str()]) {
            let found = text.split(|c: char| !c.is_ascii_alphanumeric() && !"-_./".contains(c));
            words.extend(found.filter(|word| word.len() >= SHORTEST).map(str::to_owned));
        }
    }
    words
}

/// How many of these words an expectation has.
fn count_named(expect: &Expect, words: &BTreeSet<String>) -> usize {
    let text = serde_json::to_string(expect).unwrap_or_default();
    words.iter().filter(|word| text.contains(word.as_str())).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan;

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

    #[test]
    fn a_mutant_runs_further_scenarios_that_check_what_differs_before_it_survives() {
        let mutant = MutantCase {
            id: "a".to_owned(),
            text: String::new(),
            reached_by: vec![0, 1, 2, 3],
        };
        let expect = |text: &str| plan(&format!("name: x\n{text}")).expect;
        let expectations = [
            expect(""),
            expect("expect: { phase: registered }\n"),
            expect("expect: { kubelet: { config: { kubeReservedCgroup: /runtime } } }\n"),
            expect("expect: { files: { /etc/other: { exists: true } } }\n"),
        ];
        let expectations: Vec<&Expect> = expectations.iter().collect();
        let mut progress = MutantProgress::new(&mutant, vec![0]);
        assert_eq!(progress.next(), Some(0));
        assert!(!progress.extend(&expectations, 8));
        let difference = MachineDifference {
            part: "file /etc/kubernetes/kubelet/kubelet-config.json".to_owned(),
            lines: vec![ChangedLine::Old(
                "  \"kubeReservedCgroup\": \"/runtime\",".to_owned(),
            )],
        };
        let passed = MutantRun::Passed(Box::default(), vec![difference]);
        progress.note(0, &"x".parse().unwrap(), passed);
        assert!(progress.extend(&expectations, 8));
        assert_eq!(progress.left().collect::<Vec<_>>(), [2]);
        assert!(!progress.extend(&expectations, 8));
    }
}
