//! Nodes that were ready and are not any more.

use super::api_server::changed_authority;
use super::cluster::{deletion, last_change, ready_message};
use super::facts::{Evidence, Facts, seconds, sentence};
use super::kubelet::{last_error, remedy_of, times};
use super::types::Finding;
use crate::observation::phases::is_start_of_kubelet;
use crate::observation::{JournalLine, Millis};
use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;

/// Exits in a row after which systemd's restarts of the kubelet do not help.
const LOOPS: usize = 3;

/// The kubelet of a ready node started again with the CA of another cluster.
pub(super) fn authority_changed(facts: &Facts<'_>) -> Option<Finding> {
    let changed = changed_authority(facts)?;
    let because = format!("{}, and {}", was_ready(facts)?, changed.because);
    facts.final_(Cause::NodeLost, because, &changed.evidence, changed.remedy)
}

/// The Node of a ready node was deleted, and a kubelet registers only when it starts.
pub(super) fn node_deleted(facts: &Facts<'_>) -> Option<Finding> {
    let (evidence, by) = deletion(facts)?;
    let because = format!("{}, and its Node was deleted{by}", was_ready(facts)?);
    let remedy = "remove the command that deletes the Node, or restart the kubelet after it: a kubelet registers only when it \
                  starts";
    facts.final_(Cause::NodeLost, because, &evidence, remedy.to_owned())
}

/// The kubelet of a ready node exited or was stopped, and does not run again.
pub(super) fn kubelet_ended(facts: &Facts<'_>) -> Option<Finding> {
    let ready = facts.since(Phase::Ready)?;
    let lines = || facts.systemd_of_kubelet().filter(|(at, _)| *at >= ready);
    let is_exit = |line: &JournalLine| line.message.contains("Main process exited");
    let is_end = |line: &JournalLine| is_exit(line) || line.message.starts_with("Stopped ");
    let exits = lines().filter(|(_, line)| is_exit(line)).count();
    let (at, end) = lines().filter(|(_, line)| is_end(line)).last()?;
    let started_again = lines().any(|(start, line)| start >= at && is_start_of_kubelet(line));
    if started_again && exits < 2 {
        return None;
    }
    if exits == 0 {
        let because = format!("{}, and systemd stopped its kubelet", was_ready(facts)?);
        let remedy =
            "remove the command that stops the kubelet, or start it again: `systemctl start kubelet`";
        let evidence = Evidence::journal(at, end);
        return facts.found(Cause::NodeLost, because, &evidence, remedy.to_owned());
    }
    let first = lines()
        .find(|(_, line)| is_exit(line))
        .map_or(at, |(first, _)| first);
    kubelet_exited(
        facts,
        ready,
        Exits {
            first,
            count: exits,
            end,
        },
    )
}

/// Exits of the kubelet since the node was ready.
struct Exits<'a> {
    first: Millis,
    count: usize,
    end: &'a JournalLine,
}

fn kubelet_exited(facts: &Facts<'_>, ready: Millis, exits: Exits<'_>) -> Option<Finding> {
    let last = last_error(facts, ready..=Millis::MAX);
    let (evidence, error) = match last {
        Some((at, line)) => (
            Evidence::journal(at, line),
            format!(": {}", sentence(&line.message)),
        ),
        None => (Evidence::journal(exits.first, exits.end), String::new()),
    };
    let because = format!(
        "{}, and its kubelet exited {} after it{error}",
        was_ready(facts)?,
        times(exits.count)
    );
    let message = last.map(|(_, line)| line.message.as_str()).unwrap_or_default();
    let remedy = format!(
        "find the command that changed the kubelet's files or arguments after the join; {}",
        remedy_of(facts, message)
    );
    let finding = facts.found(Cause::NodeLost, because, &evidence, remedy)?;
    Some(Finding {
        at: exits.first,
        is_final: exits.count >= LOOPS,
        ..finding
    })
}

/// The Ready condition was true and is not any more.
pub(super) fn not_ready(facts: &Facts<'_>) -> Option<Finding> {
    let (at, _) = last_change(facts).filter(|(_, change)| change.exists && !change.ready)?;
    let message = facts.observation.node.as_ref().and_then(ready_message);
    let message = message.unwrap_or("the condition has no message");
    let because = format!("{}, and is not ready any more: {message}", was_ready(facts)?);
    let remedy = if message.contains("cni") || message.contains("network") {
        "keep the files in /etc/cni/net.d and /opt/cni/bin: the container runtime reads them again when they change"
    } else {
        "find the command that runs after the join and changes the kubelet or the container runtime"
    };
    let evidence = Evidence::new("Node", at, format!("Ready is not True: {message}"));
    facts.found(Cause::NodeLost, because, &evidence, remedy.to_owned())
}

/// When the node was ready; `None` if the scenario wants to lose it.
fn was_ready(facts: &Facts<'_>) -> Option<String> {
    let expect = &facts.plan.expect;
    let wants_loss = expect.node.as_ref().is_some_and(|node| node.ready == Some(false));
    if wants_loss && expect.diagnosis.is_none() {
        return None;
    }
    Some(format!(
        "the node was ready after {} s",
        seconds(facts.since(Phase::Ready)?)
    ))
}
