//! The report of `nodejoin diff`: text for a terminal, and Markdown for a pull request.

pub(crate) mod sentences;

use std::fmt::Write as _;

use nodejoin_core::compare::{Comparison, Group, JoinOutcome, MachineDifference, SideOutcome};
use nodejoin_core::redact::redact_lines;

use sentences::{
    NAMED, changed, counted, last_line, listed, not_run, not_shown, shown_lines, what_follows, where_shown,
    without_kubelet,
};

/// Lines of a difference in the text and in Markdown; the JSON report has all of them.
const LINES_OF_TEXT: usize = 16;
const LINES_OF_MARKDOWN: usize = 40;

/// The report for a terminal.
#[must_use]
pub fn text(comparison: &Comparison) -> String {
    let mut text = String::new();
    for group in comparison.open() {
        let _ = writeln!(text, "{}  {}", group.id, shown_by(group, comparison.compared()));
        if let Some(places) = changed(group) {
            let _ = writeln!(text, "  changed  {places}");
        }
        for join in comparison.joins_of(group) {
            let _ = writeln!(text, "  join     {}", join_line(join, comparison));
            for (version, side) in [(&comparison.old, &join.old), (&comparison.new, &join.new)] {
                for why in side.cause.iter().filter(|_| !join.is_same()) {
                    let _ = writeln!(text, "           {version}: {why}");
                }
                for folder in side.evidence.iter().filter(|_| side.outcome != "passed") {
                    let _ = writeln!(text, "           evidence of {version}: {folder}");
                }
            }
        }
        for difference in &group.differences {
            let _ = writeln!(text, "  {}", difference.part);
            for line in shown_lines(difference, LINES_OF_TEXT) {
                let _ = writeln!(text, "    {line}");
            }
        }
        if let Some(line) = what_follows(group) {
            let _ = writeln!(text, "  {line}");
        }
        text.push('\n');
    }
    for (why, ids) in comparison.not_compared() {
        let _ = writeln!(text, "not compared: {}: {why}", listed(&ids));
    }
    if let Some(line) = without_kubelet(comparison) {
        let _ = writeln!(text, "{line}");
    }
    for line in [not_run(comparison), not_shown(comparison)].into_iter().flatten() {
        let _ = writeln!(text, "{line}");
    }
    text.push_str(&last_line(comparison));
    text.push('\n');
    redact_lines(&text)
}

/// The report for a pull request.
#[must_use]
pub fn markdown(comparison: &Comparison) -> String {
    let mut text = format!(
        "### nodejoin: `{}` compared with `{}`\n\n{}\n",
        comparison.new,
        comparison.old,
        last_line(comparison)
    );
    if let Some(line) = without_kubelet(comparison) {
        let _ = write!(text, "\n{line}\n");
    }
    for line in [not_run(comparison), not_shown(comparison)].into_iter().flatten() {
        let _ = write!(text, "\n{}\n", html(&line));
    }
    for group in comparison.open() {
        let mark = match comparison.joins_of(group).any(JoinOutcome::is_new_failure) {
            true => ":x: ",
            false => "",
        };
        let parts: Vec<String> = group
            .differences
            .iter()
            .map(|difference| format!("`{}`", difference.part))
            .collect();
        let _ = write!(
            text,
            "\n<details><summary>{mark}<code>{}</code> {}</summary>\n\nDiffers in {}.\n\n",
            group.id,
            html(&shown_by(group, comparison.compared())),
            parts.join(", ")
        );
        if let Some(places) = changed(group) {
            let _ = writeln!(text, "- changed: {}", html(&places));
        }
        for join in comparison.joins_of(group) {
            let _ = writeln!(text, "- join: {}", join_line(join, comparison));
            for why in join.new.cause.iter().filter(|_| !join.is_same()) {
                let _ = writeln!(text, "  - `{}`: {}", comparison.new, html(why));
            }
        }
        for difference in &group.differences {
            text.push_str(&fenced(difference));
        }
        if let Some(line) = what_follows(group) {
            let _ = write!(text, "\n{}\n", html(&line));
        }
        text.push_str("\n</details>\n");
    }
    let not_compared: Vec<String> = comparison
        .scenarios
        .iter()
        .filter_map(|one| {
            Some(format!(
                "- `{}`: {}",
                one.scenario,
                html(one.not_compared.as_ref()?)
            ))
        })
        .collect();
    if !not_compared.is_empty() {
        let _ = write!(
            text,
            "\n<details><summary>{} not compared</summary>\n\n{}\n\n</details>\n",
            counted(not_compared.len(), "scenario"),
            not_compared.join("\n")
        );
    }
    redact_lines(&text)
}

/// Which scenarios show a group, and what separates them from the others.
fn shown_by(group: &Group, compared: usize) -> String {
    let count = group.scenarios.len();
    let names: Vec<&str> = group.scenarios.iter().take(NAMED).map(|id| id.as_str()).collect();
    let more = match count.saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!("{}: {}{more}", where_shown(group, compared), names.join(", "))
}

fn join_line(join: &JoinOutcome, comparison: &Comparison) -> String {
    let side = |version: &str, side: &SideOutcome| format!("{} with {version}", side.outcome);
    format!(
        "{}: {}, {}",
        join.scenario,
        side(&comparison.old, &join.old),
        side(&comparison.new, &join.new)
    )
}

fn fenced(difference: &MachineDifference) -> String {
    let lines = shown_lines(difference, LINES_OF_MARKDOWN);
    // A fence that is longer than any in the lines.
    let longest = lines.iter().map(|line| longest_run(line)).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!(
        "\n`{}`\n{fence}diff\n{}\n{fence}\n",
        difference.part,
        lines.join("\n")
    )
}

