//! What the harness does not have: AWS services, names outside, commands of an AMI, a kernel of its own.

use std::collections::BTreeSet;

use super::facts::{Evidence, Facts, between};
use super::other_cluster;
use super::outside;
use super::paths::is_misspelt;
use super::script_output::{is_failure, lines_before_the_end};
use super::types::Finding;
use crate::observation::{AwsCall, CalledService, JournalLine, Millis, ObservedEvent};
use crate::plan::Network;
use crate::vocabulary::cause::Cause;
use crate::vocabulary::not_emulated;
use crate::vocabulary::outside_name::{is_of_aws, is_private};
use crate::vocabulary::phase::Phase;
use crate::vocabulary::region::Region;
use crate::vocabulary::service::Service;

/// Requests for the same name, or calls of the same operation, that count as waiting for it.
pub(super) const WAITING: usize = 5;

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
const OF_A_MACHINE: [(&str, &str); 9] = [
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

/// The script needs a name that no resolver of the node knows.
pub(super) fn unresolved_name(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let end = lines_before_the_end(facts);
    let all: Vec<(Millis, &str)> = misses(facts).collect();
    // The resolver library tries a name with the search domain, too.
    let is_searched = |name: &str| {
        all.iter()
            .any(|(_, other)| name.starts_with(&format!("{other}.")))
    };
    let misses: Vec<(Millis, &str)> = all
        .iter()
        .copied()
        .filter(|(_, name)| !is_searched(name))
        .collect();
    let is_named = |name: &str| end.iter().any(|(_, line)| is_about(&line.message, name));
    let counted = |name: &str| misses.iter().filter(|(_, missed)| *missed == name).count();
    let is_waited_for = |name: &str| facts.user_data_done.is_none() && counted(name) >= WAITING;
    let (at, name) = misses
        .iter()
        .rev()
        .copied()
        .find(|(_, name)| is_named(name) || is_waited_for(name))?;
    // The failure lasts since the first of these queries, not only since the last.
    let first = misses
        .iter()
        .find(|(_, missed)| *missed == name)
        .map_or(at, |(first, _)| *first);
    let requests = match counted(name) {
        1 => "1 query".to_owned(),
        count => format!("{count} queries"),
    };
    let evidence = Evidence::new("resolver", at, format!("no address for {name} ({requests})"));
    if is_private(name) {
        let because = format!("the name {name} does not resolve, and the script needs it");
        if let Some(evidence) = other_cluster::endpoint(facts, name, at) {
            let because = format!("{because}: it is the endpoint of another cluster");
            let remedy = other_cluster::remedy_for_endpoint(name);
            let finding = facts.final_(Cause::NameNotResolved, because, &evidence, remedy)?;
            return Some(Finding { at: first, ..finding });
        }
        let remedy = match name.ends_with(".eks.amazonaws.com") {
            true => format!(
                "pass the endpoint of this cluster: https://{} (`{{{{ cluster.endpoint }}}}` in a scenario)",
                facts.plan.cluster.endpoint_host(&facts.plan.region)
            ),
            false => "correct the name, or let the script continue without it".to_owned(),
        };
        let finding = facts.final_(Cause::NameNotResolved, because, &evidence, remedy)?;
        return Some(Finding { at: first, ..finding });
    }
    if let Some((zone, region)) = zone_in(name).filter(|_| is_of_aws(name)) {
        let because = format!(
            "the name {name} does not resolve, and the script needs it: `{zone}` is not a region but begins with one, \
             `{region}`, as the names of zones do"
        );
        let remedy = "take the region from `placement/region` of the metadata service: the name of a zone is not always the \
                      region and one letter"
            .to_owned();
        let finding = facts.final_(Cause::NameNotResolved, because, &evidence, remedy)?;
        return Some(Finding { at: first, ..finding });
    }
    let what = match is_of_aws(name) {
        true => "which is the host name of no AWS service in a region that nodejoin knows",
        false => "a name outside",
    };
    let open = match facts.plan.network {
        Network::Isolated => facts.plan.key_hint("network: open"),
        Network::Open => "let the resolver of the container engine know the name".to_owned(),
    };
    let answer = facts
        .plan
        .key_hint(&format!("aws: {{ answers: [{{ host: {name}, file: FILE }}] }}"));
    let remedy =
        format!("{open}; or put the file into the node with an overlay; or, to answer the request, {answer}");
    let because = format!("a limit of nodejoin, not an error of the script: it needs {name}, {what}");
    let finding = facts.final_(Cause::HarnessLimit, because, &evidence, remedy)?;
    Some(Finding { at: first, ..finding })
}

/// The script ended with the error of a call that the fake AWS does not emulate.
pub(super) fn reported_call(facts: &Facts<'_>) -> Option<Finding> {
    let lines = lines_before_the_end(facts);
    let is_reported = lines.iter().any(|(_, line)| is_unanswered_code(&line.message));
    let (at, call) = last_unanswered(facts).filter(|_| is_reported)?;
    unanswered_call(facts, at, call)
}

fn is_unanswered_code(message: &str) -> bool {
    [not_emulated::CODE, not_emulated::UPSTREAM_CODE]
        .iter()
        .any(|code| message.contains(code))
}

/// The script ended after such a call, and its output has no cause.
pub(super) fn unreported_call(facts: &Facts<'_>) -> Option<Finding> {
    let (at, call) = last_unanswered(facts)?;
    let last = facts
        .calls()
        .filter(|(_, call)| call.service != Service::Imds)
        .last();
    let has_ended = facts.user_data_lines().any(|(_, line)| is_failure(line));
    let is_last = last.is_some_and(|(_, other)| std::ptr::eq(other, call));
    let count = facts.calls().filter(|(_, other)| is_like(other, call)).count();
    let is_polled = facts.user_data_done.is_none() && count >= WAITING;
    match (has_ended && is_last) || is_polled {
        true => unanswered_call(facts, at, call),
        false => None,
    }
}

/// The last call without an answer that the scenario does not allow.
fn last_unanswered<'a>(facts: &Facts<'a>) -> Option<(Millis, &'a AwsCall)> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let is_unanswered = |call: &AwsCall| {
        !call.known
            && call.service != Service::Imds
            && call.service != CalledService::Outside
            && !facts.plan.aws.allows(call.service.word(), &call.operation)
    };
    facts.calls().filter(|(_, call)| is_unanswered(call)).last()
}

