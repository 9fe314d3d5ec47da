//! Rejects impossible combinations before anything starts.

mod access;
mod answers;
mod aws;
mod dns_faults;
mod expectations;
mod http_proxy;
mod many;
mod names;
mod outcome;
mod outside;
mod refusals;
mod shape;
mod steps;
#[cfg(test)]
mod tests;

use super::file::{InstanceFile, Scenario};
use crate::input::problems::Problems;
use crate::plan::{Plan, Timeouts};

pub(super) use refusals::check_account as check_served_faults;

/// Reports all problems of a plan.
pub(super) fn check(scenario: &Scenario, plan: &Plan, problems: &mut Problems<'_>) {
    name(scenario, problems);
    check_account(scenario, plan, problems);
    limits(plan, problems);
    sizes(plan, problems);
    settle(plan, problems);
    outside::check(plan, problems);
    http_proxy::check(plan, problems);
    dns_faults::check(plan, problems);
    many::many(scenario, plan, problems);
    many::golden(scenario, plan, problems);
    outcome::outcome(plan, problems);
    expectations::expectations(plan, problems);
    steps::steps(plan, problems);
}

/// Reports all problems of a plan's AWS account.
pub(super) fn check_account(scenario: &Scenario, plan: &Plan, problems: &mut Problems<'_>) {
    instance(plan, problems);
    shape::cluster(scenario, plan, problems);
    access::entries(scenario, plan, problems);
    aws::iam(plan, problems);
    aws::account(plan, problems);
    aws::faults(plan, problems);
    aws::tags(plan, problems);
    answers::check(plan, problems);
}

/// Reports all problems of a plan's first instance.
fn instance(plan: &Plan, problems: &mut Problems<'_>) {
    shape::network(plan, problems);
    shape::instance(plan, problems);
    aws::metadata(plan, problems);
    aws::network(plan, problems);
    aws::autoscaling(plan, problems);
}

/// Reports problems of the number of instances in an account file.
pub(super) fn check_count(scenario: &Scenario, plan: &Plan, problems: &mut Problems<'_>) {
    many::many(scenario, plan, problems);
}

/// Reports all problems of an account file that lists its instances.
pub(super) fn check_listed(
    files: &[InstanceFile],
    scenario: &Scenario,
    plan: &Plan,
    problems: &mut Problems<'_>,
) {
    let nodes = plan.nodes();
    for (index, node) in nodes.iter().enumerate() {
        problems.with_instance_at(index, |problems| match index {
            0 => check_account(scenario, plan, problems),
            _ => instance(node, problems),
        });
    }
    many::listed(files, plan, problems);
}

fn name(scenario: &Scenario, problems: &mut Problems<'_>) {
    if scenario.name.trim().is_empty() {
        problems.add(
            "name",
            "the name is empty",
            "reports show it",
            "describe the scenario in one sentence",
        );
    }
}

/// The maximum timeout of a join.
const MAX_JOIN_SECONDS: f64 = 3600.0;

fn limits(plan: &Plan, problems: &mut Problems<'_>) {
    let limits = &plan.limits;
    if limits.join_seconds <= 0.0 {
        problems.add(
            "limits.join_seconds",
            "the timeout must be greater than 0",
            "",
            "for example 90",
        );
    } else if limits.join_seconds > MAX_JOIN_SECONDS {
        let why = format!("{} s exceeds one hour", limits.join_seconds);
        problems.add(
            "limits.join_seconds",
            "the timeout is too long",
            why,
            "for example 90",
        );
    }
    if limits.settle_seconds < 0.0 {
        problems.add("limits.settle_seconds", "the time must not be negative", "", "");
    } else if limits.settle_seconds >= limits.join_seconds {
        let why = format!(
            "{} s do not fit into the {} s of `join_seconds`",
            limits.settle_seconds, limits.join_seconds
        );
        problems.add(
            "limits.settle_seconds",
            "the time is too long",
            why,
            "use much less than `join_seconds`",
        );
    }
}

/// Less is not enough for systemd, a container runtime and the kubelet.
const LEAST_DISK_KIB: u64 = 512 * 1024;
const LEAST_PROCESSES: u32 = 256;
/// A boot and a join write several hundred.
const LEAST_JOURNAL_LINES: u32 = 2000;

fn sizes(plan: &Plan, problems: &mut Problems<'_>) {
    let limits = &plan.limits;
    match limits.disk_kib() {
        None => problems.add(
            "limits.disk",
            format!("invalid size `{}`", limits.disk),
            "expected a Kubernetes quantity",
            "for example 20Gi",
        ),
        Some(size) if size < LEAST_DISK_KIB => problems.add(
            "limits.disk",
            "the size is too small",
            "a node without any user data needs 512Mi",
            "for example 20Gi",
        ),
        Some(_) => (),
    }
    if limits.processes < LEAST_PROCESSES {
        let why = format!("a node without any user data needs {LEAST_PROCESSES}");
        problems.add(
            "limits.processes",
            "the number is too small",
            why,
            "for example 4096",
        );
    }
    if limits.journal_lines < LEAST_JOURNAL_LINES {
        let why = format!("a node without any user data needs up to {LEAST_JOURNAL_LINES}");
        problems.add(
            "limits.journal_lines",
            "the number is too small",
            why,
            "for example 200000",
        );
    }
}

/// A join that reaches its expected phase ends at once, unless the authenticator ends during the join.
fn settle(plan: &Plan, problems: &mut Problems<'_>) {
    let is_longer = plan.limits.settle_seconds > Timeouts::default().settle_seconds;
    let (expect, cluster) = (&plan.expect, &plan.cluster);
    let ends_at_once =
        expect.phase.is_some() && expect.diagnosis.is_none() && cluster.authenticator_until.is_none();
    if is_longer && ends_at_once && plan.then.is_empty() {
        problems.add(
            "limits.settle_seconds",
            "the time has no effect",
            "a join that reaches its expected phase ends at once",
            "remove it, or expect the failure with `diagnosis`",
        );
    }
}
