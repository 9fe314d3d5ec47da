//! The end of user data: an error that a later command hides, a unit that systemd refuses, or a timeout.

use super::facts::{Evidence, Facts};
use super::script_location::running_command;
use super::script_output::{is_before_end, is_by_script, is_complaint, shortened};
use super::types::Finding;
use crate::observation::{AwsCall, JournalLine, Millis};
use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;

/// A script in the user data ended with an error, and a later command succeeded, so cloud-init reports success.
pub(super) fn error_is_hidden(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::KubeletStarted) {
        return None;
    }
    let done = facts.user_data_done?;
    let mut lines = facts.user_data_lines().filter(|(at, _)| is_before_end(*at, done));
    let (at, line) = lines.find(|(_, line)| is_end_of_script(line))?;
    let words = words_before(facts, line).map(|words| format!("{words}; "));
    let because = format!(
        "a script in the user data ended with an error ({}{})",
        words.unwrap_or_default(),
        line.message.trim()
    );
    let (because, remedy) = if facts.journal().any(|(_, line)| is_failed_unit(line)) {
        let remedy = "correct the script: the lines of its output before this one say what failed";
        (because, remedy)
    } else {
        let remedy = "correct the script, and begin the user data with `set -e`: without it only the exit code of the last \
                      command counts";
        let because = format!("{because}, and a later command succeeded, so cloud-init reports no failure");
        (because, remedy)
    };
    let evidence = Evidence::journal(at, line);
    facts.final_(Cause::ScriptFailed, because, &evidence, remedy.to_owned())
}

/// Whether systemd reports that the unit of user data failed: its script was the last command.
fn is_failed_unit(line: &JournalLine) -> bool {
    let unit = line.unit.as_deref().unwrap_or_default();
    line.by_systemd && unit.starts_with("cloud-final") && line.message.contains("Failed with result")
}

/// The last complaint before the line of a trap.
fn words_before(facts: &Facts<'_>, trap: &JournalLine) -> Option<String> {
    const BEFORE: usize = 4;
    let lines = facts.user_data_lines().map(|(_, line)| line);
    let before: Vec<&JournalLine> = lines.take_while(|line| !std::ptr::eq(*line, trap)).collect();
    let mut last = before.into_iter().rev().take(BEFORE);
    let complaint = last.find(|line| is_by_script(line) && is_complaint(&line.message))?;
    Some(shortened(complaint.message.trim()))
}

/// Whether bash, the trap of a bootstrap script or cfn-init reports the end of a script.
fn is_end_of_script(line: &JournalLine) -> bool {
    const WORDS: [&str; 5] = [
        "Exited with error on line",
        " ended with status",
        ": unbound variable",
        ": syntax error",
        "Error occurred during build: ",
    ];
    !line.by_systemd && WORDS.iter().any(|words| line.message.contains(words))
}

/// systemd refuses the kubelet's unit file, most often because of a drop-in.
pub(super) fn unit_is_refused(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::KubeletStarted) {
        return None;
    }
    let (at, line) = facts.systemd_of_kubelet().find(|(_, line)| {
        line.message.contains("Refusing.") || line.message.contains("bad unit file setting")
    })?;
    let message = line.message.trim();
    let because = format!("systemd refuses the kubelet's unit: {message}");
    let remedy = if message.contains("more than one ExecStart=") {
        "put an empty `ExecStart=` before the one of the drop-in: it resets the command of the unit"
    } else {
        "run `systemd-analyze verify kubelet.service` in the node"
    };
    facts.final_(
        Cause::KubeletNeverStarted,
        because,
        &Evidence::journal(at, line),
        remedy.to_owned(),
    )
}

