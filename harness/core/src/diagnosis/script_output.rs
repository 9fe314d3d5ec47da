//! The output of the scripts of the user data: the lines that say why a script ended.

use super::facts::{Facts, between, is_of_user_data, reports_failure};
use crate::observation::{JournalLine, Millis, Observation, ObservedEvent};

/// Output that goes through other programs, such as `tee` and `logger`, arrives after cloud-init reported the end.
const LATE: Millis = 2000;

/// Whether a line belongs to the time before `end`. Lines of the user data that arrive late count.
pub(super) fn is_before_end(at: Millis, end: Millis) -> bool {
    at <= end.saturating_add(LATE)
}

/// The lines of scripts before the end of the user data, or the last ones so far. Only a failure, or user data that
/// still runs, has an end that says something.
pub(super) fn lines_before_the_end<'a>(facts: &Facts<'a>) -> Vec<(Millis, &'a JournalLine)> {
    const FEW: usize = 6;
    let failure = facts
        .user_data_lines()
        .find(|(_, line)| is_failure(line))
        .map(|(at, _)| at);
    let collected = facts.observation.collected.as_ref();
    let result = collected.and_then(|collected| collected.user_data.as_ref());
    let has_failed = result.is_some_and(|result| result.exit_codes.values().any(|code| *code != 0));
    let end = match (failure, facts.user_data_done) {
        (Some(at), _) => at,
        (None, Some(done)) if has_failed => done,
        (None, None) => Millis::MAX,
        (None, Some(_)) => return Vec::new(),
    };
    let lines = facts
        .user_data_lines()
        .filter(|(at, line)| is_before_end(*at, end) && is_by_script(line));
    let lines: Vec<_> = lines.collect();
    let first = lines.len().saturating_sub(FEW);
    lines.into_iter().skip(first).collect()
}

/// Whether a script wrote the line, and not systemd, cloud-init or the trace of a shell.
pub(super) fn is_by_script(line: &JournalLine) -> bool {
    !line.by_systemd
        && !is_by_cloud_init(&line.message)
        && !is_trace(&line.message)
        && !is_failure(line)
        && !is_reference(line.message.trim())
        && !is_session(&line.message)
        && !line.message.trim().is_empty()
}

/// Whether `systemctl` or `mount` only refers to other logs, after the line that says what failed.
fn is_reference(message: &str) -> bool {
    if message.starts_with("dmesg(1) may have more information") {
        return true;
    }
    let refers = message.starts_with("See \"systemctl status")
        || message.starts_with("See system logs and 'systemctl");
    refers && message.ends_with("for details.")
}

/// Whether `sudo` reports its session, or the command that it runs.
fn is_session(message: &str) -> bool {
    message.starts_with("pam_unix(") || (message.contains(" ; PWD=") && message.contains(" ; COMMAND="))
}

/// Whether the line is a trace of `set -x`: it repeats the command, and says nothing about its result.
pub(super) fn is_trace(message: &str) -> bool {
    message.trim_start().starts_with('+')
}

/// Whether cloud-init itself wrote the line.
pub(super) fn is_by_cloud_init(message: &str) -> bool {
    const MARKS: [&str; 12] = [
        " modules to run under section ",
        ".py[",
        "Cloud-init v.",
        "ci-info: ",
        " SSH HOST KEY ",
        "<14>",
        "Traceback (most recent",
        "  File \"/usr/lib/python3",
        "raise ProcessExecutionError(",
        "cloudinit.subp.ProcessExecutionError: ",
        "Failed to run module ",
        "Runparts: ",
    ];
    const FIELDS: [&str; 5] = [
        "Command: ['/var/lib/cloud/",
        "Exit code: ",
        "Reason: -",
        "Stdout: -",
        "Stderr: -",
    ];
    MARKS.iter().any(|mark| message.contains(mark)) || FIELDS.iter().any(|field| message.starts_with(field))
}

/// The last output of a script.
pub(super) struct LastOutput<'a> {
    pub(super) at: Millis,
    /// The line that says most about the error.
    pub(super) line: &'a JournalLine,
    /// The line of the script's trap, which has only the line number of the error.
    trap: Option<&'a JournalLine>,
}

