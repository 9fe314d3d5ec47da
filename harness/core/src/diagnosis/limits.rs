//! What the node does not have: commands, files and units of an AMI, a way outside, a kernel of its own.

use super::facts::{Evidence, Facts, between};
use super::paths::{is_misspelt, missing_path};
use super::script_output::lines_before_the_end;
use super::types::Finding;
use super::unanswered::is_about;
use crate::observation::JournalLine;
use crate::plan::Network;
use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;

/// Commands that AMIs have and the node image lacks.
const COMMANDS: [&str; 24] = [
    "amazon-linux-extras",
    "cfn-hup",
    "cfn-init",
    "cfn-signal",
    "chkconfig",
    "crictl",
    "ctr",
    "dnf",
    "docker",
    "dracut",
    "ec2-metadata",
    "ec2-net-utils",
    "efa_test.sh",
    "grubby",
    "hostnamectl",
    "nerdctl",
    "nvidia-smi",
    "rpm",
    "service",
    "setup-local-disks",
    "snap",
    "ssm-cli",
    "timedatectl",
    "yum",
];

/// Between the program and what it does not know.
const STAND_IN_REJECTS: &str = ": nodejoin's stand-in does not know this: ";

/// Folders of the AMI whose files the node image does not all have: a script that reads one of them is right there.
const FOLDERS: [&str; 8] = [
    "/etc/eks/",
    "/etc/amazon/",
    "/etc/yum",
    "/etc/dnf/",
    "/etc/docker/",
    "/etc/sysconfig/",
    "/opt/aws/",
    "/usr/lib/nodeadm/",
];

/// Services that AMIs have and the node image lacks: time, logs, agents, hardware.
const UNITS: [&str; 20] = [
    "amazon-cloudwatch-agent",
    "amazon-ssm-agent",
    "auditd",
    "chrony",
    "chronyd",
    "crond",
    "docker",
    "irqbalance",
    "iscsid",
    "nfs-client",
    "ntpd",
    "nvidia-fabricmanager",
    "nvidia-persistenced",
    "rpcbind",
    "rsyslog",
    "snap.amazon-ssm-agent.amazon-ssm-agent",
    "soci-snapshotter",
    "sshd",
    "systemd-resolved",
    "systemd-timesyncd",
];

/// Messages of programs that need a machine of their own.
const OF_A_MACHINE: [(&str, &str); 10] = [
    ("modprobe: FATAL: Module", "load a kernel module"),
    (
        "Could not set property: ",
        "set the host name by systemd-hostnamed",
    ),
    ("Could not set hostname", "set the host name"),
    ("Could not set static hostname", "set the host name"),
    ("Failed to set time", "set the clock"),
    ("Failed to set ntp", "start a time service"),
    ("Failed to connect to bus", "use the system bus"),
    ("swapon failed: Operation not permitted", "turn swap on"),
    (
        "fuse-overlayfs: not a block device",
        "tell the disk of its root file system by `df` or `findmnt`",
    ),
    (
        " overlay: not a block device",
        "tell the disk of its root file system by `df` or `findmnt`",
    ),
];

/// Messages about an address that no network of the node reaches.
const NO_ROUTE: [&str; 5] = [
    "Network is unreachable",
    // The same of curl 7.88 and later, which does not say why.
    "Couldn't connect to server",
    "Connection timed out",
    "Connection refused",
    "No route to host",
];

/// The script calls a command, or reads a file, that an AMI has and the node image lacks.
pub(super) fn missing_on_image(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let lines = lines_before_the_end(facts);
    let user_data = facts.user_data_text().unwrap_or_default();
    let is_lacking = |path: &&str| is_of_ami(path) && !is_misspelt(path) && !is_removed(&user_data, path);
    let (at, line, what, name) = lines.iter().rev().find_map(|(at, line)| {
        let command = missing_command(&line.message).filter(|command| COMMANDS.contains(command));
        let file = || missing_path(&line.message).filter(is_lacking);
        let found = command.map(|command| ("command", command));
        let (what, name) = found.or_else(|| Some(("file", file()?)))?;
        Some((*at, *line, what, name))
    })?;
    let because = format!(
        "a limit of nodejoin, not an error of the script: AMIs have the {what} `{name}`, and the node image does not"
    );
    let remedy = format!("add `{name}`, or a stub of it, to the node with an overlay (`--overlay MANIFEST`)");
    facts.final_(Cause::HarnessLimit, because, &Evidence::journal(at, line), remedy)
}

fn is_of_ami(path: &str) -> bool {
    FOLDERS.iter().any(|folder| path.starts_with(folder))
}

/// Whether the user data itself removes a file or one of its folders: an AMI would lack it as well then.
pub(super) fn is_removed(user_data: &str, path: &str) -> bool {
    // Not `mv`: the folder that it names may be the one that the node image lacks.
    const COMMANDS: [&str; 3] = ["rm", "rmdir", "unlink"];
    let is_above = |word: &str| {
        let folder = word.trim_matches(['\'', '"']).trim_end_matches(['/', '*', ';']);
        let below = path.strip_prefix(folder).filter(|_| folder.len() > 1);
        below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
    };
    user_data.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.any(|word| COMMANDS.contains(&word)) && words.any(is_above)
    })
}

