//! The input of the rules.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::types::{Diagnosis, Finding};
use crate::observation::phases::{is_by_kubelet, is_of_kubelet, phases, reached, user_data_done};
use crate::observation::{AwsCall, CalledService, JournalLine, Millis, Observation, ObservedEvent};
use crate::plan::Plan;
use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;

/// A join with the values that several rules need.
pub(super) struct Facts<'a> {
    pub(super) plan: &'a Plan,
    pub(super) observation: &'a Observation,
    pub(super) reached: Option<Phase>,
    pub(super) user_data_done: Option<Millis>,
    phases: BTreeMap<Phase, Millis>,
}

/// A line of evidence.
pub(super) struct Evidence {
    pub(super) source: String,
    pub(super) at: Millis,
    pub(super) line: String,
}

impl Evidence {
    pub(super) fn new(source: impl Into<String>, at: Millis, line: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            at,
            line: line.into(),
        }
    }

    /// A line of the journal; the source is the program that wrote it.
    pub(super) fn journal(at: Millis, line: &JournalLine) -> Self {
        let source = if line.by_systemd {
            "systemd"
        } else {
            line.command.as_deref().unwrap_or("journal")
        };
        Self::new(source, at, line.message.trim())
    }

    /// A request to AWS and its response.
    pub(super) fn call(at: Millis, call: &AwsCall) -> Self {
        let response = match (call.status, &call.error) {
            (0, _) => "closed without a response".to_owned(),
            (status, Some(error)) if *error != status.to_string() => format!("{status} {error}"),
            (status, _) => status.to_string(),
        };
        let message = call
            .message
            .as_deref()
            .filter(|message| !message.is_empty())
            .map(|message| format!(": {message}"))
            .unwrap_or_default();
        let line = if call.service == CalledService::Outside {
            format!("{}: {response}", call.operation)
        } else if call.path.is_empty() {
            format!("{} {}: {response}{message}", call.method, call.operation)
        } else {
            format!("{} {}: {response}{message}", call.method, call.path)
        };
        Self::new(call.service.word(), at, line)
    }

    fn text(&self) -> String {
        let line = without_long_values(&self.line);
        format!("{}, {} s: {line}", self.source, seconds(self.at))
    }
}

/// A line with the beginnings of values such as certificates in base64, which would hide the rest.
fn without_long_values(line: &str) -> String {
    const LONGEST: usize = 200;
    const SHOWN: usize = 40;
    let is_of_value = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    let mut shown = String::new();
    for part in line.split_inclusive(|c| !is_of_value(c)) {
        let value = part.trim_end_matches(|c| !is_of_value(c));
        if value.len() > LONGEST {
            shown.push_str(&value[..SHOWN]);
            shown.push_str("...");
            shown.push_str(&part[value.len()..]);
        } else {
            shown.push_str(part);
        }
    }
    shown
}

/// Seconds with one decimal.
pub(super) fn seconds(at: Millis) -> String {
    format!("{}.{}", at / 1000, at % 1000 / 100)
}

impl<'a> Facts<'a> {
    pub(super) fn of(plan: &'a Plan, observation: &'a Observation) -> Self {
        let phases = phases(observation);
        let reached = reached(&phases, observation);
        Self {
            plan,
            observation,
            reached,
            user_data_done: user_data_done(observation),
            phases,
        }
    }

    /// Whether the join has not reached a phase.
    pub(super) fn is_before(&self, phase: Phase) -> bool {
        self.reached < Some(phase)
    }

    pub(super) fn has(&self, phase: Phase) -> bool {
        self.phases.contains_key(&phase)
    }

    /// When the join reached a phase.
    pub(super) fn since(&self, phase: Phase) -> Option<Millis> {
        self.phases.get(&phase).copied()
    }