impl LastOutput<'_> {
    pub(super) fn text(&self) -> String {
        let output = shortened(self.line.message.trim());
        match self.trap {
            Some(trap) => format!("{output} ({})", trap.message.trim()),
            None => output,
        }
    }

    pub(super) fn line_number(&self) -> Option<&str> {
        let message = &self.trap.unwrap_or(self.line).message;
        let after = |word: &str| {
            let number = between(message, word, &[' ', ':', '\n'])?;
            number.bytes().all(|byte| byte.is_ascii_digit()).then_some(number)
        };
        after("line ").or_else(|| self.trap.and_then(|_| after(" at ")))
    }
}

/// `systemctl` names the unit whose job failed: the last error in the journal of that unit, or of the unit that it
/// requires and that failed.
pub(super) fn line_of_failed_job<'a>(
    facts: &Facts<'a>,
    words: &LastOutput<'_>,
) -> Option<(Millis, &'a JournalLine)> {
    let message = &words.line.message;
    let unit = match between(message, "A dependency job for ", &[' ']) {
        Some(unit) => failed_unit_besides(facts, unit, words.at)?,
        None => between(message, "Job for ", &[' '])?,
    };
    let lines = facts
        .journal()
        .filter(|(_, line)| line.unit.as_deref() == Some(unit) && reports_failure(line));
    let (own, by_systemd): (Vec<_>, Vec<_>) = lines.partition(|(_, line)| !line.by_systemd);
    own.last().or(first_reason(&by_systemd)).copied()
}

/// Of the lines of systemd about a unit, the first says most: others repeat that it failed.
fn first_reason<'l, 'a>(lines: &'l [(Millis, &'a JournalLine)]) -> Option<&'l (Millis, &'a JournalLine)> {
    let repeats = |line: &JournalLine| line.message.contains("Failed with result");
    lines.iter().find(|(_, line)| !repeats(line)).or(lines.last())
}

/// The unit that failed before, besides the one that needs it.
fn failed_unit_besides<'a>(facts: &Facts<'a>, unit: &str, until: Millis) -> Option<&'a str> {
    let mut failed = facts.journal().filter(|(at, line)| {
        line.by_systemd && is_before_end(*at, until) && line.message.contains("Failed with result")
    });
    failed.find_map(|(_, line)| line.unit.as_deref().filter(|failed| *failed != unit))
}

/// Begins the line that kubeadm prints below each of its errors.
const OFFER_OF_KUBEADM: &str = "To see the stack trace of this error";
/// Begins the line that it prints between failed checks of the machine and that line.
const ADVICE_OF_KUBEADM: &str = "[preflight] If you know what you are doing";

/// The last output before `at` that neither systemd nor cloud-init wrote.
pub(super) fn last_output<'a>(facts: &Facts<'a>, at: Millis) -> Option<LastOutput<'a>> {
    /// Number of lines before a trap that can have its reason.
    const BEFORE: usize = 4;
    let lines: Vec<(Millis, &JournalLine)> = facts
        .user_data_lines()
        .filter(|(time, line)| is_before_end(*time, at) && is_by_script(line))
        .collect();
    let (last, before) = lines.split_last()?;
    let before: Vec<_> = before
        .iter()
        .rev()
        .take(BEFORE)
        .filter(|(_, line)| !is_trap(line))
        .collect();
    let complains = |(_, line): &&&(Millis, &JournalLine)| is_complaint(&line.message);
    let why = match last.1.message.as_str() {
        _ if is_trap(last.1) => before
            .iter()
            .find(complains)
            .or(before.iter().find(|(_, line)| reports_failure(line)))
            .or(before.first()),
        message if message.starts_with(OFFER_OF_KUBEADM) => before
            .iter()
            .find(|(_, line)| !line.message.starts_with(ADVICE_OF_KUBEADM)),
        message if is_summary(message) => before.iter().find(complains),
        _ => None,
    };
    Some(match why {
        Some((at, line)) => LastOutput {
            at: *at,
            line,
            trap: Some(last.1).filter(|line| !line.message.starts_with(OFFER_OF_KUBEADM)),
        },
        None => LastOutput {
            at: last.0,
            line: last.1,
            trap: None,
        },
    })
}