/// The longest run of backticks.
fn longest_run(line: &str) -> usize {
    line.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

fn html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
pub(crate) mod tests {
    use nodejoin_core::compare::{ChangedLine, ComparedScenario};
    use nodejoin_core::plan::sources::SourceLine;

    use super::*;

    pub(crate) fn comparison() -> Comparison {
        let side = |outcome: &str, cause: Option<&str>| SideOutcome {
            outcome: outcome.to_owned(),
            cause: cause.map(str::to_owned),
            evidence: cause.map(|_| ".nodejoin/x".to_owned()),
        };
        let listed = |id: &str, not_compared: Option<&str>| ComparedScenario {
            scenario: id.parse().unwrap(),
            not_compared: not_compared.map(str::to_owned),
            without_kubelet: id == "al2/joins",
            without_kubelet_because: (id == "al2/joins").then(|| "script-failed: it ended".to_owned()),
            world: None,
        };
        let line = |file: &str, line| SourceLine {
            file: file.to_owned(),
            line: Some(line),
        };
        let group =
            |id: &str, scenarios: &[&str], only_with: Option<&str>, in_all, lines: &[ChangedLine]| Group {
                id: id.to_owned(),
                differences: vec![MachineDifference {
                    part: "kubelet arguments".to_owned(),
                    lines: lines.to_vec(),
                }],
                scenarios: scenarios.iter().map(|id| id.parse().unwrap()).collect(),
                only_with: only_with.map(str::to_owned),
                in_all,
                changed: only_with
                    .map(|_| {
                        vec![
                            line("/checkout/files/pool.sh", 12),
                            line("/checkout/files/pool.sh", 40),
                        ]
                    })
                    .unwrap_or_default(),
                follows: Vec::new(),
            };
        Comparison {
            old: "main".to_owned(),
            new: "HEAD".to_owned(),
            groups: vec![
                group(
                    "1234567890",
                    &["al2/joins", "ipv6/joins"],
                    None,
                    true,
                    &[ChangedLine::New("--v=4 ```".to_owned())],
                ),
                group(
                    "abcdefabcd",
                    &["ipv6/joins"],
                    Some("IPv6"),
                    false,
                    &[ChangedLine::Old("--node-ip=<fd00::1>".to_owned())],
                ),
            ],
            joins: vec![JoinOutcome {
                scenario: "ipv6/joins".parse().unwrap(),
                old: side("passed", None),
                new: side("failed", Some("kubelet-exits: <no> address")),
            }],
            scenarios: vec![
                listed("al2/joins", None),
                listed("ipv6/joins", None),
                listed("new/one", Some("only the new version has the scenario")),
            ],
            seconds: 41.4,
            ..Comparison::default()
        }
    }

    #[test]
    fn the_text_names_what_separates_the_scenarios_and_what_fails_now() {
        insta::assert_snapshot!(text(&comparison()));
    }

    #[test]
    fn the_markdown_keeps_fences_and_html_apart() {
        insta::assert_snapshot!(markdown(&comparison()));
    }

    #[test]
    fn equal_versions_are_one_line() {
        let comparison = Comparison {
            seconds: 2.0,
            ..Comparison::default()
        };
        assert_eq!(text(&comparison), "no difference, 0 scenarios compared; 2 s\n");
    }

    #[test]
    fn a_cancelled_comparison_shows_what_ended_and_says_so() {
        let mut cancelled = comparison();
        cancelled.cancelled = true;
        let report = text(&cancelled);
        assert!(report.contains("1234567890"), "{report}");
        let last = report.trim_end().lines().last().unwrap_or_default();
        assert!(last.ends_with(", cancelled before the end; 41 s"), "{report}");
    }

    #[test]
    fn changes_that_no_machine_shows_are_named() {
        let line = |file: &str| SourceLine {
            file: file.to_owned(),
            line: Some(17),
        };
        let comparison = Comparison {
            not_run: vec![line("pool.sh")],
            not_shown: vec![line("a.json"), line("b.json")],
            ..Comparison::default()
        };
        let lines = "changed statements that no compared machine ran: pool.sh:17; nothing here shows what they do\n\
                     changed without a difference on any compared machine: a.json:17, b.json:17; nothing here shows what reads them\n";
        assert!(text(&comparison).starts_with(lines), "{}", text(&comparison));
        for part in lines.trim_end().lines() {
            assert!(markdown(&comparison).contains(part));
        }
    }

    #[test]
    fn a_machine_without_a_kubelet_is_told_by_the_end_of_its_user_data() {
        let part = |part: &str, line: ChangedLine| MachineDifference {
            part: part.to_owned(),
            lines: vec![line],
        };
        let mut one = comparison();
        one.groups[1].differences = vec![part(
            "user data",
            ChangedLine::New("last words: line 371: unbound variable".to_owned()),
        )];
        one.groups[1].follows = vec![
            part("kubelet arguments", ChangedLine::Old("--node-ip=x".to_owned())),
            part("file /etc/a", ChangedLine::Old("many lines".to_owned())),
        ];
        for report in [text(&one), markdown(&one)] {
            assert!(report.contains("unbound variable"), "{report}");
            let rest =
                "only one version starts a kubelet, so these differ, too: kubelet arguments, file /etc/a";
            assert!(report.contains(rest), "{report}");
            assert!(!report.contains("many lines"), "{report}");
        }
    }
}
