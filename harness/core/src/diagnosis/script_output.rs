//! The output of the scripts of the user data: the lines that say why a script ended.

use super::facts::{Facts, between, reports_failure};
use crate::observation::{JournalLine, Millis};

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
        .filter(|(at, line)| *at <= end && is_by_script(line));
    let lines: Vec<_> = lines.collect();
    let first = lines.len().saturating_sub(FEW);
    lines.into_iter().skip(first).collect()
}

/// Whether a script wrote the line, and not systemd, cloud-init or the trace of a shell.
fn is_by_script(line: &JournalLine) -> bool {
    const CLOUD_INIT: [&str; 5] = [
        ".py[",
        "Cloud-init v.",
        "ci-info: ",
        "Traceback (most recent",
        "  File \"/usr/lib/python3",
    ];
    let is_cloud_init = CLOUD_INIT.iter().any(|mark| line.message.contains(mark));
    let message = line.message.trim();
    let is_trace = message.starts_with('+') && message.trim_start_matches('+').starts_with(' ');
    !line.by_systemd && !is_cloud_init && !is_trace && !is_failure(line) && !message.is_empty()
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
        let number = between(message, "line ", &[' ', ':', '\n'])?;
        number.bytes().all(|byte| byte.is_ascii_digit()).then_some(number)
    }
}

/// `systemctl` names the unit whose job failed: the last error in the journal of that unit.
pub(super) fn line_of_failed_job<'a>(
    facts: &Facts<'a>,
    words: &LastOutput<'_>,
) -> Option<(Millis, &'a JournalLine)> {
    let unit = between(&words.line.message, "Job for ", &[' '])?;
    let lines = facts
        .journal()
        .filter(|(_, line)| line.unit.as_deref() == Some(unit) && reports_failure(line));
    let (own, by_systemd): (Vec<_>, Vec<_>) = lines.partition(|(_, line)| !line.by_systemd);
    own.last().or(by_systemd.last()).copied()
}

/// The last output before `at` that neither systemd nor cloud-init wrote.
pub(super) fn last_output<'a>(facts: &Facts<'a>, at: Millis) -> Option<LastOutput<'a>> {
    /// Number of lines before a trap that can have its reason.
    const BEFORE: usize = 4;
    let lines: Vec<(Millis, &JournalLine)> = facts
        .user_data_lines()
        .filter(|(time, line)| *time <= at && is_by_script(line))
        .collect();
    let (last, before) = lines.split_last()?;
    let before: Vec<_> = before
        .iter()
        .rev()
        .take(BEFORE)
        .filter(|(_, line)| !is_trap(line))
        .collect();
    let why = before
        .iter()
        .find(|(_, line)| reports_failure(line))
        .or(before.first())
        .filter(|_| is_trap(last.1));
    Some(match why {
        Some((at, line)) => LastOutput {
            at: *at,
            line,
            trap: Some(last.1),
        },
        None => LastOutput {
            at: last.0,
            line: last.1,
            trap: None,
        },
    })
}

/// Whether a trap printed the line: it has the line number, and the lines before it have the reason.
fn is_trap(line: &JournalLine) -> bool {
    ["Exited with error on line", " ended with status"]
        .iter()
        .any(|words| line.message.contains(words))
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
