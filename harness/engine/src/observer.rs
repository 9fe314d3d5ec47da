//! Merges the events of all sources into one observation.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::SystemTime;

use nodejoin_core::observation::{Audit, Certificate, Millis, Observation, ObservedEvent, TimelineEntry};
use nodejoin_core::redact::KeyLines;

/// An event with the time of its source, before that time is counted from the start of the node.
#[derive(Debug, Clone)]
pub(crate) struct Incoming {
    /// Time at the source.
    pub(crate) at: SystemTime,
    pub(crate) what: ObservedEvent,
    /// The Node object; only for a change of it.
    pub(crate) node: Option<serde_json::Value>,
}

/// The observation as it grows.
#[derive(Debug)]
pub(crate) struct Observer {
    pub(crate) observation: Observation,
    started: SystemTime,
    /// Whether this observes a step: events before its start belong to the observation before it.
    is_step: bool,
    /// Receives each event as a line, so that a killed run leaves its timeline.
    transcript: Option<File>,
    /// Private keys in the journal: neither the observation nor the transcript contains them.
    keys: KeyLines,
}

impl Observer {
    /// Observes a node whose container started at `started`.
    pub(crate) fn new(
        kubernetes: &str,
        kubelet: &str,
        started: SystemTime,
        transcript: Option<&Path>,
    ) -> Self {
        let observation = Observation {
            kubernetes: kubernetes.to_owned(),
            kubelet: kubelet.to_owned(),
            ..Observation::default()
        };
        let transcript = transcript.and_then(|path| File::create(path).ok());
        Self {
            observation,
            started,
            is_step: false,
            transcript,
            keys: KeyLines::default(),
        }
    }

    /// Observes a step that started at `started`. Keeps the Node object from before for comparison.
    pub(crate) fn after(before: &Observation, started: SystemTime, transcript: Option<&Path>) -> Self {
        let mut observer = Self::new(&before.kubernetes, &before.kubelet, started, transcript);
        observer.is_step = true;
        observer.observation.deviations.clone_from(&before.deviations);
        observer.observation.node.clone_from(&before.node);
        let known = before.node.as_ref().or(before.node_before.as_ref());
        observer.observation.node_before = known.cloned();
        observer
    }

    /// Adds the event that only a boot produces, for a step without one.
    pub(crate) fn without_boot(mut self) -> Self {
        let what = ObservedEvent::Isolated;
        self.observation.timeline.push(TimelineEntry { at: 0, what });
        self
    }

    /// Milliseconds from the start of the node or step to `at`; 0 for an earlier time.
    pub(crate) fn now(&self, at: SystemTime) -> Millis {
        at.duration_since(self.started)
            .map_or(0, |passed| u64::try_from(passed.as_millis()).unwrap_or(u64::MAX))
    }

    /// Adds one event.
    pub(crate) fn absorb(&mut self, incoming: Incoming) {
        let at = self.now(incoming.at);
        if self.is_step && incoming.at < self.started {
            // The current Node object counts whenever it was reported. Other events belong to the time before.
            if matches!(incoming.what, ObservedEvent::Node(_)) {
                self.update_objects(&incoming);
            }
            return;
        }
        self.update_objects(&incoming);
        let what = self.without_keys(incoming.what);
        let seen = TimelineEntry { at, what };
        self.write(&seen);
        self.observation.timeline.push(seen);
    }

    /// Adds events that come late, each at its place in time.
    pub(crate) fn absorb_late(&mut self, events: Vec<Incoming>) {
        for event in events {
            self.absorb(event);
        }
        self.observation.timeline.sort_by_key(|seen| seen.at);
    }

    /// Adds a reboot by the user data. Keeps the Node object from before, which stays as it is until the new kubelet
    /// reports.
    pub(crate) fn rebooted(&mut self, at: SystemTime) {
        let node = self.observation.node.clone();
        self.observation.node_before = node.or(self.observation.node_before.take());
        let what = ObservedEvent::Rebooted;
        self.absorb(Incoming { at, what, node: None });
    }

    fn update_objects(&mut self, incoming: &Incoming) {
        match &incoming.what {
            ObservedEvent::Node(change) if change.exists => self.observation.node.clone_from(&incoming.node),
            ObservedEvent::Node(_) => self.observation.node = None,
            ObservedEvent::Certificate(certificate) => {
                upsert(&mut self.observation.certificates, certificate)
            }
            ObservedEvent::Audit(audit)
                if self.observation.node_at_creation.is_none() && is_node_creation(audit) =>
            {
                self.observation.node_at_creation.clone_from(&audit.object);
            }
            _ => {}
        }
    }

    fn without_keys(&mut self, what: ObservedEvent) -> ObservedEvent {
        match what {
            ObservedEvent::Journal(mut line) => {
                let source = line
                    .unit
                    .as_deref()
                    .or(line.command.as_deref())
                    .unwrap_or_default();
                line.message = self.keys.redact(source, &line.message);
                ObservedEvent::Journal(line)
            }
            other => other,
        }
    }

