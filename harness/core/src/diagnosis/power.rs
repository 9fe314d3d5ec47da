//! User data that reboots the instance or shuts it down.

use super::facts::{Evidence, Facts, names, seconds};
use super::script_output::{is_failure, last_output};
use super::types::Finding;
use crate::observation::phases::is_start_of_kubelet;
use crate::observation::{MOST_REBOOTS, Millis, Observation, PowerAction};
use crate::user_data::parse;
use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;

/// What cloud-init runs at each boot.
const EACH_BOOT: &str = "call it from `#cloud-boothook` or /var/lib/cloud/scripts/per-boot";

/// The instance reboots without end.
pub(super) fn reboots(facts: &Facts<'_>) -> Option<Finding> {
    let evidence = ending(facts, PowerAction::Reboot)?;
    let boots = facts.observation.reboots().count();
    let because = match boots {
        MOST_REBOOTS => format!(
            "the instance reboots without end: it rebooted {} times, and nodejoin boots it again at most {MOST_REBOOTS} times",
            boots + 1
        ),
        _ => "the user data rebooted the instance, which did not boot again before the end of the join"
            .to_owned(),
    };
    let remedy =
        "reboot only once: test for a file before the reboot, and create it; cloud-init runs boothooks and \
                  per-boot scripts at each boot"
            .to_owned();
    facts.final_(Cause::InstanceRebooted, because, &evidence, remedy)
}

/// The user data rebooted the instance, and at the next boot nothing starts the kubelet.
pub(super) fn cut_off(facts: &Facts<'_>) -> Option<Finding> {
    let booted = facts.observation.reboots().last()?;
    facts
        .user_data_done
        .filter(|_| facts.is_before(Phase::Configured))?;
    // Other rules name what systemd reports about a kubelet that it cannot start.
    if facts.systemd_of_kubelet().any(|(at, _)| at >= booted) {
        return None;
    }
    let after = reboot_times(facts.observation);
    if let Some(finding) = failed_before(facts, booted) {
        return Some(finding);
    }
    let starts = |(_, line): (Millis, _)| is_start_of_kubelet(line);
    let (because, remedy) = if facts.systemd_of_kubelet().any(starts) {
        (
            format!(
                "the user data rebooted the instance {after}, and systemd does not start the kubelet at boot: its unit is not enabled"
            ),
            "run `systemctl enable kubelet` before the reboot, as /etc/eks/bootstrap.sh does".to_owned(),
        )
    } else {
        (
            format!(
                "the user data rebooted the instance {after}, before it started the kubelet, and cloud-init does not run {} a \
                 second time",
                scripts(facts)
            ),
            format!("call the bootstrap script before the reboot, or {EACH_BOOT}, which run at each boot"),
        )
    };
    facts.final_(
        Cause::InstanceRebooted,
        because,
        &reboot_line(facts, booted),
        remedy,
    )
}

/// A script that failed before the reboot, which `power_state` of cloud-init makes whatever its result.
fn failed_before(facts: &Facts<'_>, booted: Millis) -> Option<Finding> {
    let mut lines = facts.user_data_lines();
    let (at, _) = lines.find(|(at, line)| *at < booted && is_failure(line))?;
    let words = last_output(facts, at)?;
    let because = format!(
        "the user data ended with an error before it started the kubelet; its last output: {}",
        words.text()
    );
    let remedy =
        "correct the script: the reboot follows whatever its result, and cloud-init does not run it again";
    let evidence = Evidence::journal(words.at, words.line);
    facts.final_(Cause::ScriptFailed, because, &evidence, remedy.to_owned())
}

/// The names of the scripts that cloud-init runs once for each instance.
fn scripts(facts: &Facts<'_>) -> String {
    let parsed = facts.user_data().map(|bytes| parse(&bytes));
    let scripts = parsed.map_or(Vec::new(), |parsed| parsed.scripts());
    match scripts.as_slice() {
        [] => "its scripts".to_owned(),
        scripts => names(&scripts.iter().map(|script| &script.name).collect::<Vec<_>>()),
    }
}

/// The line of systemd about the reboot before this boot, else the boot.
fn reboot_line(facts: &Facts<'_>, booted: Millis) -> Evidence {
    let line = facts.observation.last_line_about(PowerAction::Reboot, ..booted);
    line.map_or_else(
        || Evidence::new("container", booted, "the system rebooted"),
        |(at, line)| Evidence::journal(at, line),
    )
}

/// When the user data rebooted the instance, in words.
pub(crate) fn reboot_times(observation: &Observation) -> String {
    let times: Vec<String> = observation
        .reboots()
        .map(|at| format!("{} s", seconds(at)))
        .collect();
    match times.as_slice() {
        [one] => format!("after {one}"),
        times => format!("{} times, after {}", times.len(), times.join(", ")),
    }
}

pub(super) fn shut_down(facts: &Facts<'_>) -> Option<Finding> {
    let evidence = ending(facts, PowerAction::ShutDown)?;
    let because = "the user data shut the instance down before the node joined".to_owned();
    let remedy =
        "remove the command that shuts the instance down, or find out which check of the script called it"
            .to_owned();
    facts.final_(Cause::InstanceShutDown, because, &evidence, remedy)
}

/// The line of systemd about the end of the system, else the exit of the container.
fn ending(facts: &Facts<'_>, action: PowerAction) -> Option<Evidence> {
    let seen = facts.observation;
    let exit = seen.exit().filter(|exit| seen.ended_by(action, *exit))?;
    let line = seen.last_line_about(action, seen.booted_at()..=exit.at);
    match line {
        Some((at, line)) => Some(Evidence::journal(at, line)),
        None => facts.exit().map(|(_, evidence)| evidence),
    }
}