    pub(super) fn journal(&self) -> impl Iterator<Item = (Millis, &'a JournalLine)> + use<'a> {
        self.observation
            .timeline
            .iter()
            .filter_map(|entry| match &entry.what {
                ObservedEvent::Journal(line) => Some((entry.at, line)),
                _ => None,
            })
    }

    /// Lines that the kubelet itself wrote.
    pub(super) fn kubelet(&self) -> impl Iterator<Item = (Millis, &'a JournalLine)> + use<'a> {
        self.journal().filter(|(_, line)| is_by_kubelet(line))
    }

    /// Lines that systemd wrote about the kubelet.
    pub(super) fn systemd_of_kubelet(&self) -> impl Iterator<Item = (Millis, &'a JournalLine)> + use<'a> {
        self.journal()
            .filter(|(_, line)| line.by_systemd && is_of_kubelet(line))
    }

    /// Lines of the units that run user data, with the output of the scripts.
    pub(super) fn user_data_lines(&self) -> impl Iterator<Item = (Millis, &'a JournalLine)> + use<'a> {
        self.journal().filter(|(_, line)| is_of_user_data(line))
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = (Millis, &'a AwsCall)> + use<'a> {
        self.observation
            .timeline
            .iter()
            .filter_map(|entry| match &entry.what {
                ObservedEvent::Aws(call) => Some((entry.at, call)),
                _ => None,
            })
    }

    /// Requests to hosts outside that nothing answered.
    pub(super) fn refused_outside(&self) -> impl Iterator<Item = (Millis, &'a AwsCall)> + use<'a> {
        self.calls().filter(|(_, call)| call.is_refused_outside())
    }

    /// The user data before its templates are filled in.
    pub(super) fn user_data(&self) -> Option<Vec<u8>> {
        STANDARD.decode(&self.plan.user_data.as_ref()?.base64).ok()
    }

    /// The user data, if it is text.
    pub(super) fn user_data_text(&self) -> Option<String> {
        String::from_utf8(self.user_data()?).ok()
    }

    /// A finding that the join can recover from.
    pub(super) fn found(
        &self,
        cause: Cause,
        because: String,
        evidence: &Evidence,
        remedy: String,
    ) -> Option<Finding> {
        let diagnosis = Diagnosis {
            phase: self.reached,
            cause,
            because,
            seen: evidence.text(),
            remedy,
            script: None,
        };
        Some(Finding {
            diagnosis,
            at: evidence.at,
            is_final: false,
        })
    }

    /// A finding that is final once the user data is done.
    pub(super) fn final_(
        &self,
        cause: Cause,
        because: String,
        evidence: &Evidence,
        remedy: String,
    ) -> Option<Finding> {
        self.found(cause, because, evidence, remedy)
            .map(|finding| Finding {
                is_final: true,
                ..finding
            })
    }

    /// Exit code and last line of the node's container.
    pub(super) fn exit(&self) -> Option<(i64, Evidence)> {
        let exit = self.observation.exit()?;
        let last = exit.lines.last().map_or("no output", String::as_str);
        Some((exit.code, Evidence::new("container", exit.at, last)))
    }
}

/// Whether a line reports a failure.
pub(super) fn reports_failure(line: &JournalLine) -> bool {
    const WORDS: [&str; 8] = [
        "error",
        "fail",
        "refused",
        "denied",
        "unable",
        "invalid",
        "not found",
        "doesn't",
    ];
    let message = line.message.to_lowercase();
    WORDS.iter().any(|word| message.contains(word))
}

/// The message in a line of klog, without severity, time, process and source location.
pub(super) fn sentence(message: &str) -> &str {
    let is_klog =
        message.starts_with(['I', 'W', 'E', 'F']) && message[1..].starts_with(|c: char| c.is_ascii_digit());
    let sentence = if is_klog {
        message.split_once("] ").map_or(message, |(_, sentence)| sentence)
    } else {
        message
    };
    sentence.lines().next().unwrap_or_default().trim()
}

/// Whether the line belongs to a unit that runs user data. The journal cannot name the unit of a process that ended
/// before its line was read, such as `logger -t user-data` at the end of a pipe.
pub(super) fn is_of_user_data(line: &JournalLine) -> bool {
    match line.unit.as_deref() {
        Some(unit) => unit.starts_with("cloud-") || unit.contains("user-data"),
        None => !line.by_systemd && line.command.as_deref() == Some("user-data"),
    }
}

/// Formats names for a sentence: `a`, `b` and `c`.
pub(super) fn names<T: AsRef<str>>(names: &[T]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{}`", name.as_ref())).collect();
    match quoted.split_last() {
        None => "none".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// The part of `text` after `start` up to one of `ends`.
pub(super) fn between<'t>(text: &'t str, start: &str, ends: &[char]) -> Option<&'t str> {
    let rest = text.split_once(start)?.1;
    Some(rest.split(ends).next().unwrap_or(rest)).filter(|found| !found.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_shows_the_beginning_of_long_values() {
        let line = format!("bootstrap.sh: --b64-cluster-ca '{}' is no flag", "A".repeat(1400));
        let text = Evidence::new("cloud-init", 4100, line).text();
        let expected = format!(
            "cloud-init, 4.1 s: bootstrap.sh: --b64-cluster-ca '{}...' is no flag",
            "A".repeat(40)
        );
        assert_eq!(text, expected);
        let path = format!("/etc/{}", "a/".repeat(60));
        assert!(Evidence::new("x", 0, &*path).text().ends_with(&path));
    }
}