/// The last complaint in the output of user data that reports success.
pub(super) fn last_complaint<'a>(facts: &Facts<'a>) -> Option<(Millis, &'a JournalLine)> {
    let lines = facts.user_data_lines();
    lines
        .filter(|(_, line)| is_by_script(line) && is_complaint(&line.message))
        .last()
}

/// The last line that a failed part of the user data wrote, or a complaint shortly before it. Cloud-init runs parts one
/// by one, and reports the failure of each at its end. What the last one prints through other programs can come later.
pub(crate) fn last_words_of(observation: &Observation, part: &str, is_last: bool) -> Option<String> {
    let lines: Vec<&JournalLine> = user_data_lines(observation).collect();
    let is_end = |line: &&JournalLine| line.message.contains("Failed running /var/lib/cloud");
    let names_part = |line: &&JournalLine| line.message.contains(&format!("/{part} ["));
    let end = match is_last {
        true => lines.len(),
        false => lines.iter().position(|line| is_end(line) && names_part(line))?,
    };
    let other = lines[..end]
        .iter()
        .rposition(|line| is_end(line) && !names_part(line));
    words_at_end(&lines[other.map_or(0, |other| other + 1)..end])
}

fn user_data_lines(observation: &Observation) -> impl Iterator<Item = &JournalLine> {
    observation.timeline.iter().filter_map(|seen| match &seen.what {
        ObservedEvent::Journal(line) if is_of_user_data(line) => Some(line),
        _ => None,
    })
}

fn words_at_end(lines: &[&JournalLine]) -> Option<String> {
    const FEW: usize = 4;
    let lines: Vec<&&JournalLine> = lines.iter().filter(|line| is_by_script(line)).collect();
    let last = &lines[lines.len().saturating_sub(FEW)..];
    let complaint = last.iter().rev().find(|line| is_complaint(&line.message));
    let line = complaint.or(last.last())?;
    Some(shortened(line.message.trim()))
}

/// Whether a trap of a known bootstrap script printed the line: it has the line number, and the lines before it have
/// the reason.
fn is_trap(line: &JournalLine) -> bool {
    ["Exited with error on line", " ended with status"]
        .iter()
        .any(|words| line.message.contains(words))
}

/// Whether a line only sums up a failure, so that a complaint before it says more: the trap of a script, such as
/// `failed at 12`, or the last words of a package manager.
fn is_summary(message: &str) -> bool {
    const TRAP: [&str; 6] = ["fail", "error", "exit", "abort", "status", "line"];
    const PACKAGES: [&str; 2] = ["Error: Nothing to do", "Error: Unable to find a match"];
    const LONGEST: usize = 60;
    let lower = message.to_lowercase();
    let has_number = message
        .split(|c: char| !c.is_ascii_alphanumeric())
        .any(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()));
    let is_trap = has_number && message.len() <= LONGEST && TRAP.iter().any(|word| lower.contains(word));
    !is_complaint(message) && (is_trap || PACKAGES.iter().any(|words| message.starts_with(words)))
}

/// Whether a program or the shell names what is wrong, in words that nothing else uses.
pub(super) fn is_complaint(message: &str) -> bool {
    const WORDS: [&str; 11] = [
        ": invalid input",
        ": No such file or directory",
        "warning: here-document at line",
        ": command not found",
        ": not found",
        ": Permission denied",
        ": unbound variable",
        ": syntax error",
        ": cannot ",
        "No match for argument: ",
        "curl: (",
    ];
    let is_package = message.starts_with("No package ") && message.trim_end().ends_with("available.");
    is_package || WORDS.iter().any(|words| message.contains(words))
}

/// Scripts can print whole documents: a report shows only their beginning.
pub(super) fn shortened(text: &str) -> String {
    const LONGEST: usize = 200;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} ...", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

pub(super) fn is_failure(line: &JournalLine) -> bool {
    const WORDS: [&str; 3] = [
        "Failed to run module scripts",
        "Runparts: ",
        "Failed running /var/lib/cloud",
    ];
    if line.by_systemd {
        return line
            .unit
            .as_deref()
            .is_some_and(|unit| unit.contains("user-data"))
            && line.message.contains("Failed with result");
    }
    let is_failure = WORDS.iter().any(|word| line.message.contains(word));
    is_failure && (!line.message.contains("Runparts: ") || line.message.contains("failures"))
}

#[cfg(test)]
mod tests;
