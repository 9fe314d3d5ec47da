//! The scenarios of several runs, as text and as one JUnit report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use nodejoin_core::judge::verdict::Outcome;
use nodejoin_core::plan::ids::ScenarioId;
use nodejoin_core::run::event::Summary;
use nodejoin_core::run::last_run::without_run;
use nodejoin_core::run::shard::Shard;
use quick_junit::{Report, TestCase, TestSuite};

use crate::report::{junit, text};

/// A scenario of one of the runs.
#[derive(Debug, Clone)]
pub struct MergedScenario {
    /// The sentence that describes the scenario; empty if no record has it.
    pub name: String,
    pub outcome: Outcome,
    /// Why it did not pass, in one sentence.
    pub because: Option<String>,
    pub seconds: f64,
    /// The page of its evidence.
    pub page: Option<PathBuf>,
    /// The command that runs it again.
    pub command: Option<String>,
    pub(super) case: Option<TestCase>,
}

/// The scenarios of several runs.
#[derive(Debug, Default)]
pub struct MergedRuns {
    /// By run and scenario.
    scenarios: BTreeMap<(String, ScenarioId), MergedScenario>,
    pub(super) runs: BTreeSet<String>,
    pub(super) shards: BTreeSet<Shard>,
}

impl MergedRuns {
    /// Adds a scenario, or what the earlier description of the same one lacks.
    pub(super) fn add(&mut self, run: &str, scenario: ScenarioId, found: MergedScenario) {
        self.runs.insert(run.to_owned());
        let Some(known) = self.scenarios.get_mut(&(run.to_owned(), scenario.clone())) else {
            self.scenarios.insert((run.to_owned(), scenario), found);
            return;
        };
        // Only the record has it.
        if known.name.is_empty() {
            known.name = found.name;
        }
        known.page = known.page.take().or(found.page);
        known.command = known.command.take().or(found.command);
        known.case = known.case.take().or(found.case);
        known.because = known.because.take().or(found.because);
    }

    /// The counts of all runs.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        for one in self.scenarios.values() {
            summary.count(&one.outcome);
            summary.seconds += one.seconds;
        }
        summary
    }

    /// Each scenario with its id.
    pub(crate) fn scenarios(&self) -> impl Iterator<Item = (&ScenarioId, &MergedScenario)> {
        self.scenarios.iter().map(|((_, id), one)| (id, one))
    }

    /// The ids of the runs, or the files of runs without one.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &str> {
        self.runs.iter().map(String::as_str)
    }

    /// Scenarios that passed in one run and did not in another, with the count of each outcome.
    #[must_use]
    pub fn flaky(&self) -> Vec<(String, Summary)> {
        let mut by_id: BTreeMap<&str, Summary> = BTreeMap::new();
        for (id, one) in self.scenarios() {
            by_id.entry(without_run(id)).or_default().count(&one.outcome);
        }
        let is_flaky = |counts: &Summary| counts.passed > 0 && counts.failed + counts.errored > 0;
        let flaky = by_id.into_iter().filter(|(_, counts)| is_flaky(counts));
        flaky.map(|(id, counts)| (id.to_owned(), counts)).collect()
    }

    /// Shards that no report is of, although a report is of another shard of the same count.
    #[must_use]
    pub fn missing_shards(&self) -> Vec<String> {
        let counts: BTreeSet<u32> = self.shards.iter().map(Shard::count).collect();
        let all = counts
            .into_iter()
            .flat_map(|count| (1..=count).map(move |index| format!("{index}/{count}")));
        all.filter(|shard| !self.shards.iter().any(|found| found.to_string() == *shard))
            .collect()
    }

    /// The runs as text: what did not pass, what is flaky, the slowest scenarios and the counts.
    #[must_use]
    pub fn to_text(&self, slowest: usize) -> String {
        let mut lines = Vec::new();
        let failing: Vec<_> = self.scenarios().filter(|(_, one)| one.needs_action()).collect();
        for (id, one) in &failing {
            lines.push(one.line(id));
            let because = one.because.as_deref().unwrap_or_default();
            let page = one.page.as_deref().map(|page| page.display().to_string());
            for (label, value) in [
                ("because", Some(because.to_owned())),
                ("again", one.command.clone()),
                ("evidence", page),
            ] {
                if let Some(value) = value.filter(|value| !value.is_empty()) {
                    lines.push(format!("        {label:<10}{value}"));
                }
            }
        }
        let flaky = self.flaky();
        if !flaky.is_empty() {
            lines.push("flaky:".to_owned());
            lines.extend(
                flaky
                    .iter()
                    .map(|(id, counts)| format!("  {id}: {}", text::counts(counts))),
            );
        }
        let mut by_time: Vec<_> = self.scenarios().collect();
        by_time.sort_by(|(_, one), (_, other)| other.seconds.total_cmp(&one.seconds));
        if slowest > 0 && !by_time.is_empty() {
            lines.push("slowest:".to_owned());
            lines.extend(by_time.iter().take(slowest).map(|(id, one)| one.line(id)));
        }
        for shard in self.missing_shards() {
            lines.push(format!("warning: no report of shard {shard}"));
        }
        let summary = self.summary();
        lines.push(format!(
            "{} scenarios of {} runs: {}; {:.1} s in all",
            self.scenarios.len(),
            self.runs.len(),
            text::counts(&summary),
            summary.seconds
        ));
        lines.join("\n")
    }

    /// One JUnit report with a suite for each run. A scenario of which only the record is given has no output.
    ///
    /// # Errors
    /// When the XML is not UTF-8, which quick-junit prevents.
    pub fn to_junit(&self) -> Result<String, quick_junit::SerializeError> {
        let mut report = Report::new(junit::NAME);
        for run in &self.runs {
            let mut suite = TestSuite::new(junit::NAME);
            junit::describe(&mut suite, run, None);
            for ((_, id), one) in self.scenarios.iter().filter(|((of, _), _)| of == run) {
                suite.add_test_case(one.case.clone().unwrap_or_else(|| one.to_case(id)));
            }
            report.add_test_suite(suite);
        }
        report.to_string()
    }
}

impl MergedScenario {
    /// Whether a person has to act.
    pub(crate) fn needs_action(&self) -> bool {
        matches!(self.outcome, Outcome::Failed | Outcome::Errored(_))
    }

    fn line(&self, id: &ScenarioId) -> String {
        format!("  {:<6}{:>6.1} s  {id}", text::word(&self.outcome), self.seconds)
    }

    fn to_case(&self, id: &ScenarioId) -> TestCase {
        let because = self.because.clone().unwrap_or_default();
        let mut case = TestCase::new(id.to_string(), junit::status_of(&self.outcome, &because));
        case.set_time(Duration::from_secs_f64(self.seconds.max(0.0)));
        junit::describe_case(&mut case, &self.name, &self.outcome);
        case
    }
}
