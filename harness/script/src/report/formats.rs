//! Formats of other tools, and a page.

use std::fmt::Write as _;

use askama::Template;

use super::{CoverageReport, CoveredScript, Share};
use crate::coverage::BranchCoverage;

impl CoverageReport {
    /// A tracefile of lcov, as `genhtml` and editors read it.
    #[must_use]
    pub fn to_lcov(&self) -> String {
        let mut out = String::new();
        for script in &self.scripts {
            let _ = writeln!(out, "TN:\nSF:{}", script.name);
            for (line, branches) in script.branches_of_line() {
                for (index, branch) in branches.iter().enumerate() {
                    for (way, count) in [branch.taken, branch.not_taken].into_iter().enumerate() {
                        // A dash says that the script never came here.
                        let count = match branch.taken + branch.not_taken {
                            0 => "-".to_owned(),
                            _ => count.to_string(),
                        };
                        let _ = writeln!(out, "BRDA:{line},{index},{way},{count}");
                    }
                }
            }
            let (lines, branches) = (script.lines(), script.branches());
            let _ = writeln!(out, "BRF:{}\nBRH:{}", branches.all, branches.covered);
            for (line, count) in script.line_counts() {
                let _ = writeln!(out, "DA:{line},{count}");
            }
            let _ = writeln!(out, "LF:{}\nLH:{}\nend_of_record", lines.all, lines.covered);
        }
        out
    }

    /// Cobertura XML, as CI systems read it.
    ///
    /// # Errors
    /// When a value cannot be formatted, which does not happen.
    pub fn to_cobertura(&self) -> Result<String, askama::Error> {
        let scripts = self.scripts.iter().map(|script| {
            let branches = script.branches_of_line();
            let lines = script
                .line_counts()
                .into_iter()
                .map(|(line, count)| CoberturaLine {
                    line,
                    count,
                    branches: branches.get(&line).map(|branches| conditions(branches)),
                });
            CoberturaScript {
                name: &script.name,
                line_rate: rate(script.lines()),
                branch_rate: rate(script.branches()),
                lines: lines.collect(),
            }
        });
        Cobertura {
            line_rate: rate(self.lines()),
            branch_rate: rate(self.branches()),
            lines: self.lines(),
            branches: self.branches(),
            scripts: scripts.collect(),
        }
        .render()
    }

    /// One HTML page with each script and how often its lines ran.
    ///
    /// # Errors
    /// When a value cannot be formatted, which does not happen.
    pub fn to_html(&self) -> Result<String, askama::Error> {
        let scripts = self.scripts.iter().enumerate().map(|(index, script)| PageScript {
            anchor: format!("script-{index}"),
            name: &script.name,
            lines: script.lines(),
            branches: script.branches(),
            rows: rows(script),
        });
        CoveragePage {
            lines: self.lines(),
            branches: self.branches(),
            runs: self.runs().len(),
            scripts: scripts.collect(),
        }
        .render()
    }
}

fn conditions(branches: &[BranchCoverage]) -> Share {
    let ways = branches
        .iter()
        .flat_map(|branch| [branch.taken, branch.not_taken]);
    Share::of(ways.map(|count| count > 0))
}

fn rate(share: Share) -> String {
    match share.all {
        0 => "1".to_owned(),
        all => format!("{:.4}", share.covered as f64 / all as f64),
    }
}

fn rows(script: &CoveredScript) -> Vec<PageRow<'_>> {
    let (counts, branches) = (script.line_counts(), script.branches_of_line());
    let row = |(index, text)| {
        let line = index as u64 + 1 + script.offset;
        let count = counts.get(&line).copied();
        let missed = branches.get(&line).map(|branches| conditions(branches));
        let missed = missed.filter(|share| share.covered < share.all);
        PageRow {
            line,
            text,
            class: match (count, missed) {
                (None, _) => "",
                (Some(0), _) => "missed",
                (Some(_), Some(_)) => "partial",
                (Some(_), None) => "covered",
            },
            count: count.map(|count| count.to_string()).unwrap_or_default(),
            remark: match (count, missed) {
                (Some(1..), Some(share)) => format!("{} of {} ways taken", share.covered, share.all),
                _ => String::new(),
            },
        }
    };
    script.text.lines().enumerate().map(row).collect()
}

#[derive(Template)]
#[template(path = "cobertura.xml")]
struct Cobertura<'a> {
    line_rate: String,
    branch_rate: String,
    lines: Share,
    branches: Share,
    scripts: Vec<CoberturaScript<'a>>,
}

struct CoberturaScript<'a> {
    name: &'a str,
    line_rate: String,
    branch_rate: String,
    lines: Vec<CoberturaLine>,
}

struct CoberturaLine {
    line: u64,
    count: u64,
    branches: Option<Share>,
}

#[derive(Template)]
#[template(path = "coverage.html")]
struct CoveragePage<'a> {
    lines: Share,
    branches: Share,
    runs: usize,
    scripts: Vec<PageScript<'a>>,
}

struct PageScript<'a> {
    anchor: String,
    name: &'a str,
    lines: Share,
    branches: Share,
    rows: Vec<PageRow<'a>>,
}

struct PageRow<'a> {
    line: u64,
    text: &'a str,
    class: &'static str,
    count: String,
    remark: String,
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;

    #[test]
    fn lcov_names_lines_and_branches() {
        let expected = "TN:
SF:a.yaml
BRF:0
BRH:0
DA:11,1
DA:12,0
LF:2
LH:1
end_of_record
TN:
SF:join.sh
BRDA:2,0,0,1
BRDA:2,0,1,1
BRDA:5,0,0,0
BRDA:5,0,1,2
BRF:4
BRH:3
DA:2,2
DA:3,1
DA:5,2
LF:3
LH:3
end_of_record
";
        assert_eq!(report().to_lcov(), expected);
    }

    #[test]
    fn cobertura_has_rates_and_conditions() {
        let text = report().to_cobertura().unwrap();
        for part in [
            r#"<coverage line-rate="0.8000" branch-rate="0.7500" lines-covered="4" lines-valid="5""#,
            r#"filename="join.sh" line-rate="1.0000" branch-rate="0.7500""#,
            r#"<line number="5" hits="2" branch="true" condition-coverage="50% (1/2)"/>"#,
            r#"<line number="12" hits="0" branch="false"/>"#,
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }

    #[test]
    fn the_page_marks_lines_and_escapes_text() {
        let text = report().to_html().unwrap();
        for part in [
            "echo &#34;&#60;a&#62;&#34;",
            "1 of 2 ways taken",
            r#"class="missed""#,
            "join.sh",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(!text.contains("<a>"));
    }
}
