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
use crate::plan::Plan;
use crate::report::Report;

/// Reports everything about a plan that cannot be.
pub(super) fn check(scenario: &Scenario, plan: &Plan, report: &mut Report<'_>) {
    name(scenario, report);
    check_account(scenario, plan, report);
    limits(plan, report);
    many::many(scenario, plan, report);
    many::golden(plan, report);
    outcome::outcome(plan, report);
    expectations::expectations(plan, report);
    steps::steps(plan, report);
}

/// Reports everything about a plan's AWS that cannot be.
pub(super) fn check_account(scenario: &Scenario, plan: &Plan, report: &mut Report<'_>) {
    shape::network(plan, report);
    shape::instance(plan, report);
    shape::cluster(scenario, plan, report);
    access::entries(scenario, plan, report);
    aws::iam(plan, report);
    aws::metadata(plan, report);
    aws::network(plan, report);
    aws::account(plan, report);
    aws::faults(plan, report);
}

fn name(scenario: &Scenario, report: &mut Report<'_>) {
    if scenario.name.trim().is_empty() {
        report.add(
            "name",
            "the name is empty",
            "reports have nothing else to call it by",
            "say in one sentence what it shows",
        );
    }
}

/// The longest that a join may take: whoever needs more has a scenario that never ends.
const LONGEST: f64 = 3600.0;

fn limits(plan: &Plan, report: &mut Report<'_>) {
    let limits = &plan.limits;
    if limits.join_seconds <= 0.0 {
        report.add(
            "limits.join_seconds",
            "a join cannot take no time",
            "",
            "give it seconds, such as 90",
        );
    } else if limits.join_seconds > LONGEST {
        let why = format!("{} s is more than an hour", limits.join_seconds);
        report.add(
            "limits.join_seconds",
            "the scenario would hardly ever end",
            why,
            "give it seconds, such as 90",
        );
    }
    if limits.settle_seconds < 0.0 {
        report.add("limits.settle_seconds", "it cannot be negative", "", "");
    } else if limits.settle_seconds >= limits.join_seconds {
        let why = format!(
            "it would have to hold for {} s within {} s",
            limits.settle_seconds, limits.join_seconds
        );
        report.add(
            "limits.settle_seconds",
            "nothing could ever settle",
            why,
            "let it be much less than `join_seconds`",
        );
    }
}
