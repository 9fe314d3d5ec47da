//! Derives the phases of a join from its observation.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::observation::{Audit, AwsCall, JournalLine, Millis, Observation, ObservedEvent, TimelineEntry};
use crate::vocabulary::phase::Phase;
use crate::vocabulary::service::Service;

/// Signer of the serving certificates of kubelets.
pub const KUBELET_SERVING: &str = "kubernetes.io/kubelet-serving";

/// Signer of the client certificates that kubelets register with.
pub const KUBELET_CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";

/// The time of each phase that the join reached.
///
/// After a reboot, the phases from `configured` on belong to the kubelet of the current boot; it keeps its certificate.
/// After a step, what happened before the kubelet started again belongs to the kubelet before it.
#[must_use]
pub fn phases(observation: &Observation) -> BTreeMap<Phase, Millis> {
    let booted = observation.booted_at();
    let started_again = started_again(observation);
    let counts = |phase: Phase, at: Millis| {
        let is_of_boot = phase < Phase::Configured || phase == Phase::Certified || at >= booted;
        is_of_boot && (phase <= Phase::Configured || at >= started_again)
    };
    let mut phases = BTreeMap::new();
    for seen in &observation.timeline {
        for phase in Phase::ALL {
            if counts(phase, seen.at) && shows(&seen.what, phase) {
                let first = phases.entry(phase).or_insert(seen.at);
                *first = seen.at.min(*first);
            }
        }
    }
    if booted > 0 || is_step_with_boot(observation) {
        of_this_boot(observation, &mut phases);
    }
    phases
}

/// Whether the observation is of a step that boots. One that does not begins with the event of a boot, at 0.
fn is_step_with_boot(observation: &Observation) -> bool {
    let is_without = |first: &TimelineEntry| first.at == 0 && matches!(first.what, ObservedEvent::Isolated);
    observation.node_before.is_some() && !observation.timeline.first().is_some_and(is_without)
}

/// Drops phases that only the Node of the boot before shows: until the new kubelet reports, the Node keeps its state,
/// and controllers change it.
fn of_this_boot(observation: &Observation, phases: &mut BTreeMap<Phase, Millis>) {
    let boot_id = |node: &Option<Value>| Some(node.as_ref()?.pointer("/status/nodeInfo/bootID")?.clone());
    let before = boot_id(&observation.node_before);
    let is_old = before.is_some() && before == boot_id(&observation.node);
    if is_old || !phases.contains_key(&Phase::KubeletStarted) {
        phases.retain(|phase, _| *phase < Phase::Registered);
    }
    match phases.get(&Phase::Registered).copied() {
        Some(registered) => {
            let certified = phases.get_mut(&Phase::Certified);
            certified.into_iter().for_each(|at| *at = registered.max(*at));
        }
        None => drop(phases.remove(&Phase::Certified)),
    }
}

/// When a step started the kubelet again; 0 if it did not.
fn started_again(observation: &Observation) -> Millis {
    let starts = |seen: &&TimelineEntry| matches!(&seen.what, ObservedEvent::Journal(line) if is_start_of_kubelet(line));
    let is_step = observation.node_before.is_some();
    let first = observation.timeline.iter().find(starts).filter(|_| is_step);
    first.map_or(0, |seen| seen.at)
}

/// The current phase of a join. `ready` counts only with the serving certificate that the kubelet requested: without it
/// the node is ready, but `logs` and `exec` fail.
#[must_use]
pub fn reached(phases: &BTreeMap<Phase, Millis>, observation: &Observation) -> Option<Phase> {
    let requested = observation
        .certificates
        .iter()
        .any(|certificate| certificate.signer == KUBELET_SERVING);
    let counts =
        |phase: &Phase| *phase != Phase::Ready || !requested || phases.contains_key(&Phase::Certified);
    phases.keys().copied().filter(counts).max()
}

fn shows(what: &ObservedEvent, phase: Phase) -> bool {
    match (phase, what) {
        (Phase::Booted, ObservedEvent::Journal(_)) => true,
        (Phase::Metadata, ObservedEvent::Aws(call)) => call.service == Service::Imds && succeeded(call),
        (Phase::Described, ObservedEvent::Aws(call)) => {
            call.service == Service::Eks && call.operation == "DescribeCluster" && succeeded(call)
        }
        (Phase::Configured, ObservedEvent::Journal(line)) => is_start_of_kubelet(line),
        (Phase::KubeletStarted, ObservedEvent::Journal(line)) => is_by_kubelet(line),
        (Phase::Authenticated, ObservedEvent::Authentication(decision)) => decision.is_accepted(),
        // A watch is logged when it closes, so one of an earlier kubelet can appear after a step. A kubelet lists or
        // creates before it watches.
        (Phase::Authenticated, ObservedEvent::Audit(audit)) => {
            is_by_node(audit) && audit.code != 401 && audit.verb != "watch"
        }
        (Phase::Registered, ObservedEvent::Node(change)) => change.exists,
        (Phase::Certified, ObservedEvent::Certificate(certificate)) => {
            certificate.signer == KUBELET_SERVING && certificate.issued
        }
        (Phase::Ready, ObservedEvent::Node(change)) => change.exists && change.ready,
        _ => false,
    }
}

