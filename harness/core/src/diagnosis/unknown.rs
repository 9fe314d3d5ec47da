//! Joins that stopped for a reason that no rule recognizes.

use super::facts::Facts;
use super::types::Finding;
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
            facts.last_failure_line(),
        ),
    };
    let remedy = "read the evidence folder: journals, AWS calls, timeline".to_owned();
    facts.found(Cause::Unknown, because, &evidence, remedy)
}
