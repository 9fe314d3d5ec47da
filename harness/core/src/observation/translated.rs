//! What the harness changed of a kubelet's settings, as the node's journal names it.

use super::{Observation, ObservedEvent};
use crate::kubernetes::{DifferenceKind, difference, gate_since};

/// How lines of the program that starts the kubelet begin.
const PREFIX: &str = "nodejoin-settings ";

/// The kind of the line about the disk of the host.
const DISK: &str = "disk";

/// What the kubelet started without, a sentence for each setting.
#[must_use]
pub fn translated_settings(observation: &Observation) -> Vec<String> {
    let mut sentences = Vec::new();
    for (kind, name) in changes(observation).filter(|(kind, _)| *kind != DISK) {
        let sentence = sentence(&observation.kubelet, kind, name);
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    sentences
}

/// The percentage of free disk space of the host, when the kubelet started without thresholds for it.
#[must_use]
pub fn low_disk_percent(observation: &Observation) -> Option<&str> {
    changes(observation)
        .find(|(kind, _)| *kind == DISK)
        .map(|(_, percent)| percent)
}

/// Kind and name of each change.
fn changes(observation: &Observation) -> impl Iterator<Item = (&str, &str)> {
    observation.timeline.iter().filter_map(|entry| {
        let ObservedEvent::Journal(line) = &entry.what else {
            return None;
        };
        line.message.strip_prefix(PREFIX)?.split_once(' ')
    })
}

fn sentence(kubelet: &str, kind: &str, name: &str) -> String {
    let what = match kind {
        "flag" => DifferenceKind::KubeletFlag,
        "gate" => {
            let version = gate_since(name).map_or("VERSION".to_owned(), |since| since.to_string());
            return format!(
                "kubelet {kubelet} has no feature gate `{name}` and starts without it; `--kubernetes {version}` tests it"
            );
        }
        _ => DifferenceKind::KubeletField,
    };
    let effect = match kind {
        "taints" => "its taints are passed as `--register-with-taints`",
        "flag" => "it is removed",
        _ => "it has no effect",
    };
    let since = difference(what, name).and_then(|row| row.since);
    let version = since.map_or("VERSION".to_owned(), |since| since.to_string());
    format!("kubelet {kubelet} has no `{name}`: {effect}; `--kubernetes {version}` or newer tests it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{JournalLine, TimelineEntry};

    #[test]
    fn each_setting_is_named_once_with_the_version_that_has_it() {
        let lines = [
            "nodejoin-settings taints registerWithTaints",
            "nodejoin-settings field seccompDefault",
            "nodejoin-settings flag --seccomp-default",
            "nodejoin-settings gate ImageVolume",
            "nodejoin-settings disk 7",
            "nodejoin-settings taints registerWithTaints",
            "another line",
        ];
        let entry = |message: &str| TimelineEntry {
            at: 1,
            what: ObservedEvent::Journal(JournalLine {
                unit: None,
                command: None,
                by_systemd: false,
                message: message.to_owned(),
            }),
        };
        let observation = Observation {
            kubelet: "v1.20.2".to_owned(),
            timeline: lines.iter().map(|line| entry(line)).collect(),
            ..Observation::default()
        };
        assert_eq!(
            translated_settings(&observation),
            [
                "kubelet v1.20.2 has no `registerWithTaints`: its taints are passed as `--register-with-taints`; `--kubernetes 1.23` or newer tests it",
                "kubelet v1.20.2 has no `seccompDefault`: it has no effect; `--kubernetes 1.22` or newer tests it",
                "kubelet v1.20.2 has no `--seccomp-default`: it is removed; `--kubernetes 1.22` or newer tests it",
                "kubelet v1.20.2 has no feature gate `ImageVolume` and starts without it; `--kubernetes 1.31` tests it",
            ]
        );
        assert_eq!(low_disk_percent(&observation), Some("7"));
    }
}
