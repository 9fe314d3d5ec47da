//! The page of `nodejoin diff`: one file without network, with all lines of every difference.

use askama::Template;
use nodejoin_core::compare::{ChangedLine, Comparison, Group, JoinOutcome, MachineDifference};
use nodejoin_core::redact::redact_lines;

use super::{STYLE, policy};
use crate::report::comparison::sentences::{
    changed, counted, last_line, not_run, not_shown, what_follows, where_shown, without_kubelet,
};

#[derive(Template)]
#[template(path = "comparison.html")]
struct ComparisonPage<'a> {
    policy: String,
    style: &'static str,
    old: &'a str,
    new: &'a str,
    counts: String,
    warnings: Vec<String>,
    groups: Vec<ShownGroup<'a>>,
    approved: Vec<(&'a str, String)>,
    not_compared: Vec<(&'a str, &'a str)>,
}

struct ShownGroup<'a> {
    id: &'a str,
    only: String,
    scenarios: Vec<&'a str>,
    /// Where the cause is likely.
    changed: Option<String>,
    joins: Vec<ShownJoin<'a>>,
    parts: Vec<ShownPart<'a>>,
    /// What differs, too, as only one version starts a kubelet.
    follows: Option<String>,
    following: Vec<ShownPart<'a>>,
}

struct ShownJoin<'a> {
    scenario: &'a str,
    /// Outcome, cause and evidence of the old version, then of the new one.
    sides: [(&'a str, String, &'a str); 2],
}

struct ShownPart<'a> {
    name: &'a str,
    /// Class and text of each line.
    lines: Vec<(&'static str, String)>,
}

/// The report as an HTML page.
///
/// # Errors
/// If the template cannot be filled in.
pub fn html(comparison: &Comparison) -> Result<String, askama::Error> {
    let approved = |group: &&Group| comparison.approved.contains(&group.id);
    let page = ComparisonPage {
        policy: policy(),
        style: STYLE,
        old: &comparison.old,
        new: &comparison.new,
        counts: last_line(comparison),
        warnings: [
            without_kubelet(comparison),
            not_run(comparison),
            not_shown(comparison),
        ]
        .into_iter()
        .flatten()
        .collect(),
        groups: comparison
            .open()
            .into_iter()
            .map(|group| shown(group, comparison))
            .collect(),
        approved: comparison
            .groups
            .iter()
            .filter(approved)
            .map(|group| (group.id.as_str(), counted(group.scenarios.len(), "scenario")))
            .collect(),
        not_compared: comparison
            .scenarios
            .iter()
            .filter_map(|one| Some((one.scenario.as_str(), one.not_compared.as_deref()?)))
            .collect(),
    };
    page.render()
}

fn shown<'a>(group: &'a Group, comparison: &'a Comparison) -> ShownGroup<'a> {
    ShownGroup {
        id: &group.id,
        only: where_shown(group, comparison.compared()),
        scenarios: group.scenarios.iter().map(|id| id.as_str()).collect(),
        changed: changed(group),
        joins: comparison.joins_of(group).map(joined).collect(),
        parts: shown_parts(&group.differences),
        follows: what_follows(group),
        following: shown_parts(&group.follows),
    }
}

fn shown_parts(differences: &[MachineDifference]) -> Vec<ShownPart<'_>> {
    let parts = differences.iter().map(|difference| ShownPart {
        name: &difference.part,
        lines: difference.lines.iter().map(marked).collect(),
    });
    parts.collect()
}

fn joined(join: &JoinOutcome) -> ShownJoin<'_> {
    let sides = [&join.old, &join.new].map(|side| {
        let cause = redact_lines(side.cause.as_deref().unwrap_or_default());
        (
            side.outcome.as_str(),
            cause,
            side.evidence.as_deref().unwrap_or_default(),
        )
    });
    ShownJoin {
        scenario: join.scenario.as_str(),
        sides,
    }
}

fn marked(line: &ChangedLine) -> (&'static str, String) {
    match line {
        ChangedLine::Old(text) => ("old", redact_lines(&format!("- {text}"))),
        ChangedLine::New(text) => ("new", redact_lines(&format!("+ {text}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::comparison::tests::comparison;

    #[test]
    fn the_page_has_all_lines_and_escapes_them() {
        let mut comparison = comparison();
        comparison.approved.insert("1234567890".to_owned());
        let page = html(&comparison).unwrap();
        let body = &page[page.find("<body>").unwrap()..];
        insta::assert_snapshot!(body);
    }
}
