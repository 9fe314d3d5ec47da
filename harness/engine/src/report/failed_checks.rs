//! The checks of a verdict that do not hold, as text.

use nodejoin_core::judge::verdict::{Check, Verdict};

use crate::report::text::line;

/// A longer line of a check is split into three.
const WIDTH: usize = 110;
/// Maximum number of checks with equal results that are printed one by one.
const FEW: usize = 3;

/// What a check of a node has that stopped before its state could be read.
const NOT_COLLECTED: &str = "not collected";

/// Appends the failed checks: each in a line or three, and many with equal results in one. Below a diagnosis, checks
/// whose value does not exist yet say nothing more.
pub(super) fn append(text: &mut String, verdict: &Verdict) {
    let (not_made, made): (Vec<_>, Vec<_>) = group_by_result(verdict)
        .into_iter()
        .partition(|checks| verdict.diagnosis.is_some() && checks[0].seen.starts_with(NOT_COLLECTED));
    for checks in made {
        failed_checks(text, &checks);
    }
    let keys: Vec<&str> = not_made
        .iter()
        .flatten()
        .map(|check| check.key.as_str())
        .collect();
    let more = keys.len().saturating_sub(FEW);
    let shown = keys[..keys.len() - more].join(", ");
    match more {
        _ if keys.is_empty() => {}
        0 => line(text, "unchecked", &shown),
        more => line(
            text,
            "unchecked",
            &format!("{shown} and {more} more (see `verdict.json`)"),
        ),
    }
}

/// The failed checks of a verdict.
pub(super) fn of(verdict: &Verdict) -> impl Iterator<Item = &Check> {
    verdict.checks.iter().filter(|check| !check.held)
}

/// Failed checks, grouped by equal results: a missing node fails all checks of it.
fn group_by_result(verdict: &Verdict) -> Vec<Vec<&Check>> {
    let mut groups: Vec<Vec<&Check>> = Vec::new();
    for check in of(verdict) {
        match groups.iter_mut().find(|group| group[0].seen == check.seen) {
            Some(group) => group.push(check),
            None => groups.push(vec![check]),
        }
    }
    groups
}

/// Prints a few checks one by one, and summarizes many.
fn failed_checks(text: &mut String, checks: &[&Check]) {
    if checks.len() <= FEW {
        return checks.iter().for_each(|check| failed_check(text, check));
    }
    let (first, rest) = (checks[0], checks.len() - 1);
    line(
        text,
        "check",
        &format!(
            "{} and {rest} more (see `verdict.json`): got {}",
            first.key, first.seen
        ),
    );
}

/// Prints a check in one line if it fits, otherwise in three.
fn failed_check(text: &mut String, check: &Check) {
    let short = format!("{}: expected {}, got {}", check.key, check.expected, check.seen);
    if short.len() <= WIDTH && !short.contains('\n') {
        return line(text, "check", &short);
    }
    line(text, "check", &check.key);
    line(text, "expected", &check.expected);
    line(text, "got", &check.seen);
}
