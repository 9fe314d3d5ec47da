//! Why a join stopped: small rules, the most specific first. Each derives a cause, its evidence and a remedy from an
//! observation.
//!
//! | file | causes |
//! | --- | --- |
//! | `rules.rs` | all rules in their order, from the table of causes (`vocabulary/cause_table.rs`) |
//! | `instance.rs` | metadata service, limits of the host |
//! | `user_data_start.rs` | user data that never ran, script parts that cannot start |
//! | `ami_family.rs` | user data for another AMI family than that of the node image |
//! | `script.rs` | AWS calls of the script, its exit |
//! | `never_started.rs` | a kubelet that nothing started |
//! | `limits.rs` | what the image and the host do not have |
//! | `unanswered.rs` | names outside, and AWS calls that the fake AWS does not emulate |
//! | `dns_fault.rs` | names that a DNS fault of the scenario does not resolve |
//! | `outside.rs` | requests to hosts outside |
//! | `stored_values.rs` | parameters, secrets, objects and metadata of stacks that an account does not have |
//! | `metadata_path.rs` | requests for a metadata path that the instance does not have |
//! | `power.rs` | user data that reboots the instance or shuts it down |
//! | `user_data_end.rs` | user data whose error is hidden, or that does not end |
//! | `container_runtime.rs` | a container runtime that does not start |
//! | `sandbox_image.rs` | the image of the pause container |
//! | `paths.rs` | paths of an AMI that the user data misspells |
//! | `api_server.rs` | an API server that the kubelet does not trust or reach |
//! | `kubelet.rs` | what the kubelet refuses, and why it exits |
//! | `kubelet_program.rs` | a kubelet that systemd cannot start |
//! | `kubeadm.rs` | arguments of `kubeadm join` |
//! | `nodeadm.rs` | the NodeConfig |
//! | `identity.rs`, `access.rs` | the node's identity for the authenticator and the API server |
//! | `cluster.rs`, `certificates.rs` | everything after registration |
//! | `registration.rs` | ready nodes with other labels, taints or pods than the expected ones |
//! | `lost.rs` | nodes that were ready and are not any more |
//! | `unknown.rs` | what remains |
//! | `clock.rs` | a clock that differs from AWS' time |
//!
//! `labels.rs` and `other_cluster.rs` recognize refused labels, and values of other clusters in the user data.
//! `cut_value.rs` finds the argument of a kubelet that a blank cuts, `literal_command.rs` a command in it that no shell
//! evaluates.
//! `missing_disk.rs` finds disks that the instance does not have; `unusable_script.rs` scripts that cannot start.
//! `script_location.rs` finds the line of the script that a cause blames; `script_output.rs` the lines that it printed;
//! `script_remedy.rs` what to do about its last words; `unit_lines.rs` the lines of units that systemd ignored.

mod access;
mod ami_family;
mod api_server;
mod certificates;
mod clock;
mod cluster;
mod container_runtime;
mod cut_value;
mod dns_fault;
mod exhausted;
mod facts;
mod identity;
mod instance;
mod kubeadm;
mod kubelet;
mod kubelet_program;
mod labels;
mod limits;
mod literal_command;
mod lost;
mod metadata_path;
mod missing_disk;
mod never_started;
mod nodeadm;
mod other_cluster;
mod outside;
mod paths;
mod pod;
mod power;
mod registration;
mod rules;
mod sandbox_image;
mod script;
mod script_location;
mod script_output;
mod script_remedy;
mod stored_values;
#[cfg(test)]
mod tests;
mod types;
mod unanswered;
mod unit_lines;
mod unknown;
mod unusable_script;
mod user_data_end;
mod user_data_start;
mod versions;

use crate::observation::Observation;
use crate::plan::Plan;
pub use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;
pub(crate) use instance::requests_without_token;
pub(crate) use outside::how_to_answer;
pub(crate) use power::reboot_times;
pub(crate) use script::how_to_serve_object;
pub(crate) use script_output::last_words_of;
pub(crate) use script_remedy::unknown_package;
pub(crate) use stored_values::{how_to_store_object, how_to_store_value, is_in_another_region};
pub(crate) use types::Finding;
pub use types::{Diagnosis, ScriptLocation};
pub(crate) use unit_lines::ignored_unit_lines;

use facts::Facts;
use rules::{ORDERED, RuleScope};

/// The cause that the rules find while the join runs.
pub(crate) fn find(plan: &Plan, observation: &Observation) -> Option<Finding> {
    find_in(&Facts::of(plan, observation))
}

/// Why a join stopped; `None` for a join that is ready as the right node.
#[must_use]
pub fn diagnose(plan: &Plan, observation: &Observation) -> Option<Diagnosis> {
    let facts = Facts::of(plan, observation);
    if facts.reached == Some(Phase::Ready) {
        let found = find_in(&facts).or_else(|| apply(RuleScope::ReadyAtTheEnd, &facts));
        return found.map(|finding| finding.diagnosis);
    }
    let found = find_in(&facts).or_else(|| apply(RuleScope::AtTheEnd, &facts));
    let mut diagnosis = found?.diagnosis;
    if observation.reboots().next().is_some() && diagnosis.cause != Cause::InstanceRebooted {
        let after = reboot_times(observation);
        diagnosis
            .because
            .push_str(&format!("; the user data rebooted the instance {after}"));
    }
    diagnosis.script = script_location::of(&facts, diagnosis.cause);
    if let Some(explanation) = unit_lines::explanation(diagnosis.cause, observation) {
        diagnosis.because.push_str(&format!("; {explanation}"));
    }
    Some(diagnosis)
}

fn find_in(facts: &Facts<'_>) -> Option<Finding> {
    match facts.reached {
        Some(Phase::Ready) => apply(RuleScope::Ready, facts),
        _ => apply(RuleScope::Stopped, facts),
    }
}

fn apply(scope: RuleScope, facts: &Facts<'_>) -> Option<Finding> {
    first_of(scope, facts).map(|(_, finding)| finding)
}

/// The first rule that finds a cause: its order, and what it finds.
fn first_of(scope: RuleScope, facts: &Facts<'_>) -> Option<(u32, Finding)> {
    let mut rules = ORDERED.iter().filter(|rule| rule.scope == scope);
    rules.find_map(|rule| Some((rule.order, (rule.apply)(facts)?)))
}
