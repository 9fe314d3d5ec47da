//! After the script: a kubelet that nothing started.

use super::facts::{Evidence, Facts, names};
use super::nodeadm;
use super::script_output::{last_complaint, shortened};
use super::types::Finding;
use super::user_data_start::faulty_part;
use crate::observation::{JournalLine, Millis};
use crate::user_data::FaultKind;
use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;

/// The user data is done, and systemd did not start the kubelet.
pub(super) fn kubelet_never_started(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::KubeletStarted) {
        return None;
    }
    dependency_failed(facts)
        .or_else(|| pre_command_failed(facts))
        .or_else(|| nodeadm_ended(facts))
        .or_else(|| nothing_started_it(facts))
}

fn dependency_failed(facts: &Facts<'_>) -> Option<Finding> {
    let (at, line) = facts
        .systemd_of_kubelet()
        .find(|(_, line)| line.message.starts_with("Dependency failed for"))?;
    let failed: Vec<&str> = facts
        .journal()
        .filter(|(time, line)| *time <= at && line.by_systemd && line.message.contains("Failed with result"))
        .filter_map(|(_, line)| line.unit.as_deref())
        .collect();
    let because = match failed.as_slice() {
        [] => "a unit that the kubelet requires failed".to_owned(),
        failed => format!("a unit that the kubelet requires failed: {}", names(failed)),
    };
    let remedy = match failed.as_slice() {
        [] => "run `systemctl list-dependencies kubelet` in the node".to_owned(),
        [first, ..] => format!("read the journal of {first} in the evidence folder"),
    };
    facts.final_(
        Cause::KubeletNeverStarted,
        because,
        &Evidence::journal(at, line),
        remedy,
    )
}

fn pre_command_failed(facts: &Facts<'_>) -> Option<Finding> {
    let (at, line) = facts
        .systemd_of_kubelet()
        .find(|(_, line)| line.message.contains("Control process exited"))?;
    let because = "an `ExecStartPre=` command of the kubelet's unit failed".to_owned();
    let remedy = "read the output of the command in the kubelet's journal in the evidence folder".to_owned();
    facts.found(
        Cause::KubeletNeverStarted,
        because,
        &Evidence::journal(at, line),
        remedy,
    )
}

/// A unit of nodeadm ended without an error that nodeadm itself reports, such as a panic.
fn nodeadm_ended(facts: &Facts<'_>) -> Option<Finding> {
    if nodeadm::is_called_by_script(facts) {
        return None;
    }
    let is_of = |line: &JournalLine| {
        line.unit
            .as_deref()
            .is_some_and(|unit| unit.starts_with("nodeadm-"))
    };
    let is_end = |line: &JournalLine| line.by_systemd && line.message.contains("Main process exited");
    let (at, end) = facts.journal().find(|(_, line)| is_of(line) && is_end(line))?;
    let unit = end.unit.as_deref()?;
    let own = facts
        .journal()
        .filter(|(_, line)| !line.by_systemd && line.unit.as_deref() == Some(unit));
    let (at, last) = own.last().unwrap_or((at, end));
    let because =
        format!("nodeadm ended in {unit} without an error of its own, so nothing configured the kubelet");
    let remedy = format!("read the journal of {unit} in the evidence folder");
    facts.final_(
        Cause::KubeletNeverStarted,
        because,
        &Evidence::journal(at, last),
        remedy,
    )
}

fn nothing_started_it(facts: &Facts<'_>) -> Option<Finding> {
    let done = facts.user_data_done.filter(|_| !facts.has(Phase::Configured))?;
    let (at, line) = facts.user_data_lines().find(|(at, _)| *at == done)?;
    if let Some((part, what)) = faulty_part(facts, &[FaultKind::CloudConfig]) {
        let because = format!(
            "cloud-init cannot use the cloud-config in {part}, and nothing else starts the kubelet: {what}"
        );
        let remedy =
            "correct the line; `cloud-init schema --config-file FILE` checks a cloud-config".to_owned();
        return facts.final_(
            Cause::KubeletNeverStarted,
            because,
            &Evidence::journal(at, line),
            remedy,
        );
    }
    let complaint = last_complaint(facts);
    let because = match complaint {
        Some((_, line)) => format!(
            "the user data is done, and nothing started the kubelet; the last error in its output: {}",
            shortened(line.message.trim())
        ),
        None => "the user data is done, and nothing started the kubelet".to_owned(),
    };
    let (at, line) = complaint.unwrap_or((at, line));
    let text = facts.user_data_text().unwrap_or_default();
    let is_open = |(_, line): (Millis, &JournalLine)| line.message.contains("warning: here-document");
    let remedy = if complaint.is_some_and(is_open) {
        "end the here-document by a line with its word alone, without blanks around it: everything after it is text and \
         does not run"
    } else if text.contains("kind: NodeConfig") {
        "use an image with nodeadm (AL2023; here `image: al2023`): nothing in this image reads a NodeConfig"
    } else if text.contains("bootstrap.sh") {
        "read the output of the script (user-data output in the evidence folder): it succeeded without starting the kubelet"
    } else {
        "call the bootstrap script in the user data: /etc/eks/bootstrap.sh CLUSTER"
    };
    facts.final_(
        Cause::KubeletNeverStarted,
        because,
        &Evidence::journal(at, line),
        remedy.to_owned(),
    )
}
