//! Output that scripts send to files of their own: `exec > FILE`.

use super::phases::is_end_of_user_data;
use super::{JournalLine, Observation, ObservedEvent, TimelineEntry};

/// How cloud-init reports a script that failed.
const FAILURES: [&str; 3] = [
    "Failed to run module scripts",
    "Runparts: ",
    "Failed running /var/lib/cloud",
];

impl Observation {
    /// Puts lines from files into the timeline as output of the user data. Their time is not known: they come before
    /// its first failure, or its end.
    pub fn add_redirected_output(&mut self, lines: &[String]) {
        let booted = self.booted_at();
        let is_end = |entry: &TimelineEntry| match &entry.what {
            ObservedEvent::Journal(line) => {
                entry.at >= booted
                    && (is_end_of_user_data(line)
                        || FAILURES.iter().any(|words| line.message.contains(words)))
            }
            _ => false,
        };
        let index = self
            .timeline
            .iter()
            .position(is_end)
            .unwrap_or(self.timeline.len());
        let near = self.timeline.get(index).or(self.timeline.last());
        let at = near.map_or(0, |entry| entry.at);
        let entries = lines.iter().map(|line| TimelineEntry {
            at,
            what: ObservedEvent::Journal(JournalLine {
                unit: None,
                command: Some("user-data".to_owned()),
                by_systemd: false,
                message: line.clone(),
            }),
        });
        self.timeline.splice(index..index, entries);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_file_come_before_the_failure() {
        let journal = |at, message: &str| TimelineEntry {
            at,
            what: ObservedEvent::Journal(JournalLine {
                unit: Some("cloud-final.service".to_owned()),
                command: None,
                by_systemd: false,
                message: message.to_owned(),
            }),
        };
        let mut seen = Observation {
            timeline: vec![
                journal(10, "Cloud-init v. 22.4 running 'modules:final'"),
                journal(
                    20,
                    "2026-01-01 - util.py[WARNING]: Failed running /var/lib/cloud/instance/scripts/part-001 [1]",
                ),
                journal(30, "Cloud-init v. 22.4 finished at Thu"),
            ],
            ..Observation::default()
        };
        seen.add_redirected_output(&["aws: command not found".to_owned()]);
        assert_eq!(seen.timeline[1].at, 20);
        assert!(
            matches!(&seen.timeline[1].what, ObservedEvent::Journal(line) if line.message == "aws: command not found")
        );
        seen.timeline.clear();
        seen.add_redirected_output(&["x".to_owned()]);
        assert_eq!(seen.timeline.len(), 1);
    }
}
