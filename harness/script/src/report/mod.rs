//! The coverage of scripts by several runs, and the formats in which it is written.

mod formats;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::coverage::{BranchCoverage, ScriptCoverage, StatementCoverage};

/// The coverage of several scripts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CoverageReport {
    /// By name.
    pub scripts: Vec<CoveredScript>,
}

/// A script with what each run covers of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoveredScript {
    /// Path of the file, or the path on the node of a script that no file contains.
    pub name: String,
    /// Number of lines before the script in its file.
    pub offset: u64,
    pub text: String,
    /// By the name of the run.
    pub by_run: BTreeMap<String, ScriptCoverage>,
}

/// A part of a number of lines or branches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Share {
    pub covered: usize,
    pub all: usize,
}

impl Share {
    /// Rounded down, so that 100 means all.
    #[must_use]
    pub fn percent(self) -> usize {
        (self.covered * 100).checked_div(self.all).unwrap_or(100)
    }

    fn of(covered: impl Iterator<Item = bool>) -> Self {
        covered.fold(Self::default(), |share, covered| Self {
            covered: share.covered + usize::from(covered),
            all: share.all + 1,
        })
    }
}

impl std::ops::Add for Share {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            covered: self.covered + other.covered,
            all: self.all + other.all,
        }
    }
}

impl CoverageReport {
    /// Adds what a run covers of a script. The same lines of a file are one script, also when a run fills in values.
    pub fn add(&mut self, run: &str, name: &str, offset: u64, text: &str, coverage: ScriptCoverage) {
        let lines = |coverage: &ScriptCoverage| -> Vec<u64> {
            coverage
                .statements
                .iter()
                .map(|statement| statement.line)
                .collect()
        };
        let is_same = |script: &&mut CoveredScript| {
            let known = script.by_run.values().next();
            script.name == name
                && script.offset == offset
                && known.is_some_and(|known| lines(known) == lines(&coverage))
        };
        match self.scripts.iter_mut().find(is_same) {
            Some(script) => script.by_run.entry(run.to_owned()).or_default().merge(&coverage),
            None => self.scripts.push(CoveredScript {
                name: name.to_owned(),
                offset,
                text: text.to_owned(),
                by_run: [(run.to_owned(), coverage)].into(),
            }),
        }
        self.scripts
            .sort_by(|a, b| (&a.name, a.offset).cmp(&(&b.name, b.offset)));
    }

    /// The covered part of all lines.
    #[must_use]
    pub fn lines(&self) -> Share {
        self.scripts
            .iter()
            .map(CoveredScript::lines)
            .fold(Share::default(), std::ops::Add::add)
    }

    /// The covered part of all branches, each of which is taken or not.
    #[must_use]
    pub fn branches(&self) -> Share {
        self.scripts
            .iter()
            .map(CoveredScript::branches)
            .fold(Share::default(), std::ops::Add::add)
    }

    /// The names of all runs.
    #[must_use]
    pub fn runs(&self) -> BTreeSet<&str> {
        let runs = self.scripts.iter().flat_map(|script| script.by_run.keys());
        runs.map(String::as_str).collect()
    }
}

impl CoveredScript {
    /// The coverage by all runs.
    #[must_use]
    pub fn total(&self) -> ScriptCoverage {
        let mut total = ScriptCoverage::default();
        self.by_run.values().for_each(|coverage| total.merge(coverage));
        total
    }

    /// How often each line ran on which a statement begins: that of its statement that ran most.
    #[must_use]
    pub fn line_counts(&self) -> BTreeMap<u64, u64> {
        line_counts(&self.total(), self.offset)
    }

    /// The statements of which a part is in one of these lines of the file, with their first lines and how often they
    /// ran. None if no statement of the script ran.
    #[must_use]
    pub fn statements_in(&self, lines: &Range<u64>) -> Vec<(u64, u64)> {
        let statements = self.total().statements;
        if statements.iter().all(|statement| statement.count == 0) {
            return Vec::new();
        }
        let first = |statement: &StatementCoverage| statement.line + self.offset;
        let is_in = |statement: &&StatementCoverage| {
            first(statement) < lines.end && statement.last_line + self.offset >= lines.start
        };
        let found = statements.iter().filter(is_in);
        found
            .map(|statement| (first(statement), statement.count))
            .collect()
    }

