//! A node that uses all of the processes or of the disk that it can have.

use super::facts::{Evidence, Facts};
use super::types::Finding;
use crate::vocabulary::cause::Cause;

/// The program of the harness that watches the node, and how its lines begin.
const WATCHER: &str = "nodejoin-limits";
const OF_PROCESSES: &str = "processes: ";
const OF_THE_DISK: &str = "disk: ";

pub(super) fn processes(facts: &Facts<'_>) -> Option<Finding> {
    let because = format!(
        "the node has as many processes and threads as it can have, {}: the harness ended its programs",
        facts.plan.limits.processes
    );
    let remedy = facts.plan.key_hint("limits: { processes: NUMBER }");
    let remedy =
        format!("find the command that starts processes without end; if the node needs more, {remedy}");
    reported(facts, OF_PROCESSES, Cause::TooManyProcesses, because, remedy)
}

pub(super) fn disk(facts: &Facts<'_>) -> Option<Finding> {
    let because = format!(
        "the node has written more than the {} that its disk can hold: the harness ended its programs",
        facts.plan.limits.disk
    );
    let remedy = facts.plan.key_hint("limits: { disk: SIZE }");
    let remedy = format!("find the command that writes so much; if the node needs more, {remedy}");
    reported(facts, OF_THE_DISK, Cause::DiskFull, because, remedy)
}

fn reported(
    facts: &Facts<'_>,
    limit: &str,
    cause: Cause,
    because: String,
    remedy: String,
) -> Option<Finding> {
    let (at, line) = facts
        .journal()
        .find(|(_, line)| line.command.as_deref() == Some(WATCHER) && line.message.starts_with(limit))?;
    facts.final_(cause, because, &Evidence::journal(at, line), remedy)
}
