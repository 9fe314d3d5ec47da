//! Joins that stopped for a reason that no rule recognizes.

use super::facts::{Evidence, Facts, reports_failure};
use super::script_output::{is_by_cloud_init, is_trace};
use super::types::Finding;
use crate::observation::{JournalLine, Millis};
use crate::vocabulary::cause::Cause;

/// No rule found a cause.
pub(super) fn unknown(facts: &Facts<'_>) -> Option<Finding> {
    let at = facts
        .reached
        .map_or("before systemd started".to_owned(), |phase| format!("at {phase}"));
    if let Some((why, (_, evidence))) = facts.observation.not_made().zip(facts.exit()) {
        let because = format!("nodejoin could not start a machine of this image: {why}");
        let remedy =
            "try the image `al2`: if its node starts, the image lacks what this step needs".to_owned();
        return facts.found(Cause::HarnessLimit, because, &evidence, remedy);
    }
    let (because, evidence) = match facts.exit() {
        Some((code, evidence)) => (
            format!("the node's container exited by itself {at}, with code {code}"),
            evidence,
        ),
        None => (
            format!("the join stopped {at}, and no rule recognizes why"),
            last_failure_line(facts),
        ),
    };
    let remedy = "read the evidence folder: journals, AWS calls, timeline".to_owned();
    facts.found(Cause::Unknown, because, &evidence, remedy)
}

/// The last line that reports a failure.
fn last_failure_line(facts: &Facts<'_>) -> Evidence {
    let lines: Vec<(Millis, &JournalLine)> = facts.journal().collect();
    let found = lines
        .iter()
        .rev()
        .find(|(_, line)| reports_failure(line) && !repeats_input(&line.message))
        .or(lines.last());
    found.map_or_else(
        || Evidence::new("journal", 0, "no line of the node's journal"),
        |(at, line)| Evidence::journal(*at, line),
    )
}

/// Lines of `set -x`, of cloud-init, and the list of flags at the start of the kubelet repeat their input.
fn repeats_input(message: &str) -> bool {
    is_trace(message) || is_by_cloud_init(message) || message.contains("] FLAG: --")
}
