//! Lines of units and drop-ins that systemd ignored.

use crate::observation::{JournalLine, Observation, ObservedEvent};
use crate::vocabulary::cause::Cause;

/// What systemd ignored in one file: its first message about it, with the number of the others.
pub(crate) fn ignored_unit_lines(observation: &Observation) -> Vec<String> {
    let mut files: Vec<(&str, Vec<&str>)> = Vec::new();
    for message in journal(observation).filter_map(ignored) {
        let file = message.split(':').next().unwrap_or(message);
        match files.iter_mut().find(|(known, _)| *known == file) {
            Some((_, messages)) if messages.contains(&message) => {}
            Some((_, messages)) => messages.push(message),
            None => files.push((file, vec![message])),
        }
    }
    files.iter().map(|(_, messages)| summary(messages)).collect()
}

/// The sentence for a diagnosis that an ignored line can explain.
pub(super) fn explanation(cause: Cause, observation: &Observation) -> Option<String> {
    let is_possible = matches!(
        cause,
        Cause::ScriptFailed
            | Cause::KubeletNeverStarted
            | Cause::KubeletExits
            | Cause::EndpointUnreachable
            | Cause::Unknown
    );
    let ignored = is_possible.then(|| ignored_unit_lines(observation))?;
    (!ignored.is_empty()).then(|| format!("systemd ignored a line of a unit: {}", ignored.join("; ")))
}

/// The message about a file below /etc or /run. The files of packages are not the user's.
fn ignored(line: &JournalLine) -> Option<&str> {
    const WORDS: [&str; 3] = ["ignoring", "unknown key", "unknown lvalue"];
    let message = line.message.trim();
    // systemd 219 of Amazon Linux 2 writes the location in brackets.
    let path = message.trim_start_matches('[');
    let is_own = path.starts_with("/etc/") || path.starts_with("/run/");
    let lower = message.to_lowercase();
    (line.by_systemd && is_own && WORDS.iter().any(|word| lower.contains(word))).then_some(message)
}

fn summary(messages: &[&str]) -> String {
    let first = messages.first().copied().unwrap_or_default();
    match messages.len() {
        1 => first.to_owned(),
        2 => format!("{first} (and 1 more line of this file)"),
        all => format!("{first} (and {} more lines of this file)", all - 1),
    }
}

fn journal(observation: &Observation) -> impl Iterator<Item = &JournalLine> {
    observation.timeline.iter().filter_map(|seen| match &seen.what {
        ObservedEvent::Journal(line) => Some(line),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cloud, diagnosed, done, plan_with, systemd};
    use super::*;
    use crate::observation::phases::tests::{join, observed};

    const PAGE: [&str; 4] = [
        "/etc/systemd/system/kubelet.service.d/20-labels.conf:1: Assignment outside of section. Ignoring.",
        "/etc/systemd/system/kubelet.service.d/20-labels.conf:2: Missing '=', ignoring line.",
        "/etc/systemd/system/kubelet.service.d/20-labels.conf:3: Missing '=', ignoring line.",
        "/etc/systemd/system/kubelet.service.d/20-labels.conf:4: Missing '=', ignoring line.",
    ];

    #[test]
    fn the_lines_of_one_file_are_one_sentence() {
        let lines = || PAGE.iter().map(|line| systemd("init.scope", line));
        let other = systemd(
            "init.scope",
            "[/run/systemd/system/a.service:3] Unknown lvalue 'Foo' in section 'Service'",
        );
        let packaged = systemd(
            "init.scope",
            "/usr/lib/systemd/system/b.service:1: Unknown key name 'X', ignoring.",
        );
        let seen = observed(lines().chain(lines()).chain([other, packaged]));
        assert_eq!(
            ignored_unit_lines(&seen),
            [
                format!("{} (and 3 more lines of this file)", PAGE[0]),
                "[/run/systemd/system/a.service:3] Unknown lvalue 'Foo' in section 'Service'".to_owned(),
            ]
        );
    }

    #[test]
    fn a_line_that_systemd_ignored_explains_a_unit_that_does_not_start() {
        let line = "/etc/systemd/system/agent.service:3: Unknown key name 'ExecStrat' in section 'Service', ignoring.";
        let mut events: Vec<_> = join().into_iter().take(2).collect();
        events.extend([
            systemd("init.scope", line),
            cloud("Failed to start agent.service: Unit agent.service has a bad unit file setting."),
            cloud("Runparts: 1 failures (part-001) in 1 attempted commands"),
            done("DataSourceEc2"),
        ]);
        let found = diagnosed(&plan_with("#!/bin/bash\n"), events);
        assert!(
            found
                .because
                .ends_with(&format!("systemd ignored a line of a unit: {line}")),
            "{}",
            found.because
        );
    }
}
