//! The report for a terminal.

use std::fmt::Write as _;

use super::{CoverageReport, CoveredScript, Share};

impl CoverageReport {
    /// A table of the scripts with the lines that nothing reached, and a table of the runs.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = format!("{:<14}{:<14}script\n", "lines", "branches");
        for script in &self.scripts {
            row(&mut out, script.lines(), script.branches(), &script.name);
            let missed = missed(script);
            if !missed.is_empty() {
                let _ = writeln!(out, "{:28}not reached: {missed}", "");
            }
        }
        row(&mut out, self.lines(), self.branches(), "all scripts");
        let _ = writeln!(out, "\n{:<14}{:<14}scenario", "lines", "only here");
        for run in self.runs() {
            let reached = self.scripts.iter().filter_map(|script| {
                let coverage = script.by_run.get(run)?;
                let counts = super::line_counts(coverage, script.offset);
                Some(counts.values().filter(|count| **count > 0).count())
            });
            let only: usize = self.scripts.iter().map(|script| script.only_by(run)).sum();
            let _ = writeln!(out, "{:<14}{only:<14}{run}", reached.sum::<usize>());
        }
        out
    }
}

fn row(out: &mut String, lines: Share, branches: Share, name: &str) {
    let share = |share: Share| format!("{}/{} {}%", share.covered, share.all, share.percent());
    let _ = writeln!(out, "{:<14}{:<14}{name}", share(lines), share(branches));
}

/// The lines that nothing reached. Lines without a statement between them do not divide them.
fn missed(script: &CoveredScript) -> String {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    let mut continues = false;
    for (line, count) in script.line_counts() {
        match (count, ranges.last_mut()) {
            (0, Some(range)) if continues => range.1 = line,
            (0, _) => ranges.push((line, line)),
            _ => {}
        }
        continues = count == 0;
    }
    let range = |(first, last): (u64, u64)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.into_iter().map(range).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::*;
    use crate::{ParsedScript, coverage};

    #[test]
    fn the_tables_name_scripts_and_runs() {
        let expected = "lines         branches      script
1/2 50%       0/0 100%      a.yaml
                            not reached: 12
3/3 100%      3/4 75%       join.sh
4/5 80%       3/4 75%       all scripts

lines         only here     scenario
3             1             one
3             1             two
";
        assert_eq!(report().to_text(), expected);
    }

    #[test]
    fn lines_without_a_statement_do_not_divide_a_range() {
        let text = "echo a\n\n# remark\necho b\necho c\necho d\n";
        let mut report = CoverageReport::default();
        report.add(
            "x",
            "x.sh",
            0,
            text,
            coverage(&ParsedScript::of(text), [(5, "echo c", 1)]),
        );
        assert_eq!(missed(&report.scripts[0]), "1-4, 6");
    }
}
