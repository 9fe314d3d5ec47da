//! The check of `one_of`: alternatives of which one must hold.

use super::check;
use crate::judge::verdict::Check;
use crate::plan::Plan;
use crate::plan::expect::Expect;

/// Holds if all checks of one alternative hold. Otherwise names the first failed check of each alternative.
pub(super) fn one_of(plan: &Plan, checks_of: impl Fn(&Plan) -> Vec<Check>) -> Option<Check> {
    let alternatives = &plan.expect.one_of;
    if alternatives.is_empty() {
        return None;
    }
    let failures = (1..).zip(alternatives).map(|(number, alternative): (usize, _)| {
        let plan = with_expectation(plan, alternative);
        let failed = checks_of(&plan).into_iter().find(|check| !check.held)?;
        let (key, expected, seen) = (failed.key, failed.expected, failed.seen);
        Some(format!("{number}: `{key}`: {seen} instead of {expected}"))
    });
    let expected = format!("one of {} alternatives", alternatives.len());
    // Stops at the first alternative that holds.
    let failures: Option<Vec<String>> = failures.collect();
    Some(match failures {
        None => check("one_of", true, expected, "an alternative holds"),
        Some(failures) => check("one_of", false, expected, failures.join("; ")),
    })
}

fn with_expectation(plan: &Plan, expect: &Expect) -> Plan {
    Plan {
        expect: expect.clone(),
        ..plan.clone()
    }
}
