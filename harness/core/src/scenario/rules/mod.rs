//! Combinations that cannot be: each is refused before anything is started.

mod access;
mod aws;
mod expectations;
mod many;
mod outcome;
mod shape;
mod steps;
#[cfg(test)]
mod tests;

use super::file::Scenario;
use crate::input::problems::Problems;
use crate::plan::Plan;

/// Reports everything about a plan that cannot be.
pub(super) fn check(scenario: &Scenario, plan: &Plan, problems: &mut Problems<'_>) {
    name(scenario, problems);
    check_account(scenario, plan, problems);
    limits(plan, problems);
    many::many(scenario, plan, problems);
    many::golden(plan, problems);
    outcome::outcome(plan, problems);
    expectations::expectations(plan, problems);
    steps::steps(plan, problems);
}

/// Reports everything about a plan's AWS that cannot be.
pub(super) fn check_account(scenario: &Scenario, plan: &Plan, problems: &mut Problems<'_>) {
    shape::network(plan, problems);
    shape::instance(plan, problems);
    shape::cluster(scenario, plan, problems);
    access::entries(scenario, plan, problems);
    aws::iam(plan, problems);
    aws::metadata(plan, problems);
    aws::network(plan, problems);
    aws::account(plan, problems);
    aws::faults(plan, problems);
}

fn name(scenario: &Scenario, problems: &mut Problems<'_>) {
    if scenario.name.trim().is_empty() {
        problems.add(
            "name",
            "the name is empty",
            "reports have nothing else to call it by",
            "say in one sentence what it shows",
        );
    }
}

/// The longest that a join may take: whoever needs more has a scenario that never ends.
const LONGEST: f64 = 3600.0;

fn limits(plan: &Plan, problems: &mut Problems<'_>) {
    let limits = &plan.limits;
    if limits.join_seconds <= 0.0 {
        problems.add(
            "limits.join_seconds",
            "a join cannot take no time",
            "",
            "give it seconds, such as 90",
        );
    } else if limits.join_seconds > LONGEST {
        let why = format!("{} s is more than an hour", limits.join_seconds);
        problems.add(
            "limits.join_seconds",
            "the scenario would hardly ever end",
            why,
            "give it seconds, such as 90",
        );
    }
    if limits.settle_seconds < 0.0 {
        problems.add("limits.settle_seconds", "it cannot be negative", "", "");
    } else if limits.settle_seconds >= limits.join_seconds {
        let why = format!(
            "it would have to hold for {} s within {} s",
            limits.settle_seconds, limits.join_seconds
        );
        problems.add(
            "limits.settle_seconds",
            "nothing could ever settle",
            why,
            "let it be much less than `join_seconds`",
        );
    }
}
