//! What the harness does not have: AWS services, names outside, commands of an AMI, a kernel of its own.

use super::facts::{Evidence, Facts, between};
use super::script_output::lines_before_the_end;
use super::types::{Finding, RuleEntry, rule};
use crate::observation::{JournalLine, Millis, ObservedEvent};
use crate::plan::Network;
use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;

/// Rules with their order and the causes that they find.
pub(super) const RULES: &[RuleEntry] = &[
    rule(
        324,
        unresolved_name,
        &[Cause::HarnessLimit, Cause::NameNotResolved],
    ),
    rule(321, missing_command, &[Cause::HarnessLimit]),
    rule(322, container, &[Cause::HarnessLimit]),
    rule(323, no_route, &[Cause::HarnessLimit]),
];

/// Requests for the same name that count as waiting for it.
const WAITING: usize = 5;

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

/// Messages of programs that need a machine of their own.
const OF_A_MACHINE: [(&str, &str); 6] = [
    ("modprobe: FATAL: Module", "load a kernel module"),
    (
        "Could not set property: ",
        "set the host name by systemd-hostnamed",
    ),
    ("Could not set hostname", "set the host name"),
    ("Failed to set time", "set the clock"),
    ("Failed to set ntp", "start a time service"),
    ("Failed to connect to bus", "use the system bus"),
];

/// Messages about an address that no network of the node reaches.
const NO_ROUTE: [&str; 4] = [
    "Network is unreachable",
    "Connection timed out",
    "Connection refused",
    "No route to host",
];

/// The script needs a name that no resolver of the node knows.
fn unresolved_name(facts: &Facts<'_>) -> Option<Finding> {
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
    let (what, remedy) = match is_of_aws(name) {
        true => (
            "an AWS service that the fake AWS does not have",
            "replace the command that calls it by a stub in an overlay, or pass its answer as data",
        ),
        false => (
            "a name outside",
            "set `network: open`, or put the file into the node with an overlay",
        ),
    };
    let because = format!("a limit of nodejoin, not an error of the script: it needs {name}, {what}");
    let finding = facts.final_(Cause::HarnessLimit, because, &evidence, remedy.to_owned())?;
    Some(Finding { at: first, ..finding })
}

/// Queries without an address, except reverse look-ups.
fn misses<'a>(facts: &Facts<'a>) -> impl Iterator<Item = (Millis, &'a str)> + use<'a> {
    let timeline = facts.observation.timeline.iter();
    timeline.filter_map(|seen| match &seen.what {
        ObservedEvent::Dns(query) if !query.answered && !query.name.ends_with(".arpa") => {
            Some((seen.at, query.name.as_str()))
        }
        _ => None,
    })
}

/// Whether a message names a host, as a whole word.
fn is_about(message: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    message
        .split(|c: char| !is_part(c) && c != '.')
        .any(|word| word.trim_matches('.') == name)
}

/// Whether a name would not resolve outside the harness either.
fn is_private(name: &str) -> bool {
    let suffixes = [
        ".internal",
        ".local",
        ".lan",
        ".corp",
        ".eks.amazonaws.com",
        ".invalid",
        ".example",
    ];
    !name.contains('.') || suffixes.iter().any(|suffix| name.ends_with(suffix))
}

fn is_of_aws(name: &str) -> bool {
    [".amazonaws.com", ".amazonaws.com.cn", ".api.aws", ".on.aws"]
        .iter()
        .any(|suffix| name.ends_with(suffix))
}

/// The script calls a command that an AMI has and the node image lacks.
fn missing_command(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let lines = lines_before_the_end(facts);
    let (at, line, command) = lines.iter().rev().find_map(|(at, line)| {
        let command = missing(&line.message)?;
        COMMANDS.contains(&command).then_some((*at, *line, command))
    })?;
    let because = format!(
        "a limit of nodejoin, not an error of the script: AMIs have the command `{command}`, and the node image does not"
    );
    let remedy = format!("add `{command}`, or a stub of it, to the node with an overlay");
    facts.final_(Cause::HarnessLimit, because, &Evidence::journal(at, line), remedy)
}

/// The command that a shell did not find.
fn missing(message: &str) -> Option<&str> {
    let before = message
        .strip_suffix(": command not found")
        .or_else(|| message.strip_suffix(": not found"))
        .or_else(|| Some(message.split_once(": No such file or directory")?.0))?;
    let command = before.rsplit(": ").next()?.trim();
    Some(command.rsplit('/').next().unwrap_or(command))
}

/// The script needs a kernel or a machine of its own.
fn container(facts: &Facts<'_>) -> Option<Finding> {
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
fn no_route(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) || facts.plan.network == Network::Open {
        return None;
    }
    let lines = lines_before_the_end(facts);
    let (at, line) = lines.iter().rev().copied().find(|(_, line)| is_no_route(line))?;
    let to = between(&line.message, "connect to ", &[':', '\n', ',']).unwrap_or("an address outside");
    let to = to.split(" after ").next().unwrap_or(to);
    let because = format!(
        "a limit of nodejoin, not an error of the script: the node reaches only the fake AWS and its cluster, and not {to}"
    );
    let remedy = "set `network: open`, or put the file into the node with an overlay".to_owned();
    facts.final_(Cause::HarnessLimit, because, &Evidence::journal(at, line), remedy)
}

fn is_no_route(line: &JournalLine) -> bool {
    let is_own = ["169.254.", "127.0.0.1", "localhost", "[::1]"]
        .iter()
        .any(|own| line.message.contains(own));
    !is_own && NO_ROUTE.iter().any(|words| line.message.contains(words))
}