fn succeeded(call: &AwsCall) -> bool {
    (200..400).contains(&call.status)
}

/// Whether the line belongs to the kubelet's unit; its name depends on the distribution.
#[must_use]
pub fn is_of_kubelet(line: &JournalLine) -> bool {
    line.unit
        .as_deref()
        .is_some_and(|unit| unit.starts_with("kubelet") || unit.starts_with("snap.kubelet"))
}

/// Whether the kubelet itself wrote the line, and not an `ExecStartPre` command of its unit.
#[must_use]
pub fn is_by_kubelet(line: &JournalLine) -> bool {
    let by_command = line
        .command
        .as_deref()
        .is_none_or(|command| command.starts_with("kubelet"));
    is_of_kubelet(line) && !line.by_systemd && by_command
}

/// Whether systemd starts the kubelet.
pub(crate) fn is_start_of_kubelet(line: &JournalLine) -> bool {
    let starts = line.message.starts_with("Starting ") || line.message.starts_with("Started ");
    is_of_kubelet(line) && line.by_systemd && starts
}

/// Prefix of the user names of bootstrap tokens.
const BOOTSTRAP_USER: &str = "system:bootstrap:";

/// Whether the node sent the request, and not a controller.
fn is_by_node(audit: &Audit) -> bool {
    // kubeadm sends requests with the same token before the kubelet does.
    if audit.username.starts_with(BOOTSTRAP_USER) {
        return audit.resource.starts_with("certificatesigningrequests");
    }
    audit.username.starts_with("system:node:")
        || audit
            .groups
            .iter()
            .any(|group| group == "system:nodes" || group.starts_with("system:bootstrappers"))
}

/// When the user data was done: cloud-init reported it, or its unit ended. With nodeadm, its last unit has to end as
/// well, which comes after cloud-init. After a reboot, that of the current boot counts.
#[must_use]
pub fn user_data_done(observation: &Observation) -> Option<Millis> {
    let booted = observation.booted_at();
    let lines = || {
        observation.timeline.iter().filter_map(|seen| match &seen.what {
            ObservedEvent::Journal(line) if seen.at >= booted => Some((seen.at, line)),
            _ => None,
        })
    };
    let done = lines().find(|(_, line)| is_end_of_user_data(line))?.0;
    if !lines().any(|(_, line)| is_of_nodeadm(line)) {
        return Some(done);
    }
    let ended = lines().find(|(_, line)| is_end_of_nodeadm(line))?.0;
    Some(done.max(ended))
}

/// Whether the line belongs to one of nodeadm's units.
#[must_use]
pub fn is_of_nodeadm(line: &JournalLine) -> bool {
    line.unit
        .as_deref()
        .is_some_and(|unit| unit.starts_with("nodeadm-"))
}

fn is_end_of_nodeadm(line: &JournalLine) -> bool {
    const WORDS: [&str; 3] = ["Finished ", "Failed to start ", "Dependency failed for "];
    line.by_systemd
        && line.unit.as_deref() == Some("nodeadm-run.service")
        && WORDS.iter().any(|word| line.message.starts_with(word))
}

/// Whether the line belongs to the unit that runs user data.
#[must_use]
pub fn is_of_user_data(line: &JournalLine) -> bool {
    let unit = line.unit.as_deref().unwrap_or_default();
    unit.starts_with("cloud-final") || unit.contains("user-data")
}

pub(super) fn is_end_of_user_data(line: &JournalLine) -> bool {
    if !is_of_user_data(line) {
        return false;
    }
    let message = &line.message;
    if !line.by_systemd {
        return message.starts_with("Cloud-init v. ") && message.contains(" finished at ");
    }
    ["Finished ", "Failed to start "]
        .iter()
        .any(|word| message.starts_with(word))
        || message.contains("Failed with result")
        // A unit that runs once, at the second boot.
        || message.contains(" skipped")
}

#[cfg(test)]
pub(crate) mod tests;
