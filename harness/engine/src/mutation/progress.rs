//! What the runs of a mutant have shown so far.

use std::collections::{BTreeSet, VecDeque};

use nodejoin_core::compare::{ChangedLine, MachineDifference, MachineState};
use nodejoin_core::mutation::MutantResult;
use nodejoin_core::plan::expect::Expect;
use nodejoin_core::plan::ids::ScenarioId;

use super::end::MutantRun;
use super::mutant::MutantCase;

/// A mutant between its runs.
pub(super) struct MutantProgress<'m> {
    pub(super) mutant: &'m MutantCase,
    /// Indexes of the scenarios that it has not run, in their order.
    left: VecDeque<usize>,
    /// Runs that it has caused. One of several mutants counts in part.
    runs: f64,
    most_runs: f64,
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
    pub(super) fn new(mutant: &'m MutantCase, scenarios: Vec<usize>, most_runs: usize) -> Self {
        Self {
            mutant,
            same: Vec::new(),
            passed: Vec::new(),
            differs: BTreeSet::new(),
            problem: None,
            runs: 0.0,
            most_runs: most_runs.max(1) as f64,
            left: scenarios.into(),
            survivals: Vec::new(),
        }
    }

    /// Takes the next scenario, for a run of this mutant alone.
    pub(super) fn next(&mut self) -> Option<usize> {
        let index = self.left().next()?;
        self.take(index);
        self.add_run(1);
        Some(index)
    }

    pub(super) fn has_next(&self) -> bool {
        self.left().next().is_some()
    }

    /// Indexes of the scenarios that it may still run.
    pub(super) fn left(&self) -> impl Iterator<Item = usize> + '_ {
        let may_run = self.runs < self.most_runs;
        self.left.iter().copied().filter(move |_| may_run)
    }

    /// Orders the scenarios that it has not run.
    pub(super) fn order(&mut self, order: impl Fn(&[usize]) -> Vec<usize>) {
        self.left = order(self.left.make_contiguous()).into();
    }

    /// Takes a scenario out of its turn.
    pub(super) fn take(&mut self, index: usize) {
        self.left.retain(|other| *other != index);
    }

    /// Counts a run of this number of mutants.
    pub(super) fn add_run(&mut self, mutants: usize) {
        self.runs += 1.0 / mutants as f64;
    }

    /// Puts scenarios first in which a group of mutants differs. They run whatever the mutant has caused before: it is
    /// not equivalent until it is known to be the same there.
    pub(super) fn put_first(&mut self, indexes: &[usize]) {
        self.most_runs = self.most_runs.max(self.runs + indexes.len() as f64);
        for index in indexes.iter().rev() {
            self.take(*index);
            self.left.push_front(*index);
        }
    }

    /// Puts scenarios first whose expectations name what differs, those that name most, and allows as many runs once
    /// more: they can still kill a mutant that would survive. The expectations are those of all scenarios.
    fn prefer_named(&mut self, expectations: &[&Expect]) {
        let differences = self.survivals.iter().flat_map(|survival| &survival.differences);
        let words = differing_words(differences);
        let named = |index: &usize| {
            expectations
                .get(*index)
                .map_or(0, |expect| count_named(expect, &words))
        };
        let mut left: Vec<usize> = self.left.iter().copied().collect();
        left.sort_by_cached_key(|index| std::cmp::Reverse(named(index)));
        self.left = left.into();
        self.most_runs += self.most_runs;
    }

    /// Whether each scenario that ran left the machine of the script as it is.
    pub(super) fn is_same_everywhere(&self) -> bool {
        !self.same.is_empty() && !self.has_difference()
    }

    /// Whether a scenario that ran did not leave the machine of the script as it is.
    fn has_difference(&self) -> bool {
        !self.passed.is_empty() || self.problem.is_some()
    }

    /// Whether a run of it has ended.
    pub(super) fn has_run(&self) -> bool {
        !self.same.is_empty() || self.has_difference()
    }

    /// How many scenarios left the machine of the script as it is.
    pub(super) fn count_same(&self) -> usize {
        self.same.len()
    }

    /// Adds the end of a run, and returns the result if it decides the mutant. The scenarios are those of all indexes.
    pub(super) fn note(
        &mut self,
        index: usize,
        scenarios: &[(&ScenarioId, &Expect)],
        run: MutantRun,
    ) -> Option<MutantResult> {
        let scenario = scenarios[index].0.clone();
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
                if self.survivals.len() == 1 {
                    let expectations: Vec<&Expect> = scenarios.iter().map(|(_, expect)| *expect).collect();
                    self.prefer_named(&expectations);
                }
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

    /// A mutant that reaches all scenarios, and their ids and expectations.
    fn progress<'m>(mutant: &'m MutantCase, most_runs: usize) -> MutantProgress<'m> {
        MutantProgress::new(mutant, mutant.reached_by.clone(), most_runs)
    }

    fn mutant(reached_by: Vec<usize>) -> MutantCase {
        MutantCase {
            id: "a".to_owned(),
            line: 1,
            text: String::new(),
            reached_by,
        }
    }

    #[test]
    fn one_scenario_that_passes_with_another_machine_makes_a_survivor() {
        let mutant = mutant(vec![0, 1, 2]);
        let ids: Vec<ScenarioId> = ["x", "y", "z"].map(|id| id.parse().unwrap()).into();
        let expect = Expect::default();
        let scenarios: Vec<_> = ids.iter().map(|id| (id, &expect)).collect();
        let mut progress = progress(&mutant, 8);
        assert_eq!(progress.next(), Some(0));
        assert_eq!(progress.note(0, &scenarios, MutantRun::Same), None);
        assert!(progress.is_same_everywhere() && progress.has_next());
        progress.put_first(&[2]);
        assert_eq!(progress.left().collect::<Vec<_>>(), [2, 1]);
        let passed = MutantRun::Passed(Box::default(), Vec::new());
        assert_eq!(progress.note(2, &scenarios, passed), None);
        assert!(!progress.is_same_everywhere());
        let MutantResult::Survived {
            scenarios: survived, ..
        } = progress.result()
        else {
            panic!("not survived");
        };
        assert_eq!(survived, [ids[2].clone()]);
        let killed = progress.note(1, &scenarios, MutantRun::Killed("why".to_owned()));
        assert!(matches!(killed, Some(MutantResult::Killed { .. })));
    }

    #[test]
    fn a_run_of_several_mutants_counts_in_part() {
        let mutant = mutant((0..20).collect());
        let mut progress = progress(&mutant, 2);
        assert_eq!(progress.next(), Some(0));
        for index in 1..=4 {
            assert!(progress.has_next());
            progress.take(index);
            progress.add_run(4);
        }
        assert_eq!(progress.next(), None);
        assert!(!progress.has_next());
        progress.put_first(&[9, 12]);
        assert_eq!((progress.next(), progress.next()), (Some(9), Some(12)));
        assert_eq!(progress.next(), None);
    }

    #[test]
    fn scenarios_that_check_what_differs_come_first_before_a_mutant_survives() {
        let mutant = mutant(vec![0, 1, 2, 3]);
        let expect = |text: &str| plan(&format!("name: x\n{text}")).expect;
        let expectations = [
            expect(""),
            expect("expect: { phase: registered }\n"),
            expect("expect: { kubelet: { config: { kubeReservedCgroup: /runtime } } }\n"),
            expect("expect: { files: { /etc/other: { exists: true } } }\n"),
        ];
        let id: ScenarioId = "x".parse().unwrap();
        let scenarios: Vec<_> = expectations.iter().map(|expect| (&id, expect)).collect();
        let mut progress = progress(&mutant, 1);
        assert_eq!(progress.next(), Some(0));
        assert!(!progress.has_next());
        let difference = MachineDifference {
            part: "file /etc/kubernetes/kubelet/kubelet-config.json".to_owned(),
            lines: vec![ChangedLine::Old(
                "  \"kubeReservedCgroup\": \"/runtime\",".to_owned(),
            )],
        };
        let passed = MutantRun::Passed(Box::default(), vec![difference]);
        progress.note(0, &scenarios, passed);
        assert_eq!(progress.left().collect::<Vec<_>>(), [2, 1, 3]);
        assert_eq!(progress.next(), Some(2));
        assert_eq!(progress.next(), None);
    }
}
