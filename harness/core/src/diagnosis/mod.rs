//! Why a join stopped: small rules, the most specific first. Each derives a cause, its evidence and a remedy from an
//! observation.
//!
//! | file | causes |
//! | --- | --- |
//! | `cause.rs` | the list of causes, and the order of the rules |
//! | `instance.rs` | metadata service, user data that never ran, script parts, limits of the host |
//! | `script.rs` | AWS calls of the script, its exit, a kubelet that was never started |
//! | `user_data_end.rs` | user data whose error is hidden, or that does not end |
//! | `kubelet.rs` | what the kubelet refuses, and why it exits |
//! | `kubeadm.rs` | arguments of `kubeadm join` |
//! | `nodeadm.rs` | the NodeConfig |
//! | `identity.rs`, `access.rs` | the node's identity for the authenticator and the API server |
//! | `cluster.rs`, `certificates.rs` | everything after registration |
//! | `clock.rs` | a clock that differs from AWS' time |
//!
//! `script_location.rs` finds the line of the script that a cause blames.

mod access;
mod cause;
mod certificates;
mod clock;
mod cluster;
mod facts;
mod identity;
mod instance;
mod kubeadm;
mod kubelet;
mod nodeadm;
mod script;
mod script_location;
#[cfg(test)]
mod tests;
mod types;
mod user_data_end;
mod versions;

use crate::observation::phase::Phase;
use crate::observation::{Millis, Observation};
use crate::plan::Plan;
pub use cause::Cause;
pub(crate) use types::BlamedLine;
pub use types::{Diagnosis, ScriptLocation};

use cause::RULES;
use types::RuleScope;

use facts::Facts;

/// A cause that a rule found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finding {
    pub(crate) diagnosis: Diagnosis,
    /// The time of the first evidence.
    pub(crate) at: Millis,
    /// Whether the join cannot recover by itself once the user data is done.
    pub(crate) is_final: bool,
}

type Rule = fn(&Facts<'_>) -> Option<Finding>;

/// The cause that the rules find while the join runs.
pub(crate) fn find(plan: &Plan, observation: &Observation) -> Option<Finding> {
    find_in(&Facts::of(plan, observation))
}

/// Why a join stopped; `None` for a join that is ready as the right node.
#[must_use]
pub fn diagnose(plan: &Plan, observation: &Observation) -> Option<Diagnosis> {
    let facts = Facts::of(plan, observation);
    if facts.reached == Some(Phase::Ready) {
        return find_in(&facts).map(|finding| finding.diagnosis);
    }
    let found = find_in(&facts).or_else(|| apply(RuleScope::AtTheEnd, &facts));
    let mut diagnosis = found?.diagnosis;
    diagnosis.script = script_location::of(&facts, diagnosis.cause);
    Some(diagnosis)
}

fn find_in(facts: &Facts<'_>) -> Option<Finding> {
    match facts.reached {
        Some(Phase::Ready) => apply(RuleScope::Ready, facts),
        _ => apply(RuleScope::Stopped, facts),
    }
}

fn apply(scope: RuleScope, facts: &Facts<'_>) -> Option<Finding> {
    let mut rules = RULES.iter().filter(|rule| rule.scope == scope);
    rules.find_map(|rule| (rule.apply)(facts))
}

/// No rule found a cause.
fn unknown(facts: &Facts<'_>) -> Option<Finding> {
    let at = facts
        .reached
        .map_or("before systemd started".to_owned(), |phase| format!("at {phase}"));
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