/// The user data was still running at the timeout.
pub(super) fn is_not_done(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::KubeletStarted) || facts.user_data_done.is_some() || facts.exit().is_some() {
        return None;
    }
    let (at, evidence, doing) = last_activity(facts)?;
    let processes = facts
        .observation
        .collected
        .as_ref()
        .map(|collected| collected.user_data_processes.join(", "));
    let processes = processes.filter(|text| !text.is_empty());
    let location = running_command(facts).and_then(|found| Some((found.line?, found.script?)));
    let location = location.map(|(line, script)| format!(", line {line} of {script}"));
    let processes = processes
        .map(|text| format!("; it runs {text}{}", location.unwrap_or_default()))
        .unwrap_or_default();
    let most = facts.plan.limits.journal_lines;
    let is_full = facts.observation.has_journal_lines(most);
    let when = match is_full {
        true => format!("when the journal had {most} lines (`limits.journal_lines`)"),
        false => "at the timeout".to_owned(),
    };
    let because = format!("the user data was still running {when}{processes}; its last activity: {doing}");
    let text = facts.user_data_text().unwrap_or_default();
    let remedy = match (wait_for_kubelet(&text), closed_firewall(&text)) {
        _ if is_full => "correct the loop of the script that prints without end: the journal in the evidence folder shows what it \
                         repeats"
            .to_owned(),
        (_, Some(line)) => format!(
            "line {line} of the user data drops the answers to the node's own requests: before it, run `iptables -A INPUT -m conntrack \
             --ctstate RELATED,ESTABLISHED -j ACCEPT`"
        ),
        (Some(line), None) => format!(
            "line {line} of the user data waits for the kubelet, which AL2023 starts after all user data has ended: move what follows it \
             into a unit with `After=kubelet.service`, or let it run in the background"
        ),
        (None, None) => "find out in the evidence folder (journal, AWS calls) what the script waits for; if it only needs more time, \
                 increase `limits.join_seconds`"
            .to_owned(),
    };
    facts
        .found(Cause::UserDataNotDone, because, &evidence, remedy)
        .map(|finding| Finding { at, ..finding })
}

/// The line of user data with a NodeConfig that repeats a command until there is a kubelet.
fn wait_for_kubelet(user_data: &str) -> Option<usize> {
    const OF_KUBELET: [&str; 6] = [
        ":10248",
        ":10250",
        ":10255",
        "kubelet.service",
        "kubelet;",
        "kubectl get node",
    ];
    if !user_data.contains("node.eks.aws/") {
        return None;
    }
    let is_loop = |line: &str| {
        ["until ", "while "]
            .iter()
            .any(|word| line.trim_start().starts_with(word))
    };
    let mut lines = (1..).zip(user_data.lines());
    let found = lines.find(|(_, line)| is_loop(line) && OF_KUBELET.iter().any(|words| line.contains(words)));
    found.map(|(number, _)| number)
}

/// The line of user data from which on no answer reaches the node: a policy without a rule for connections that exist.
fn closed_firewall(user_data: &str) -> Option<usize> {
    let closes = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let policies = words
            .windows(3)
            .any(|words| matches!(words, ["-P" | "--policy", "INPUT", "DROP"]));
        policies && words[0].ends_with("iptables")
    };
    if user_data.contains("ESTABLISHED") {
        return None;
    }
    let mut lines = (1..).zip(user_data.lines());
    lines.find(|(_, line)| closes(line)).map(|(number, _)| number)
}

/// The last line of output or the last AWS call of the user data, the later of the two.
fn last_activity(facts: &Facts<'_>) -> Option<(Millis, Evidence, &'static str)> {
    let printed = facts
        .user_data_lines()
        .filter(|(_, line)| !line.by_systemd && !line.message.trim().is_empty())
        .last();
    let called: Option<(Millis, &AwsCall)> = facts.calls().last();
    match (printed, called) {
        (Some((at, line)), called) if called.is_none_or(|(call, _)| call <= at) => {
            Some((at, Evidence::journal(at, line), "a line of output"))
        }
        (_, Some((at, call))) => Some((at, Evidence::call(at, call), "a request to AWS")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_that_drops_answers_is_found() {
        let policy = "#!/bin/bash\niptables -P INPUT DROP\n";
        assert_eq!(closed_firewall(policy), Some(2));
        let established = "iptables -A INPUT -m state --state ESTABLISHED -j ACCEPT\n";
        for text in [
            format!("{policy}{established}"),
            "iptables -P FORWARD DROP\n".to_owned(),
            "# -P INPUT DROP\n".to_owned(),
        ] {
            assert_eq!(closed_firewall(&text), None, "{text}");
        }
    }

    #[test]
    fn a_wait_for_the_kubelet_is_found_where_it_never_ends() {
        let with = |line: &str| format!("apiVersion: node.eks.aws/v1alpha1\n#!/bin/bash\n{line}\n");
        for line in [
            "until curl -sf http://localhost:10248/healthz; do sleep 5; done",
            "  while ! systemctl is-active --quiet kubelet; do sleep 1; done",
            "until kubectl get node \"$HOSTNAME\"; do",
        ] {
            assert_eq!(wait_for_kubelet(&with(line)), Some(3), "{line}");
            assert_eq!(wait_for_kubelet(line), None, "not on AL2: {line}");
        }
        for line in [
            "curl http://localhost:10248/healthz",
            "until ping -c 1 example.com; do",
        ] {
            assert_eq!(wait_for_kubelet(&with(line)), None, "{line}");
        }
    }
}
