//! Compares the machine of a scenario with that of the one in `expect.same_as`: both boot up to the start of the
//! kubelet.

use nodejoin_core::compare::{MachineState, differences};
use nodejoin_core::judge::same_machine;
use nodejoin_core::judge::verdict::{Check, Outcome};
use nodejoin_core::plan::Plan;
use tokio_util::sync::CancellationToken;

use crate::context::RunContext;
use crate::probe::{ProbeEnd, probe};

/// The check of `same_as`; `None` for a scenario without it.
///
/// # Errors
/// The outcome of the scenario if there is nothing to compare.
pub(crate) async fn compared(
    context: &RunContext,
    plan: &Plan,
    cancel: &CancellationToken,
) -> Result<Option<Check>, Outcome> {
    let (Some(required), Some(other)) = (&plan.expect.same_as, &plan.same_as) else {
        return Ok(None);
    };
    let other = Plan {
        requested: plan.requested.clone(),
        ..other.probe()
    };
    let state = async |plan: &Plan| match probe(context, plan, cancel).await {
        ProbeEnd::Machine(probed) => match probed.limit() {
            Some(limit) => Err(Outcome::Errored(limit)),
            None => Ok(probed.state.machine_alone(plan)),
        },
        ProbeEnd::NotRun(reason) => Err(Outcome::Errored(format!(
            "the comparison with {}: {reason}",
            required.name()
        ))),
        ProbeEnd::Cancelled => Err(Outcome::Cancelled),
    };
    let (theirs, own): (MachineState, MachineState) = (state(&other).await?, state(&plan.probe()).await?);
    let mut found = differences(&theirs, &own, None);
    if !found.is_empty() {
        // Only what differs now can be noise.
        let again = state(&other).await?;
        found = differences(&theirs, &own, Some(&again));
    }
    Ok(Some(same_machine(required, &found)))
}