fn is_like(one: &AwsCall, other: &AwsCall) -> bool {
    one.service == other.service && one.operation == other.operation
}

fn unanswered_call(facts: &Facts<'_>, at: Millis, call: &AwsCall) -> Option<Finding> {
    let (service, operation) = (call.service.word(), &call.operation);
    if call.error.as_deref() == Some(not_emulated::UPSTREAM_CODE) {
        return silent_upstream(facts, at, call);
    }
    let message = call.message.as_deref().unwrap_or_default();
    let is_of_resource = not_emulated::is_of_resource(message);
    let what = match not_emulated::parameter(message) {
        None if is_of_resource => format!("calls {operation} of {}, which", call.host),
        Some(parameter) => format!("calls {operation} of {service} with {parameter}, a parameter that"),
        None => format!("calls {operation} of {service}, which"),
    };
    let because =
        format!("a limit of nodejoin, not an error of the script: it {what} nodejoin does not emulate");
    let request = match is_of_resource {
        true => format!("host: {}, path: {}", call.host, call.path),
        false => format!("service: {service}, operation: {operation}"),
    };
    let answer = format!("aws: {{ answers: [{{ {request}, json: {{}} }}] }}");
    let remedy = format!("to add the answer, {}", facts.plan.key_hint(&answer));
    // The same error since the first of these calls: a script that polls does not start anew.
    let first = facts.calls().find(|(_, other)| is_like(other, call));
    let finding = facts.final_(Cause::HarnessLimit, because, &Evidence::call(at, call), remedy)?;
    Some(Finding {
        at: first.map_or(at, |(first, _)| first),
        ..finding
    })
}

/// The emulator in `aws.upstream` does not respond.
fn silent_upstream(facts: &Facts<'_>, at: Millis, call: &AwsCall) -> Option<Finding> {
    let service = call.service.word();
    let url = facts.plan.aws.upstream_of(service)?;
    let because = format!(
        "not an error of the script: it calls {} of {service}, and {url}, the upstream of {service}, does not respond",
        call.operation
    );
    let remedy =
        format!("start the emulator on the machine that runs nodejoin, or correct `aws.upstream.{service}`");
    let first = facts.calls().find(|(_, other)| is_like(other, call));
    let finding = facts.final_(Cause::HarnessLimit, because, &Evidence::call(at, call), remedy)?;
    Some(Finding {
        at: first.map_or(at, |(first, _)| first),
        ..finding
    })
}

/// Queries without an address, except reverse look-ups and names whose requests are known.
fn misses<'a>(facts: &Facts<'a>) -> impl Iterator<Item = (Millis, &'a str)> + use<'a> {
    let requested: BTreeSet<&str> = outside::refused(facts)
        .map(|(_, call)| call.host.as_str())
        .collect();
    let timeline = facts.observation.timeline.iter();
    timeline.filter_map(move |seen| match &seen.what {
        ObservedEvent::Dns(query)
            if !query.answered
                && query.fault.is_none()
                && !query.name.ends_with(".arpa")
                && !requested.contains(query.name.as_str()) =>
        {
            Some((seen.at, query.name.as_str()))
        }
        _ => None,
    })
}

/// Whether a message names a host, as a whole word. Queries have names in lower case, and endpoints of EKS have
/// capitals.
pub(super) fn is_about(message: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    message
        .split(|c: char| !is_part(c) && c != '.')
        .any(|word| word.trim_matches('.').eq_ignore_ascii_case(name))
}

/// The part of a host name that begins with the name of a region and is longer, and that region.
fn zone_in(name: &str) -> Option<(&str, &'static str)> {
    name.split('.').find_map(|part| {
        let region = Region::all().find(|region| part.starts_with(region.as_str()))?;
        (part != region.as_str()).then_some((part, region.as_str()))
    })
}

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

/// The path in a message about a file that does not exist.
pub(super) fn missing_path(message: &str) -> Option<&str> {
    let before = message.split_once(": No such file or directory")?.0;
    let path = before
        .rsplit([' ', '\'', '"', '‘', '’'])
        .find(|word| !word.is_empty())?;
    (path.starts_with('/') && path.len() > 1).then_some(path)
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
fn unit_not_found(message: &str) -> Option<&str> {
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
    Some(command.rsplit('/').next().unwrap_or(command))
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
