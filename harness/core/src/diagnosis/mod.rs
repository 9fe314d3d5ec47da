//! Why a join stopped: small rules, the most specific first, each from what was seen to a cause, its evidence and the way out.
//!
//! | file | causes |
//! | --- | --- |
//! | `instance.rs` | metadata service, user data that never ran, script parts |
//! | `script.rs` | AWS calls of the script, the script's own end, a kubelet that was never started |
//! | `user_data_end.rs` | user data whose error is hidden, or that does not end |
//! | `kubelet.rs` | what the kubelet refuses, or ends of |
//! | `kubeadm.rs` | what `kubeadm join` is given |
//! | `nodeadm.rs` | what nodeadm makes of a NodeConfig |
//! | `identity.rs` | who the node is to the authenticator and to the API server |
//! | `cluster.rs` | what comes after registration |
//! | `clock.rs` | a clock that is not AWS' |
//!
//! `script_location.rs` finds the line of the script that a cause belongs to.

mod access;
mod cause;
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
pub use types::{Diagnosis, ScriptLocation};

use facts::Facts;

/// A cause that was found, and since when it holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finding {
    /// What was found.
    pub(crate) diagnosis: Diagnosis,
    /// When its evidence was seen first.
    pub(crate) at: Millis,
    /// Whether nothing that the node does by itself can mend it, once user data is done.
    pub(crate) is_final: bool,
}

type Rule = fn(&Facts<'_>) -> Option<Finding>;

/// In order: a rule may rely on those before it having found nothing. Each says itself until which phase it holds.
const RULES: &[Rule] = &[
    instance::host_limit,
    cluster::node_deleted,
    cluster::serving_certificate_denied,
    cluster::serving_certificate_not_approved,
    cluster::cni_not_ready,
    instance::metadata_unreachable,
    cluster::client_certificate_not_approved,
    kubeadm::ca_cert_hash_mismatch,
    kubeadm::token_refused,
    kubeadm::token_unknown,
    clock::clock_skew,
    kubelet::label_refused,
    kubelet::taint_invalid,
    identity::groups_missing,
    identity::node_name_refused,
    cluster::node_invalid,
    identity::role_not_mapped,
    identity::token_for_another_cluster,
    kubelet::wrong_certificate_authority,
    identity::unauthorized,
    script::access_denied,
    script::describe_failed,
    nodeadm::node_config_invalid,
    instance::user_data_is_base64,
    instance::missing_shebang,
    instance::user_data_never_ran,
    instance::metadata_token_missing,
    kubelet::exits,
    kubelet::endpoint_unreachable,
    kubelet::api_server_gives_up,
    user_data_end::unit_is_refused,
    nodeadm::failed,
    script::failed,
    user_data_end::error_is_hidden,
    script::kubelet_never_started,
];

/// The cause that is known so far.
pub(crate) fn find(plan: &Plan, observation: &Observation) -> Option<Finding> {
    let scene = Facts::of(plan, observation);
    if scene.reached == Some(Phase::Ready) {
        return cluster::of_another_instance(&scene);
    }
    RULES.iter().find_map(|rule| rule(&scene))
}

/// Why a join stopped; `None` for one that reached everything as the right node.
#[must_use]
pub fn diagnose(plan: &Plan, observation: &Observation) -> Option<Diagnosis> {
    let scene = Facts::of(plan, observation);
    if scene.reached == Some(Phase::Ready) {
        return cluster::of_another_instance(&scene).map(|finding| finding.diagnosis);
    }
    // Until the end it is no cause that user data still runs.
    let found = find(plan, observation).or_else(|| user_data_end::is_not_done(&scene));
    let mut diagnosis = found.map_or_else(|| unknown(&scene), |finding| finding.diagnosis);
    diagnosis.script = script_location::of(&scene, diagnosis.cause);
    Some(diagnosis)
}

fn unknown(scene: &Facts<'_>) -> Diagnosis {
    let at = scene
        .reached
        .map_or("before systemd ran".to_owned(), |phase| format!("at {phase}"));
    let (because, seen) = match scene.exit() {
        Some((code, seen)) => (
            format!("the node's container ended by itself {at}, with code {code}"),
            seen,
        ),
        None => (
            format!("the join stopped {at}, and nothing that was seen says why"),
            scene.last_complaint(),
        ),
    };
    Diagnosis {
        phase: scene.reached,
        cause: Cause::Unknown,
        because,
        seen,
        remedy: "look into the evidence folder: journals, the transcript of AWS calls, the timeline"
            .to_owned(),
        script: None,
    }
}
