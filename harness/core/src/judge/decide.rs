//! The verdict at the end of a join.

use super::blame::placeholder_typos;
use super::checks::{End, Join, final_checks};
use super::joined_node::JoinedNode;
use super::notes::{notes, requests_not_answered};
use crate::diagnosis::{Cause, Diagnosis, diagnose};
use crate::judge::verdict::{Check, Outcome, Verdict, Versions};
use crate::observation::phases::{phases, reached};
use crate::observation::{Observation, ObservedEvent};
use crate::plan::{ImagePlan, Plan};
use crate::vocabulary::phase::Phase;

/// The verdict on a join that has ended.
#[must_use]
pub fn judge(plan: &Plan, observation: &Observation) -> Verdict {
    let phases = phases(observation);
    let reached = reached(&phases, observation);
    let diagnosis = diagnose(plan, observation).map(|found| with_placeholder_typos(plan, found));
    // A step without a phase does not repeat the join.
    let joined = plan.expect.phase.is_none() || reached >= Some(Phase::Registered);
    let should_join =
        plan.expect.diagnosis.is_none() && plan.expect.phase.is_none_or(|phase| phase >= Phase::Registered);
    let cause = diagnosis.as_ref().map(|found| found.cause);
    let notes = match (joined, should_join) {
        (true, _) => notes(plan, observation),
        // Without a download, something else fails later. A limit of nodejoin names its request itself.
        (false, true) if cause != Some(Cause::HarnessLimit) => {
            requests_not_answered(plan, observation, "the node did not join")
        }
        (false, _) => Vec::new(),
    };
    let end = End {
        reached,
        diagnosis: diagnosis.as_ref(),
        notes: &notes,
    };
    let checks = final_checks(Join { plan, observation }, &end);
    let undecided = diagnosis.as_ref().and_then(|found| host_limit(plan, found));
    let outcome = match undecided.or_else(|| observation.not_made()) {
        Some(reason) => Outcome::Errored(reason),
        None => outcome(observation, &checks),
    };
    let is_after_ready = diagnosis
        .as_ref()
        .is_some_and(|found| found.cause.is_after_ready());
    let stopped_early = is_after_ready || reached < Some(plan.expect.phase.unwrap_or(Phase::Ready));
    let is_reported = plan.expect.diagnosis.is_some() || (outcome == Outcome::Failed && stopped_early);
    Verdict {
        versions: Some(Versions {
            kubernetes: observation.kubernetes.clone(),
            kubelet: observation.kubelet.clone(),
            image: (plan.image.name != ImagePlan::DEFAULT).then(|| plan.image.name.clone()),
        }),
        outcome,
        phases,
        diagnosis: diagnosis.filter(|_| is_reported),
        checks,
        notes,
        node: JoinedNode::of(observation),
        deviations: observation.deviations.clone(),
        parts: Vec::new(),
    }
}

/// A name that nodejoin did not fill in may be the cause of any other.
fn with_placeholder_typos(plan: &Plan, mut diagnosis: Diagnosis) -> Diagnosis {
    for typo in placeholder_typos(plan) {
        diagnosis.because.push_str(&format!("; {typo}"));
    }
    diagnosis
}

/// The verdict on a step that has ended. A step without `expect.phase` does not repeat the join, so an `unknown`
/// diagnosis is dropped.
#[must_use]
pub fn judge_step(plan: &Plan, observation: &Observation) -> Verdict {
    let mut verdict = judge(plan, observation);
    if plan.expect.phase.is_none() && plan.expect.diagnosis.is_none() {
        verdict.diagnosis = verdict.diagnosis.filter(|found| found.cause != Cause::Unknown);
    }
    verdict
}

fn outcome(observation: &Observation, checks: &[Check]) -> Outcome {
    if let Some(reason) = not_isolated(observation) {
        return Outcome::Errored(reason);
    }
    if checks.iter().all(|check| check.held) {
        Outcome::Passed
    } else {
        Outcome::Failed
    }
}

/// The reason for `errored` when the host lacks something: such a join says nothing about the script.
fn host_limit(plan: &Plan, found: &Diagnosis) -> Option<String> {
    let is_it = found.cause == Cause::HostLimit && plan.expect.diagnosis != Some(Cause::HostLimit);
    is_it.then(|| format!("{}: {}; {}", found.because, found.seen, found.remedy))
}

/// The reason for `errored` when the node did not prove that its metadata address is the harness: it may have used
/// another metadata service.
fn not_isolated(observation: &Observation) -> Option<String> {
    if observation
        .timeline
        .iter()
        .any(|entry| matches!(entry.what, ObservedEvent::Isolated))
    {
        return None;
    }
    Some(match observation.exit() {
        Some(exit) => format!(
            "the node's container exited with code {} before it reached the harness: {}",
            exit.code,
            exit.lines.join("; ")
        ),
        None => "the node never reached the harness at 169.254.169.254".to_owned(),
    })
}
