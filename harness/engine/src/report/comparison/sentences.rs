//! What several reports of a comparison say in the same words: which scenarios, where the cause is likely, what nothing
//! shows.

use nodejoin_core::compare::{ChangedLine, Comparison, Group, MachineDifference};
use nodejoin_core::plan::ids::ScenarioId;
use nodejoin_core::plan::sources::SourceLine;

/// Scenarios of a group that the report names.
pub(super) const NAMED: usize = 8;

/// What separates the scenarios of a group from the others, and how many they are.
pub(crate) fn where_shown(group: &Group, compared: usize) -> String {
    let only = match (&group.only_with, group.in_all) {
        (Some(name), _) => format!("only with {name}"),
        (None, true) => "in every scenario".to_owned(),
        (None, false) => "in some scenarios".to_owned(),
    };
    format!("{only}, {} of {compared}", group.scenarios.len())
}

/// Where the cause of a group is likely: `pool.sh:12`, or several lines.
pub(crate) fn changed(group: &Group) -> Option<String> {
    let mut places: Vec<String> = group.changed.iter().take(NAMED).map(place).collect();
    let more = group.changed.len().saturating_sub(NAMED);
    places.extend((more > 0).then(|| format!("{more} more")));
    (!places.is_empty()).then(|| places.join(" or "))
}

fn place(source: &SourceLine) -> String {
    match source.line {
        Some(line) => format!("{}:{line}", source.file),
        None => source.file.clone(),
    }
}

/// Names the parts that differ because only one version starts a kubelet.
pub(crate) fn what_follows(group: &Group) -> Option<String> {
    let names: Vec<&str> = group.follows.iter().map(|one| one.part.as_str()).collect();
    let text = format!(
        "only one version starts a kubelet, so these differ, too: {}",
        names.join(", ")
    );
    (!names.is_empty()).then_some(text)
}

/// The first lines of a difference.
pub(in crate::report) fn shown_lines(difference: &MachineDifference, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = difference.lines.iter().take(most).map(marked).collect();
    let more = difference.lines.len().saturating_sub(most);
    lines.extend((more > 0).then(|| format!("... {more} more")));
    lines
}

fn marked(line: &ChangedLine) -> String {
    match line {
        ChangedLine::Old(text) => format!("- {text}"),
        ChangedLine::New(text) => format!("+ {text}"),
    }
}

/// A warning about scenarios that compare little: their user data ends before the kubelet with both versions.
pub(crate) fn without_kubelet(comparison: &Comparison) -> Option<String> {
    let line = |(reason, ids): (&str, Vec<&ScenarioId>)| {
        let why = match reason {
            "" => "`nodejoin run` says why".to_owned(),
            reason => reason.to_owned(),
        };
        format!(
            "no kubelet started with either version, although a join is expected: {}; {why}",
            listed(&ids)
        )
    };
    let lines: Vec<String> = comparison.without_kubelet().into_iter().map(line).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The changed statements that no machine was seen to run.
pub(crate) fn not_run(comparison: &Comparison) -> Option<String> {
    let named = first_of(&comparison.not_run)?;
    Some(format!(
        "changed statements that no compared machine ran: {named}; nothing here shows what they do"
    ))
}

/// The changed places of other files that no difference is about.
pub(crate) fn not_shown(comparison: &Comparison) -> Option<String> {
    let named = first_of(&comparison.not_shown)?;
    Some(format!(
        "changed without a difference on any compared machine: {named}; nothing here shows what reads them"
    ))
}

/// The first of these places, and how many there are besides.
fn first_of(places: &[SourceLine]) -> Option<String> {
    let first: Vec<String> = places.iter().take(NAMED).map(place).collect();
    let more = match places.len() - first.len() {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    (!places.is_empty()).then(|| format!("{}{more}", first.join(", ")))
}

/// The counts of a comparison in one line.
pub(crate) fn last_line(comparison: &Comparison) -> String {
    let open = comparison.open().len();
    let failures = comparison
        .joins
        .iter()
        .filter(|join| join.is_new_failure())
        .count();
    let differences = match open {
        0 => "no difference".to_owned(),
        open => counted(open, "group") + " of differences",
    };
    let mut parts = vec![differences];
    if failures > 0 {
        parts.push(format!(
            "{} with {}",
            counted(failures, "new failure"),
            comparison.new
        ));
    }
    let approved = comparison.groups.len() - open;
    if approved > 0 {
        parts.push(format!("{approved} approved"));
    }
    parts.push(counted(comparison.compared(), "scenario") + " compared");
    let not_compared = comparison.scenarios.len() - comparison.compared();
    if not_compared > 0 {
        parts.push(format!("{not_compared} not compared"));
    }
    if comparison.cancelled {
        parts.push("cancelled before the end".to_owned());
    }
    format!("{}; {:.0} s", parts.join(", "), comparison.seconds)
}

pub(crate) fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// The first ids, and how many follow.
pub(super) fn listed(ids: &[&ScenarioId]) -> String {
    let first: Vec<&str> = ids.iter().take(NAMED).map(|id| id.as_str()).collect();
    match ids.len() - first.len() {
        0 => first.join(", "),
        more => format!("{}, and {more} more", first.join(", ")),
    }
}
