//! A kubelet that systemd cannot start.

use super::facts::{Evidence, Facts};
use super::instance::requests_without_token;
use super::kubelet::times;
use super::types::Finding;
use crate::observation::JournalLine;
use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;

/// The steps of systemd before it runs a program, and what is to do where one fails.
const STEPS: [(&str, &str); 4] = [
    (
        "EXEC",
        "install the program, or correct `ExecStart` in kubelet.service and its drop-ins",
    ),
    (
        "CHDIR",
        "create the folder, or correct `WorkingDirectory` in kubelet.service and its drop-ins",
    ),
    (
        "USER",
        "create the user, or correct `User` in kubelet.service and its drop-ins",
    ),
    ("CGROUP", "correct `Slice` in kubelet.service and its drop-ins"),
];

/// systemd fails at a step before the kubelet runs.
pub(super) fn cannot_start(facts: &Facts<'_>) -> Option<Finding> {
    /// A later part of the user data can install it.
    const LOOPS: usize = 3;
    let failures = || {
        facts
            .journal()
            .filter_map(|(at, line)| Some((at, line, failed_step(line)?)))
    };
    let count = failures().count();
    let (at, line, (step, problem)) = failures().last()?;
    if facts.kubelet().any(|(ran, _)| ran > at) || !facts.is_before(Phase::Registered) {
        return None;
    }
    let (program, reason) = problem.split_once(": ").unwrap_or((problem, "an error"));
    // The log of the node does not show this other problem.
    let refused = requests_without_token(facts.plan, facts.observation);
    let refused = refused.map(|(count, path)| {
        format!(
            "; besides, the metadata service returned 401 to {} without a token, the first for {path}",
            if count == 1 {
                "a request".to_owned()
            } else {
                format!("{count} requests")
            }
        )
    });
    let because = format!(
        "systemd cannot start `{program}`, {} so far: {reason}{}",
        times(count),
        refused.unwrap_or_default()
    );
    let remedy = STEPS.iter().find(|(known, _)| *known == step);
    let remedy = remedy.map_or("correct kubelet.service and its drop-ins", |(_, remedy)| remedy);
    let evidence = Evidence::journal(at, line);
    let finding = facts.found(Cause::KubeletExits, because, &evidence, remedy.to_owned())?;
    Some(Finding {
        is_final: count >= LOOPS,
        ..finding
    })
}

/// The step, and the program with the reason, such as `EXEC` and `/usr/bin/kubelet: Permission denied`.
fn failed_step(line: &JournalLine) -> Option<(&str, &str)> {
    let (_, rest) = line.message.split_once("kubelet.service: Failed at step ")?;
    rest.split_once(" spawning ")
}
