//! The report of `nodejoin explore`: text for a terminal, and Markdown for a pull request.

use std::fmt::Write as _;

use nodejoin_core::explore::{Exploration, ExploreFinding};
use nodejoin_core::redact::redact_lines;

use super::comparison::sentences::counted;

/// Worlds of a finding that the report names; the JSON report has all of them.
const NAMED: usize = 6;

/// The report for a terminal.
#[must_use]
pub fn text(exploration: &Exploration) -> String {
    let mut text = String::new();
    for finding in exploration.open() {
        let _ = writeln!(
            text,
            "{}  {}  {}",
            finding.id,
            finding.kind.word(),
            where_(finding)
        );
        let _ = writeln!(text, "  {}", finding.what);
        for detail in &finding.details {
            let _ = writeln!(text, "  {detail}");
        }
        let _ = writeln!(text, "  in {}\n", worlds(finding));
    }
    for (scenario, why) in not_run(exploration) {
        let _ = writeln!(text, "not run: {scenario}: {why}");
    }
    text.push_str(&last_line(exploration));
    text.push('\n');
    redact_lines(&text)
}

/// The report for a pull request.
#[must_use]
pub fn markdown(exploration: &Exploration) -> String {
    let mut text = format!("### nodejoin: other worlds\n\n{}\n", last_line(exploration));
    if exploration.open().next().is_some() {
        text.push_str("\n| id | finding | where | what | worlds |\n| --- | --- | --- | --- | --- |\n");
    }
    for finding in exploration.open() {
        let cells = [
            finding.id.clone(),
            finding.kind.word().to_owned(),
            where_(finding),
            finding.what.clone(),
            worlds(finding),
        ];
        let cells: Vec<String> = cells.iter().map(|cell| cell_text(cell)).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    redact_lines(&text)
}

fn where_(finding: &ExploreFinding) -> String {
    match finding.only_with.is_empty() {
        true => "in the world of the scenario".to_owned(),
        false => format!("with {}", finding.only_with.join(" and ")),
    }
}

fn worlds(finding: &ExploreFinding) -> String {
    let names: Vec<&str> = finding.worlds.iter().take(NAMED).map(|id| id.as_str()).collect();
    match finding.worlds.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => format!("{}, and {more} more", names.join(", ")),
    }
}

fn not_run(exploration: &Exploration) -> impl Iterator<Item = (&str, &str)> {
    let worlds = exploration.worlds.iter();
    worlds.filter_map(|world| Some((world.scenario.as_str(), world.not_run.as_deref()?)))
}

fn last_line(exploration: &Exploration) -> String {
    let joins = exploration
        .worlds
        .iter()
        .filter(|world| world.join.is_some())
        .count();
    let left_out = match (exploration.left_out, exploration.cancelled) {
        (0, false) => String::new(),
        (0, true) => ", cancelled before the end".to_owned(),
        (left, false) => format!(", {left} left out for time"),
        (left, true) => format!(", cancelled before the end, {left} left out"),
    };
    let open = exploration.open().count();
    let approved = match exploration.findings.len() - open {
        0 => String::new(),
        approved => format!(", {approved} approved"),
    };
    format!(
        "{}{approved} in {} with {}, {}, seed {}, {:.0} s{left_out}",
        counted(open, "finding"),
        counted(exploration.ran(), "world"),
        counted(exploration.machines, "distinct machine"),
        counted(joins, "join"),
        exploration.seed,
        exploration.seconds
    )
}

/// Text in a cell of a table.
pub(super) fn cell_text(text: &str) -> String {
    let mut cell = String::new();
    for c in text.chars() {
        match c {
            '|' => cell.push_str("\\|"),
            '<' => cell.push_str("&lt;"),
            '&' => cell.push_str("&amp;"),
            '\n' => cell.push(' '),
            c => cell.push(c),
        }
    }
    cell
}

#[cfg(test)]
mod tests {
    use nodejoin_core::explore::{ExploredWorld, FindingKind};

    use super::*;

    fn exploration() -> Exploration {
        let world = |id: &str, changes: &[&str], not_run: Option<&str>| ExploredWorld {
            scenario: id.parse().unwrap(),
            changes: changes.iter().map(|name| (*name).to_owned()).collect(),
            not_run: not_run.map(str::to_owned),
            new_commands: 0,
            same_machine_as: None,
            join: not_run.is_none().then(|| "passed".to_owned()),
        };
        Exploration {
            cancelled: false,
            findings: vec![
                ExploreFinding {
                    id: "0123456789".to_owned(),
                    kind: FindingKind::NoKubelet,
                    worlds: (1..9).map(|n| format!("a@ipv6_{n}").parse().unwrap()).collect(),
                    only_with: vec!["ipv6".to_owned()],
                    what: "join.sh: <a|b>".to_owned(),
                    details: vec!["exit code of part-001: 3".to_owned()],
                    reproduction: None,
                    expect: None,
                },
                ExploreFinding {
                    id: "abcdef0123".to_owned(),
                    kind: FindingKind::SuspiciousValue,
                    worlds: vec!["a".parse().unwrap()],
                    only_with: Vec::new(),
                    what: "kubelet arguments: `--node-ip` has an empty value".to_owned(),
                    details: Vec::new(),
                    reproduction: None,
                    expect: None,
                },
            ],
            worlds: vec![
                world("a", &[], None),
                world("a@spot", &["spot"], Some("no image")),
            ],
            left_out: 3,
            machines: 2,
            seed: 1,
            seconds: 12.4,
            approved: Default::default(),
        }
    }

    #[test]
    fn the_text_names_the_fewest_changes_of_each_finding() {
        insta::assert_snapshot!(text(&exploration()));
    }

    #[test]
    fn approved_findings_are_counted_and_not_printed() {
        let exploration = Exploration {
            approved: ["0123456789".to_owned()].into(),
            ..exploration()
        };
        let text = text(&exploration);
        assert!(!text.contains("no kubelet"), "{text}");
        assert!(text.contains("1 finding, 1 approved in 1 world"), "{text}");
    }

    #[test]
    fn cells_of_the_markdown_keep_bars_and_html_apart() {
        insta::assert_snapshot!(markdown(&exploration()));
    }

    #[test]
    fn a_cancelled_exploration_says_what_is_missing() {
        let mut cancelled = exploration();
        cancelled.cancelled = true;
        cancelled.left_out = 3;
        let report = text(&cancelled);
        assert!(
            report
                .trim_end()
                .ends_with(", cancelled before the end, 3 left out"),
            "{report}"
        );
    }
}
