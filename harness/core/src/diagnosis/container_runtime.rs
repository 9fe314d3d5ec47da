//! A container runtime that does not start, so that nothing starts the kubelet, or that starts without what the kubelet
//! calls.

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
/// From where scripts of the AMI copy the first of these files.
const COPIED: [(&str, &str); 1] = [(
    "/etc/containerd/config.toml",
    "/etc/eks/containerd/containerd-config.toml",
)];
/// Failures in a row after which a unit that systemd starts again does not recover.
const LOOPS: usize = 3;

pub(super) fn fails(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::KubeletStarted) {
        return None;
    }
    UNITS.iter().find_map(|(unit, file)| fails_as(facts, unit, file))
}

/// containerd continues without a plugin whose configuration is invalid. A kubelet then finds no service, and the image
/// of the pause container cannot be pulled.
pub(super) fn lacks_kubernetes(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Registered) {
        return None;
    }
    let is_refused = |line: &JournalLine| line.message.contains("unknown service runtime.v1");
    // Beside docker, a kubelet need not call containerd.
    let is_docker = |line: &JournalLine| {
        let is_of_unit = line.unit.as_deref() == Some("docker.service");
        is_of_unit && line.by_systemd && line.message.starts_with("Started ")
    };
    let has_ended = facts.user_data_done.is_some() && !facts.journal().any(|(_, line)| is_docker(line));
    if !has_ended && !facts.journal().any(|(_, line)| is_refused(line)) {
        return None;
    }
    let is_plugin = |line: &JournalLine| {
        let message = &line.message;
        message.contains("failed to load plugin")
            && ["io.containerd.grpc.v1.cri", "io.containerd.cri.v1"]
                .iter()
                .any(|plugin| message.contains(plugin))
    };
    // A later start can have another configuration.
    let is_start = |line: &JournalLine| {
        let is_of_unit = line.unit.as_deref() == Some("containerd.service");
        is_of_unit && line.by_systemd && line.message.starts_with("Starting ")
    };
    let last = |is: &dyn Fn(&JournalLine) -> bool| {
        let lines = facts.journal().enumerate();
        lines.filter(|(_, (_, line))| is(line)).last()
    };
    let (index, (at, line)) = last(&is_plugin)?;
    if last(&is_start).is_some_and(|(start, _)| start > index) {
        return None;
    }
    let error = line
        .message
        .split_once("error=")
        .map_or(line.message.as_str(), |(_, error)| error);
    let because = format!(
        "containerd runs without its plugin for Kubernetes, which the kubelet needs: {}",
        shortened(error.trim().trim_matches('"'))
    );
    let remedy = match error.contains("mirrors") {
        true => {
            "write a mirror to /etc/containerd/certs.d/HOST/hosts.toml, the folder that `config_path` names, and remove `registry.mirrors`"
        }
        false => &correct(facts, "/etc/containerd/config.toml"),
    };
    let finding = facts.found(
        Cause::ContainerRuntimeFails,
        because,
        &Evidence::journal(at, line),
        remedy.to_owned(),
    )?;
    // A script can correct the configuration and restart containerd.
    let exits = facts
        .systemd_of_kubelet()
        .filter(|(_, line)| line.message.contains("Main process exited"));
    Some(Finding {
        is_final: has_ended || exits.count() >= LOOPS,
        ..finding
    })
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
        "{}, of the unit or of its arguments; `{hold}` holds the node, and `journalctl -u {unit}` in it has all that the \
         program wrote",
        correct(facts, file)
    );
    facts.final_(
        Cause::ContainerRuntimeFails,
        because,
        &Evidence::journal(*at, line),
        remedy,
    )
}

/// What to correct of a file: that of an overlay, or what the user data writes.
fn correct(facts: &Facts<'_>, file: &str) -> String {
    let copied = COPIED.iter().filter(|(to, _)| *to == file).map(|(_, from)| *from);
    let paths: Vec<&str> = std::iter::once(file).chain(copied).collect();
    let mut laid = facts.plan.image.added().collect::<Vec<_>>().into_iter().rev();
    match laid.find(|one| paths.contains(&one.to.as_str())) {
        Some(one) => format!(
            "correct {}, which an overlay puts at {}, or what the user data changes of {file}",
            one.from, one.to
        ),
        None => format!("correct what the user data changes of {file}"),
    }
}

/// The unit of Debian loads a module first, which a container cannot and need not.
fn is_by_modprobe(line: &JournalLine) -> bool {
    line.command.as_deref() == Some("modprobe")
}
