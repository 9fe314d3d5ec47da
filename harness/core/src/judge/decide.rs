//! At the end of a join: passed or failed, and which checks decided.

use super::certificates::{When, certificates};
use super::{join, node, node_state, ownership};
use crate::diagnosis::diagnose;
use crate::diagnosis::{Cause, Diagnosis};
use crate::judge::verdict::{Check, Outcome, Verdict, Versions};
use crate::observation::phases::{phases, reached};
use crate::observation::{Observation, ObservedEvent};
use crate::plan::Plan;

/// What the harness says of a join that came to its end.
#[must_use]
pub fn judge(plan: &Plan, observation: &Observation) -> Verdict {
    let phases = phases(observation);
    let reached = reached(&phases, observation);
    let diagnosis = diagnose(plan, observation);
    let expect = &plan.expect;
    let mut checks = join::outcome(expect, reached, diagnosis.as_ref());
    checks.extend(
        expect
            .authentication
            .iter()
            .flat_map(|wanted| join::authentication(wanted, observation)),
    );
    checks.extend(
        expect
            .certificates
            .iter()
            .flat_map(|wanted| certificates(wanted, observation, When::End)),
    );
    checks.extend(
        expect
            .node
            .iter()
            .flat_map(|wanted| node::node(wanted, observation)),
    );
    checks.extend(
        expect
            .node
            .iter()
            .flat_map(|wanted| ownership::origins(wanted, observation)),
    );
    checks.extend(ownership::requests(&expect.audit, observation));
    checks.extend(join::mappings(plan, observation));
    checks.extend(join::aws(expect, observation));
    checks.extend(node_state::machine(expect, observation));
    checks.extend(node_state::golden(plan, observation));
    checks.extend(join::hygiene(plan, observation));
    let outcome = match diagnosis.as_ref().and_then(|found| of_host(plan, found)) {
        Some(reason) => Outcome::Errored(reason),
        None => outcome(observation, &checks),
    };
    let is_stale = diagnosis
        .as_ref()
        .is_some_and(|found| found.cause == Cause::ProviderIdOfAnotherInstance);
    let is_short = is_stale || reached < goal(plan);
    let is_wanted = expect.diagnosis.is_some() || (outcome == Outcome::Failed && is_short);
    Verdict {
        versions: Some(Versions {
            kubernetes: observation.kubernetes.clone(),
            kubelet: observation.kubelet.clone(),
        }),
        outcome,
        phases,
        diagnosis: diagnosis.filter(|_| is_wanted),
        checks,
        deviations: observation.deviations.clone(),
        parts: Vec::new(),
    }
}

/// What the harness says of a step that came to its end. A step that asks for no phase asks nothing of the join: that what it does
/// need not show every phase again is no cause of what else is wrong with it.
#[must_use]
pub fn judge_step(plan: &Plan, observation: &Observation) -> Verdict {
    let mut verdict = judge(plan, observation);
    if plan.expect.phase.is_none() && plan.expect.diagnosis.is_none() {
        verdict.diagnosis = verdict.diagnosis.filter(|found| found.cause != Cause::Unknown);
    }
    verdict
}

/// What a join is measured by where it failed: what the scenario wants, or all there is.
fn goal(plan: &Plan) -> Option<crate::observation::phase::Phase> {
    plan.expect
        .phase
        .or(Some(crate::observation::phase::Phase::Ready))
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

/// A node that stopped for want of something that the host has not says nothing of its script.
fn of_host(plan: &Plan, found: &Diagnosis) -> Option<String> {
    let is_it = found.cause == Cause::HostLimit && plan.expect.diagnosis != Some(Cause::HostLimit);
    is_it.then(|| format!("{}: {}; {}", found.because, found.seen, found.remedy))
}

/// A node that never proved that its metadata address is the harness's proves nothing else either.
fn not_isolated(observation: &Observation) -> Option<String> {
    let mut timeline = observation.timeline.iter();
    if timeline
        .clone()
        .any(|seen| matches!(seen.what, ObservedEvent::Isolated))
    {
        return None;
    }
    let exit = timeline.find_map(|seen| match &seen.what {
        ObservedEvent::ContainerExited { code, lines } => Some((code, lines)),
        _ => None,
    });
    Some(match exit {
        Some((code, lines)) => format!(
            "the node's container ended with {code} before it reached the harness: {}",
            lines.join("; ")
        ),
        None => "the node never reached the harness at 169.254.169.254".to_owned(),
    })
}
