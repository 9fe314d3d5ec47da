//! Which small changes of a script a suite of scenarios notices, as data.

mod noticed;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::compare::short_id;
use crate::vocabulary::ids::ScenarioId;

pub use noticed::{Noticed, noticed, together};

/// The result of `nodejoin mutate`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MutationReport {
    /// The script, as the command line names it.
    pub script: String,
    /// In the order of the lines of the script.
    pub mutants: Vec<MutantReport>,
    /// Scenarios whose nodes have the script, and that can be compared.
    pub scenarios: Vec<ScenarioId>,
    /// Scenarios that cannot be compared, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_used: Vec<UnusedScenario>,
    /// Seconds of the whole run.
    pub seconds: f64,
}

/// A scenario that tests no mutant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnusedScenario {
    pub scenario: ScenarioId,
    pub why: String,
}

/// A change of the script and its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MutantReport {
    /// Ten hexadecimal digits that depend on the operator, the line's text and the change.
    pub id: String,
    /// The kind of mistake, such as `drop-statement`.
    pub operator: String,
    /// Line of the script.
    pub line: u64,
    /// The changed text before and after.
    pub before: String,
    pub after: String,
    pub result: MutantResult,
    /// The scenario that was written because it passes without the change and fails with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
}

/// What became of a changed script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MutantResult {
    /// A scenario does not pass with it.
    Killed { scenario: ScenarioId, how: String },
    /// A scenario took much longer than with the script as it is.
    TimedOut { scenario: ScenarioId },
    /// All scenarios that ran it pass, although it leaves another machine.
    Survived {
        scenarios: Vec<ScenarioId>,
        /// The parts of the machine that differ.
        differs: Vec<String>,
    },
    /// It leaves the same machine in all scenarios that ran it.
    Equivalent { scenarios: Vec<ScenarioId> },
    /// No scenario runs its line.
    Uncovered,
    /// It could not run.
    NotRun { why: String },
    /// There was no time for it.
    LeftOut,
}

impl MutantResult {
    /// The word in reports.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Killed { .. } => "killed",
            Self::TimedOut { .. } => "timed out",
            Self::Survived { .. } => "survived",
            Self::Equivalent { .. } => "equivalent",
            Self::Uncovered => "uncovered",
            Self::NotRun { .. } => "not run",
            Self::LeftOut => "left out",
        }
    }
}

impl MutationReport {
    /// How many mutants have a result with this word.
    #[must_use]
    pub fn count(&self, word: &str) -> usize {
        self.mutants
            .iter()
            .filter(|mutant| mutant.result.word() == word)
            .count()
    }

    /// Percentage of mutants that a scenario notices, killed and timed out, among these and the survived and uncovered
    /// ones. `None` if there are none.
    #[must_use]
    pub fn score(&self) -> Option<f64> {
        let noticed = self.count("killed") + self.count("timed out");
        let all = noticed + self.count("survived") + self.count("uncovered");
        (all > 0).then(|| noticed as f64 * 100.0 / all as f64)
    }
}

/// The id of a mutant. Lines that move keep their ids.
#[must_use]
pub fn mutant_id(operator: &str, before: &str, after: &str, line: &str, earlier: usize) -> String {
    short_id([format!("{operator}\n{before}\n{after}\n{line}\n{earlier}")])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(result: MutantResult) -> MutantReport {
        MutantReport {
            id: "0123456789".to_owned(),
            operator: "negate".to_owned(),
            line: 1,
            before: String::new(),
            after: String::new(),
            result,
            written: None,
        }
    }

    #[test]
    fn the_score_leaves_out_equivalent_mutants_and_those_that_did_not_run() {
        let killed = || MutantResult::Killed {
            scenario: "a".parse().unwrap(),
            how: String::new(),
        };
        let survived = MutantResult::Survived {
            scenarios: Vec::new(),
            differs: Vec::new(),
        };
        let equivalent = MutantResult::Equivalent {
            scenarios: Vec::new(),
        };
        let timed_out = MutantResult::TimedOut {
            scenario: "a".parse().unwrap(),
        };
        let results = [
            killed(),
            timed_out,
            survived,
            equivalent,
            MutantResult::Uncovered,
            MutantResult::LeftOut,
        ];
        let report = MutationReport {
            mutants: results.map(mutant).into(),
            ..MutationReport::default()
        };
        assert_eq!(report.score(), Some(50.0));
        assert_eq!(report.count("left out"), 1);
        assert_eq!(MutationReport::default().score(), None);
    }

    #[test]
    fn equal_changes_of_equal_lines_have_ids_of_their_own() {
        let id = |earlier| mutant_id("negate", "a", "! a", "if a; then", earlier);
        assert_ne!(id(0), id(1));
        assert_eq!(id(0).len(), 10);
    }
}
