//! A container runtime that does not start, so that nothing starts the kubelet.

use super::facts::{Evidence, Facts};
use super::script_output::shortened;
use super::types::Finding;
use crate::observation::{JournalLine, Millis};
use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;

/// The units of container runtimes, and the files that configure them.
const UNITS: [(&str, &str); 3] = [
    ("containerd.service", "/etc/containerd/config.toml"),
    ("docker.service", "/etc/docker/daemon.json"),
    ("crio.service", "/etc/crio"),
];
/// Failures in a row after which a unit that systemd starts again does not recover.
const LOOPS: usize = 3;

pub(super) fn fails(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::KubeletStarted) {
        return None;
    }
    UNITS.iter().find_map(|(unit, file)| fails_as(facts, unit, file))
}

fn fails_as(facts: &Facts<'_>, unit: &str, file: &str) -> Option<Finding> {
    let of_unit = |line: &JournalLine| line.unit.as_deref() == Some(unit);
    let lines: Vec<(Millis, &JournalLine)> = facts.journal().filter(|(_, line)| of_unit(line)).collect();
    let is_start = |line: &JournalLine| line.by_systemd && line.message.starts_with("Started ");
    let is_end = |line: &JournalLine| line.by_systemd && line.message.contains("Failed with result");
    let since = lines
        .iter()
        .rposition(|(_, line)| is_start(line))
        .map_or(0, |at| at + 1);
    let ends: Vec<usize> = (since..lines.len()).filter(|at| is_end(lines[*at].1)).collect();
    // A script that goes on waits for it, or starts it again.
    if ends.len() < LOOPS && (facts.user_data_done.is_none() || ends.is_empty()) {
        return None;
    }
    let first = *ends.first()?;
    let is_by_program =
        |line: &JournalLine| !line.by_systemd && !line.message.trim().is_empty() && !is_by_modprobe(line);
    let said = lines[since..first]
        .iter()
        .rev()
        .find(|(_, line)| is_by_program(line));
    let (at, line) = said.unwrap_or(&lines[first]);
    let reason = said.map(|(_, line)| format!(": {}", shortened(line.message.trim())));
    let because = format!(
        "{unit} does not start, and the kubelet needs it{}",
        reason.unwrap_or_default()
    );
    let hold = facts.plan.hold_command();
    let remedy = format!(
        "correct what the user data changes of {file}, of the unit or of its arguments; `{hold}` holds the \
         node, and `journalctl -u {unit}` in it has all that the program wrote"
    );
    facts.final_(
        Cause::ContainerRuntimeFails,
        because,
        &Evidence::journal(*at, line),
        remedy,
    )
}

/// The unit of Debian loads a module first, which a container cannot and need not.
fn is_by_modprobe(line: &JournalLine) -> bool {
    line.command.as_deref() == Some("modprobe")
}