    fn lines(&self) -> Share {
        Share::of(self.line_counts().values().map(|count| *count > 0))
    }

    fn branches(&self) -> Share {
        let total = self.total();
        let ways = total
            .branches
            .iter()
            .flat_map(|branch| [branch.taken, branch.not_taken]);
        Share::of(ways.map(|count| count > 0))
    }

    /// Lines that only this run reaches.
    fn only_by(&self, run: &str) -> usize {
        let lines = |coverage: &ScriptCoverage| -> BTreeSet<u64> {
            let counts = line_counts(coverage, self.offset).into_iter();
            counts
                .filter(|(_, count)| *count > 0)
                .map(|(line, _)| line)
                .collect()
        };
        let Some(own) = self.by_run.get(run) else { return 0 };
        let others = self.by_run.iter().filter(|(name, _)| *name != run);
        let others: BTreeSet<u64> = others.flat_map(|(_, coverage)| lines(coverage)).collect();
        lines(own).difference(&others).count()
    }

    fn branches_of_line(&self) -> BTreeMap<u64, Vec<BranchCoverage>> {
        let mut by_line: BTreeMap<u64, Vec<BranchCoverage>> = BTreeMap::new();
        for branch in self.total().branches {
            let line = branch.branch.line + self.offset;
            by_line.entry(line).or_default().push(branch);
        }
        by_line
    }
}

fn line_counts(coverage: &ScriptCoverage, offset: u64) -> BTreeMap<u64, u64> {
    let mut counts = BTreeMap::new();
    for statement in &coverage.statements {
        let count = counts.entry(statement.line + offset).or_default();
        *count = statement.count.max(*count);
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ParsedScript, coverage};

    pub(super) const TEXT: &str =
        "#!/bin/bash\nif [[ $1 == a ]]; then\n  echo \"<a>\"\nfi\nfalse && echo b\n";

    pub(super) fn report() -> CoverageReport {
        let script = ParsedScript::of(TEXT);
        let mut report = CoverageReport::default();
        let covered = |commands: &[(u64, &str, u64)]| coverage(&script, commands.iter().copied());
        let first = covered(&[(2, "[[ $1 == a ]]", 1), (3, "echo \"<a>\"", 1), (5, "false", 1)]);
        let second = covered(&[(2, "[[ $1 == a ]]", 1), (5, "false", 1)]);
        report.add("one", "join.sh", 0, TEXT, first);
        report.add("two", "join.sh", 0, TEXT, second);
        report.add(
            "two",
            "a.yaml",
            10,
            "echo a\necho b\n",
            coverage(&ParsedScript::of("echo a\necho b\n"), [(1, "echo a", 1)]),
        );
        report
    }

    #[test]
    fn lines_and_branches_are_those_of_all_runs() {
        let report = report();
        let names: Vec<&str> = report.scripts.iter().map(|script| script.name.as_str()).collect();
        assert_eq!(names, ["a.yaml", "join.sh"]);
        assert_eq!(report.lines(), Share { covered: 4, all: 5 });
        assert_eq!(report.branches(), Share { covered: 3, all: 4 });
        let join = &report.scripts[1];
        assert_eq!(join.line_counts(), [(2, 2), (3, 1), (5, 2)].into());
        assert_eq!(
            (join.only_by("one"), join.only_by("two"), join.only_by("three")),
            (1, 0, 0)
        );
        assert_eq!(report.scripts[0].line_counts(), [(11, 1), (12, 0)].into());
        assert_eq!(report.runs().into_iter().collect::<Vec<_>>(), ["one", "two"]);
    }

    #[test]
    fn other_lines_under_the_same_name_are_another_script() {
        let mut report = report();
        report.add(
            "three",
            "join.sh",
            0,
            "echo a\n",
            coverage(&ParsedScript::of("echo a\n"), []),
        );
        assert_eq!(report.scripts.len(), 3);
    }

    #[test]
    fn a_share_of_nothing_is_complete_and_a_part_is_rounded_down() {
        assert_eq!(Share::default().percent(), 100);
        assert_eq!(
            Share {
                covered: 999,
                all: 1000
            }
            .percent(),
            99
        );
    }
}