    fn write(&mut self, seen: &TimelineEntry) {
        let Some(file) = &mut self.transcript else { return };
        let Ok(line) = serde_json::to_string(seen) else {
            return;
        };
        // A full disk must not fail a join that is observed otherwise.
        if writeln!(file, "{}", nodejoin_core::redact::redact(&line)).is_err() {
            self.transcript = None;
        }
    }
}

fn is_node_creation(audit: &Audit) -> bool {
    audit.verb == "create" && audit.resource == "nodes" && audit.code == 201
}

/// Keeps the newest state of each request. `decided_by` comes from the audit log and may arrive before or after the
/// watch event.
fn upsert(certificates: &mut Vec<Certificate>, new: &Certificate) {
    let Some(old) = certificates.iter_mut().find(|old| old.name == new.name) else {
        certificates.push(new.clone());
        return;
    };
    let decided_by = new.decided_by.clone().or_else(|| old.decided_by.clone());
    *old = Certificate {
        decided_by,
        ..new.clone()
    };
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use nodejoin_core::observation::JournalLine;

    use super::*;

    fn certificate(approved: Option<bool>, decided_by: Option<&str>) -> Incoming {
        let certificate = Certificate {
            name: "csr-1".to_owned(),
            approved,
            decided_by: decided_by.map(str::to_owned),
            ..Certificate::default()
        };
        let at = UNIX_EPOCH + Duration::from_millis(1500);
        Incoming {
            at,
            what: ObservedEvent::Certificate(certificate),
            node: None,
        }
    }

    #[test]
    fn the_newest_state_of_a_request_keeps_its_decider() {
        let mut observer = Observer::new("v1.20.2", "v1.20.2", UNIX_EPOCH + Duration::from_secs(1), None);
        observer.absorb(certificate(None, None));
        observer.absorb(certificate(Some(true), Some("eks:certificate-controller")));
        observer.absorb(certificate(Some(true), None));
        let seen = &observer.observation.certificates;
        assert_eq!(seen.len(), 1);
        assert_eq!(seen[0].decided_by.as_deref(), Some("eks:certificate-controller"));
        assert_eq!(observer.observation.timeline[0].at, 500);
    }

    #[test]
    fn a_private_key_in_the_journal_is_in_no_file_and_each_line_is_json() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("timeline.ndjson");
        let mut observer = Observer::new("v1.20.2", "v1.20.2", UNIX_EPOCH, Some(&path));
        for message in [
            "-----BEGIN PRIVATE KEY-----",
            "MIIEabcd",
            "-----END PRIVATE KEY-----",
            "after",
        ] {
            let line = JournalLine {
                unit: Some("cloud-final.service".to_owned()),
                command: None,
                by_systemd: false,
                message: message.to_owned(),
            };
            let what = ObservedEvent::Journal(line);
            observer.absorb(Incoming {
                at: UNIX_EPOCH,
                what,
                node: None,
            });
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("MIIE") && text.contains("after"), "{text}");
        for line in text.lines() {
            serde_json::from_str::<TimelineEntry>(line).unwrap();
        }
    }

    #[test]
    fn a_step_ignores_earlier_events_and_keeps_the_node_from_before() {
        let node = |uid: &str| serde_json::json!({ "metadata": { "uid": uid } });
        let before = Observation {
            node: Some(node("1")),
            ..Observation::default()
        };
        let mut observer = Observer::after(&before, UNIX_EPOCH + Duration::from_secs(9), None);
        observer.absorb(certificate(None, None));
        assert!(observer.observation.timeline.is_empty() && observer.observation.certificates.is_empty());
        assert_eq!(observer.observation.node_before, Some(node("1")));
        assert_eq!(observer.without_boot().observation.timeline.len(), 1);
    }

    #[test]
    fn late_events_stand_at_their_place_in_time() {
        let journal = |millis: u64, message: &str| Incoming {
            at: UNIX_EPOCH + Duration::from_millis(millis),
            what: crate::testing::line(message),
            node: None,
        };
        let mut observer = Observer::new("v1.20.2", "v1.20.2", UNIX_EPOCH, None);
        observer.absorb(journal(10, "first"));
        observer.absorb(journal(30, "third"));
        observer.absorb_late(vec![journal(20, "second"), journal(30, "fourth")]);
        let messages = observer.observation.timeline.iter().map(|seen| match &seen.what {
            ObservedEvent::Journal(line) => line.message.as_str(),
            other => panic!("{other:?}"),
        });
        assert_eq!(
            messages.collect::<Vec<_>>(),
            ["first", "second", "third", "fourth"]
        );
    }

    #[test]
    fn an_event_from_before_the_start_counts_as_the_start() {
        let observer = Observer::new("v1.20.2", "v1.20.2", UNIX_EPOCH + Duration::from_secs(9), None);
        assert_eq!(observer.now(UNIX_EPOCH), 0);
    }
}