/// The script enables or starts a service that an AMI has and the node image lacks.
pub(super) fn missing_unit(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let mut lines = lines_before_the_end(facts);
    // nodeadm restarts units itself.
    let of_nodeadm = |line: &JournalLine| {
        let by = [line.unit.as_deref(), line.command.as_deref()];
        let is_nodeadm = by.into_iter().flatten().any(|name| name.starts_with("nodeadm"));
        is_nodeadm && line.message.contains(" Command failed {")
    };
    lines.extend(facts.journal().filter(|(_, line)| of_nodeadm(line)));
    let (at, line, unit) = lines.iter().rev().find_map(|(at, line)| {
        let unit = unit_not_found(&line.message)?;
        let name = unit.strip_suffix(".service").unwrap_or(unit);
        UNITS.contains(&name).then_some((*at, *line, unit))
    })?;
    let because = format!(
        "a limit of nodejoin, not an error of the script: AMIs have the unit `{unit}`, and the node image does not"
    );
    let remedy =
        format!("add a stub of `{unit}` to the node with an overlay, or let the script continue without it");
    facts.final_(Cause::HarnessLimit, because, &Evidence::journal(at, line), remedy)
}

/// The unit that `systemctl` did not find.
pub(super) fn unit_not_found(message: &str) -> Option<&str> {
    // nodeadm logs the error as JSON.
    let message = message.trim().trim_end_matches(['"', '}']);
    let start = message
        .strip_suffix(" does not exist.")
        .and_then(|start| Some(start.rsplit_once("Unit file ")?.1))
        .or_else(|| {
            message
                .strip_suffix(" not found.")?
                .rsplit_once("Unit ")
                .map(|(_, unit)| unit)
        })
        .or_else(|| {
            message
                .strip_suffix(" not loaded.")?
                .rsplit_once("Unit ")
                .map(|(_, unit)| unit)
        })?;
    Some(start).filter(|unit| !unit.contains(char::is_whitespace))
}

/// The command that a shell did not find.
pub(super) fn missing_command(message: &str) -> Option<&str> {
    let before = message
        .strip_suffix(": command not found")
        .or_else(|| message.strip_suffix(": not found"))
        .or_else(|| Some(message.split_once(": No such file or directory")?.0))?;
    let command = before.rsplit(": ").next()?.trim();
    // A sentence of a program, such as `Could not open file x` of jq.
    let is_name = !command.contains(char::is_whitespace);
    is_name.then(|| command.rsplit('/').next().unwrap_or(command))
}

/// A stand-in of the harness rejects what it does not know.
pub(super) fn stand_in(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let lines = lines_before_the_end(facts);
    let (at, line, program, what) = lines.iter().rev().find_map(|(at, line)| {
        let (program, what) = line.message.split_once(STAND_IN_REJECTS)?;
        Some((*at, *line, program, what))
    })?;
    let because =
        format!("a limit of nodejoin, not an error of the script: its stand-in for {program} rejects {what}");
    let remedy = if what.starts_with("package ") {
        format!(
            "if Amazon Linux or a repository that the user data adds has it, test with an image of the AMI (`image:`), or add a \
             `{program}` that accepts it to the node with an overlay (`--overlay MANIFEST`); otherwise correct the name"
        )
    } else {
        format!("add the real `{program}` to the node with an overlay, or do without what is rejected")
    };
    facts.final_(Cause::HarnessLimit, because, &Evidence::journal(at, line), remedy)
}

/// The script needs a kernel or a machine of its own.
pub(super) fn container(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let lines = lines_before_the_end(facts);
    let (at, line, what) = lines.iter().rev().find_map(|(at, line)| {
        let found = OF_A_MACHINE
            .iter()
            .find(|(words, _)| line.message.contains(words));
        found.map(|(_, what)| (*at, *line, *what))
    })?;
    let because = format!(
        "a limit of nodejoin, not an error of the script: the node is a container, which cannot {what}"
    );
    let remedy =
        "let the script continue without it, or replace the command by a stub in an overlay".to_owned();
    facts.final_(Cause::HarnessLimit, because, &Evidence::journal(at, line), remedy)
}

/// The script connects to an address outside.
pub(super) fn no_route(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) || facts.plan.network == Network::Open {
        return None;
    }
    let lines = lines_before_the_end(facts);
    let host = facts.plan.cluster.endpoint_host(&facts.plan.region);
    let is_outside = |line: &JournalLine| is_no_route(line) && !is_about(&line.message, &host);
    let (at, line) = lines.iter().rev().copied().find(|(_, line)| is_outside(line))?;
    let to = between(&line.message, "connect to ", &['\n', ',']).unwrap_or("an address outside");
    let ends = [" after ", ": "];
    let end = ends.iter().filter_map(|end| to.find(end)).min();
    let to = &to[..end.unwrap_or(to.len())];
    let because = format!(
        "a limit of nodejoin, not an error of the script: the node reaches only the fake AWS and its cluster, and not {to}"
    );
    facts.final_(
        Cause::HarnessLimit,
        because,
        &Evidence::journal(at, line),
        overlay_or_open(facts),
    )
}

/// What to do about something outside of the run's network.
fn overlay_or_open(facts: &Facts<'_>) -> String {
    let open = match facts.plan.network {
        Network::Isolated => facts.plan.key_hint("network: open"),
        Network::Open => "let the network of the container engine reach it".to_owned(),
    };
    format!("put the file into the node with an overlay (`--overlay MANIFEST`), or {open}")
}

fn is_no_route(line: &JournalLine) -> bool {
    let is_own = ["169.254.", "fd00:ec2::", "127.0.0.1", "localhost", "[::1]"]
        .iter()
        .any(|own| line.message.contains(own));
    !is_own && NO_ROUTE.iter().any(|words| line.message.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_a_shell_does_not_find_is_told_from_a_sentence() {
        for (message, command) in [
            ("part-001: line 3: yq: command not found", Some("yq")),
            ("part-001: 3: yq: not found", Some("yq")),
            ("env: /opt/bin/agent: No such file or directory", Some("agent")),
            (
                "jq: error: Could not open file 4: No such file or directory",
                None,
            ),
            ("done", None),
        ] {
            assert_eq!(missing_command(message), command, "{message}");
        }
    }
}
