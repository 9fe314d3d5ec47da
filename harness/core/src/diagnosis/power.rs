//! User data that reboots the instance or shuts it down.

use super::facts::{Evidence, Facts};
use super::types::{Finding, RuleEntry, rule};
use crate::observation::{JournalLine, Millis};
use crate::vocabulary::cause::Cause;

/// Rules with their order and the causes that they find.
pub(super) const RULES: &[RuleEntry] = &[
    rule(12, rebooted, &[Cause::InstanceRebooted]),
    rule(14, shut_down, &[Cause::InstanceShutDown]),
];

/// Exit codes of a container: the kernel ends it with SIGHUP when its system reboots.
const REBOOTED: i64 = 129;
/// The kernel ends a container with SIGINT when its system halts or powers off.
const HALTED: i64 = 130;

fn rebooted(facts: &Facts<'_>) -> Option<Finding> {
    let words = [
        "The system will reboot now",
        "System is rebooting",
        "System Reboot",
        "reboot.target",
    ];
    let evidence = ending(facts, REBOOTED, &words)?;
    let because = "the user data rebooted the instance before the node joined; the join ends here".to_owned();
    let remedy =
        "EC2 starts the instance again, without running scripts of the user data a second time: start the \
                  kubelet before the reboot, and reboot with `then: [{ do: reboot }]` in a scenario"
            .to_owned();
    facts.final_(Cause::InstanceRebooted, because, &evidence, remedy)
}

fn shut_down(facts: &Facts<'_>) -> Option<Finding> {
    let words = [
        "The system will power off now",
        "System is powering down",
        "Power-Off",
        "poweroff.target",
        "System Halt",
    ];
    let evidence = ending(facts, HALTED, &words)?;
    let because = "the user data shut the instance down before the node joined".to_owned();
    let remedy =
        "remove the command that shuts the instance down, or find out which check of the script called it"
            .to_owned();
    facts.final_(Cause::InstanceShutDown, because, &evidence, remedy)
}

/// The line of systemd about the end of the system, else the exit of the container.
fn ending(facts: &Facts<'_>, code: i64, words: &[&str]) -> Option<Evidence> {
    let (exit, evidence) = facts.exit()?;
    let is_about = |line: &JournalLine| words.iter().any(|word| line.message.contains(word));
    let line: Option<(Millis, &JournalLine)> = facts.journal().filter(|(_, line)| is_about(line)).last();
    match line {
        Some((at, line)) => Some(Evidence::journal(at, line)),
        None if exit == code => Some(evidence),
        None => None,
    }
}
