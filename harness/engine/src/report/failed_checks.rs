//! The checks of a verdict that do not hold, as text.

use nodejoin_core::judge::verdict::{Check, Verdict};

use crate::report::rows::line;

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

#[cfg(test)]
mod tests {
    use nodejoin_core::diagnosis::{Cause, Diagnosis};
    use nodejoin_core::judge::verdict::Outcome;
    use nodejoin_core::observation::phase::Phase;

    use super::*;
    use crate::verdict::verdict_without_observation;

    fn text(verdict: &Verdict) -> String {
        let mut text = String::new();
        append(&mut text, verdict);
        text
    }

    #[test]
    fn checks_with_equal_results_are_summarized() {
        let mut failed = verdict_without_observation(Outcome::Failed);
        failed.checks = (0..9)
            .map(|number| Check {
                key: format!("node.labels.{number}"),
                held: false,
                expected: "x".to_owned(),
                seen: "missing Node".to_owned(),
            })
            .collect();
        let text = text(&failed);
        assert!(
            text.contains("check     node.labels.0 and 8 more (see `verdict.json`): got missing Node"),
            "{text}"
        );
        assert!(!text.contains("node.labels.5"), "{text}");
    }

    #[test]
    fn below_a_diagnosis_checks_without_a_value_are_one_line() {
        let check = |key: &str, seen: &str| Check {
            key: key.to_owned(),
            held: false,
            expected: "x".to_owned(),
            seen: seen.to_owned(),
        };
        let mut failed = verdict_without_observation(Outcome::Failed);
        failed.checks = vec![
            check("kubelet.config.maxPods", "not collected: no /configz"),
            check("phase", "booted"),
            check("kubelet.config.clusterDNS", "not collected: no /configz"),
        ];
        let lines = |failed: &Verdict| {
            let text = text(failed);
            let lines = text.lines().filter(|line| line.contains("check")).map(str::trim);
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(lines(&failed).len(), 3);
        failed.diagnosis = Some(Diagnosis {
            phase: Some(Phase::Booted),
            cause: Cause::ScriptFailed,
            because: "it ended".to_owned(),
            seen: "line 12".to_owned(),
            remedy: "mend it".to_owned(),
            script: None,
        });
        assert_eq!(
            lines(&failed),
            [
                "check     phase: expected x, got booted",
                "unchecked kubelet.config.maxPods, kubelet.config.clusterDNS"
            ]
        );
    }
}
