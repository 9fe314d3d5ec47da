//! The report of `nodejoin mutate`: text for a terminal, and Markdown for a pull request.

use std::fmt::Write as _;

use nodejoin_core::mutation::{MutantReport, MutantResult, MutationReport};
use nodejoin_core::redact::redact_lines;

use super::exploration::cell_text;

/// Scenarios of a survivor that the report names; the JSON report has all of them.
const NAMED: usize = 4;
/// Longest change in a line of the report, in characters.
const LONGEST: usize = 80;

/// The report for a terminal: what a scenario should kill first.
#[must_use]
pub fn text(report: &MutationReport) -> String {
    let mut text = String::new();
    for mutant in open(report) {
        let _ = writeln!(
            text,
            "{}  {}:{}  {}  {}\n  {}",
            mutant.id,
            report.script,
            mutant.line,
            mutant.result.word(),
            mutant.operator,
            change(mutant)
        );
        if let Some(why) = reason(&mutant.result) {
            let _ = writeln!(text, "  {why}");
        }
        if let Some(path) = &mutant.written {
            let _ = writeln!(text, "  would be killed by {path}");
        }
        text.push('\n');
    }
    for unused in &report.not_used {
        let _ = writeln!(text, "not used: {}: {}", unused.scenario, unused.why);
    }
    let _ = writeln!(text, "{}", last_line(report));
    redact_lines(&text)
}

/// One line for a mutant that has not run.
#[must_use]
pub fn listed(mutant: &MutantReport) -> String {
    format!(
        "{}  line {}  {}  {}",
        mutant.id,
        mutant.line,
        mutant.operator,
        change(mutant)
    )
}

/// The report for a pull request.
#[must_use]
pub fn markdown(report: &MutationReport) -> String {
    let mut text = format!(
        "### nodejoin: changes of {} that no scenario notices\n\n{}\n",
        report.script,
        last_line(report)
    );
    if open(report).next().is_some() {
        text.push_str("\n| id | line | result | operator | change |\n| --- | --- | --- | --- | --- |\n");
    }
    for mutant in open(report) {
        let cells = [
            mutant.id.clone(),
            mutant.line.to_string(),
            mutant.result.word().to_owned(),
            mutant.operator.clone(),
            change(mutant),
        ];
        let cells: Vec<String> = cells.iter().map(|cell| cell_text(cell)).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    redact_lines(&text)
}

/// Mutants that a scenario could kill and none did, and those without a result.
fn open(report: &MutationReport) -> impl Iterator<Item = &MutantReport> {
    let is_open = |mutant: &&MutantReport| {
        !matches!(
            mutant.result,
            MutantResult::Killed { .. }
                | MutantResult::TimedOut { .. }
                | MutantResult::Equivalent { .. }
                | MutantResult::LeftOut
        )
    };
    report.mutants.iter().filter(is_open)
}

fn change(mutant: &MutantReport) -> String {
    let short = |text: &str| {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{}...", &line[..end]),
            None => line,
        }
    };
    match short(&mutant.after).as_str() {
        "" => format!("without `{}`", short(&mutant.before)),
        after => format!("`{}` becomes `{after}`", short(&mutant.before)),
    }
}

fn reason(result: &MutantResult) -> Option<String> {
    match result {
        MutantResult::Survived { scenarios, differs } => {
            let names: Vec<&str> = scenarios.iter().take(NAMED).map(|id| id.as_str()).collect();
            let more = match scenarios.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            Some(format!(
                "passes in {}{more}, with a difference in {}",
                names.join(", "),
                differs.join(", ")
            ))
        }
        MutantResult::Uncovered => Some("no scenario runs this line".to_owned()),
        MutantResult::NotRun { why } => Some(why.clone()),
        MutantResult::Killed { .. }
        | MutantResult::TimedOut { .. }
        | MutantResult::Equivalent { .. }
        | MutantResult::LeftOut => None,
    }
}

fn last_line(report: &MutationReport) -> String {
    let words = [
        "killed",
        "timed out",
        "survived",
        "uncovered",
        "equivalent",
        "not run",
        "left out",
    ];
    let counts: Vec<String> = words
        .iter()
        .map(|word| format!("{} {word}", report.count(word)))
        .collect();
    let score = report
        .score()
        .map_or_else(|| "no score".to_owned(), |score| format!("score {score:.0} %"));
    format!(
        "{score}: {} mutants, {} in {} scenarios, {:.0} s",
        report.mutants.len(),
        counts.join(", "),
        report.scenarios.len(),
        report.seconds
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(line: u64, before: &str, after: &str, result: MutantResult) -> MutantReport {
        MutantReport {
            id: format!("{line:010}"),
            operator: "drop-statement".to_owned(),
            line,
            before: before.to_owned(),
            after: after.to_owned(),
            result,
            written: None,
        }
    }

    fn report() -> MutationReport {
        let id = |text: &str| text.parse().unwrap();
        MutationReport {
            script: "join.sh".to_owned(),
            mutants: vec![
                mutant(
                    1,
                    "a",
                    ":",
                    MutantResult::Killed {
                        scenario: id("one"),
                        how: "no kubelet starts".to_owned(),
                    },
                ),
                mutant(
                    2,
                    "touch /x |\n  b",
                    "",
                    MutantResult::Survived {
                        scenarios: vec![id("one"), id("two")],
                        differs: vec!["file /x".to_owned()],
                    },
                ),
                mutant(3, "c", ":", MutantResult::Uncovered),
            ],
            scenarios: vec![id("one"), id("two")],
            seconds: 61.0,
            ..MutationReport::default()
        }
    }

    #[test]
    fn the_text_names_what_no_scenario_notices() {
        let expected = "0000000002  join.sh:2  survived  drop-statement
  without `touch /x | b`
  passes in one, two, with a difference in file /x

0000000003  join.sh:3  uncovered  drop-statement
  `c` becomes `:`
  no scenario runs this line

score 33 %: 3 mutants, 1 killed, 0 timed out, 1 survived, 1 uncovered, 0 equivalent, 0 not run, 0 left out in 2 scenarios, 61 s
";
        assert_eq!(text(&report()), expected);
    }

    #[test]
    fn cells_of_the_markdown_have_no_bars() {
        let text = markdown(&report());
        assert!(
            text.contains("| 0000000002 | 2 | survived | drop-statement | without `touch /x \\| b` |"),
            "{text}"
        );
    }
}
