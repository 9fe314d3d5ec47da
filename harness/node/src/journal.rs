//! Parses the node's journal from its container's output.

use std::time::{Duration, SystemTime};

use nodejoin_core::observation::JournalLine;
use serde_json::Value;
use testcontainers::bollard::container::LogOutput;

/// Joins chunks of a container's two streams to lines. The journal has standard output alone: its reader writes a line
/// in several pieces, between which the line of another program would destroy both.
#[derive(Debug, Default)]
pub(crate) struct StreamLines {
    output: LineBuffer,
    errors: LineBuffer,
}

impl StreamLines {
    /// Returns the lines that this chunk completes.
    pub(crate) fn push(&mut self, piece: &LogOutput) -> Vec<String> {
        match piece {
            LogOutput::StdErr { message } => self.errors.push(message),
            LogOutput::StdOut { message } | LogOutput::StdIn { message } | LogOutput::Console { message } => {
                self.output.push(message)
            }
        }
    }

    /// All lines of a container that has ended, or of one that continues: its last line may be a part of one.
    pub(crate) fn of(pieces: impl IntoIterator<Item = LogOutput>) -> Vec<String> {
        let mut lines = Self::default();
        let mut all: Vec<_> = pieces.into_iter().flat_map(|piece| lines.push(&piece)).collect();
        all.extend(
            [lines.output, lines.errors]
                .into_iter()
                .filter_map(LineBuffer::rest),
        );
        all
    }
}

/// Joins chunks of output to lines. The engine splits long lines into several chunks.
#[derive(Debug, Default)]
struct LineBuffer {
    rest: Vec<u8>,
}

impl LineBuffer {
    /// Returns the lines that this chunk completes.
    fn push(&mut self, piece: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        for byte in piece {
            if *byte == b'\n' {
                lines.push(String::from_utf8_lossy(&std::mem::take(&mut self.rest)).into_owned());
            } else {
                self.rest.push(*byte);
            }
        }
        lines
    }

    fn rest(self) -> Option<String> {
        (!self.rest.is_empty()).then(|| String::from_utf8_lossy(&self.rest).into_owned())
    }
}

/// Parses a line of `journalctl --output=json` with its time. `None` for any other line.
#[must_use]
pub fn journal_line(line: &str) -> Option<(SystemTime, JournalLine)> {
    let entry: Value = serde_json::from_str(line).ok()?;
    let field = |name: &str| entry.get(name).and_then(text);
    let micros: u64 = field("__REALTIME_TIMESTAMP")?.parse().ok()?;
    let by_systemd = field("_PID").as_deref() == Some("1");
    let unit = if by_systemd { field("UNIT") } else { None }.or_else(|| field("_SYSTEMD_UNIT"));
    let line = JournalLine {
        unit,
        command: field("SYSLOG_IDENTIFIER").or_else(|| field("_COMM")),
        by_systemd,
        message: field("MESSAGE").unwrap_or_default(),
    };
    Some((SystemTime::UNIX_EPOCH + Duration::from_micros(micros), line))
}

/// The text of a field. journalctl prints a field that is not text as bytes, and a repeated field as a list.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(items) if items.iter().all(Value::is_u64) => {
            let bytes: Vec<u8> = items
                .iter()
                .filter_map(Value::as_u64)
                .filter_map(|b| u8::try_from(b).ok())
                .collect();
            Some(String::from_utf8_lossy(&bytes).into_owned())
        }
        Value::Array(items) => items.first().and_then(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_systemd_about_a_unit_belongs_to_that_unit() {
        let (at, line) = journal_line(
            r#"{"_PID":"1","_SYSTEMD_UNIT":"init.scope","UNIT":"kubelet.service","SYSLOG_IDENTIFIER":"systemd","MESSAGE":"Started","__REALTIME_TIMESTAMP":"1795257815985511"}"#,
        )
        .unwrap();
        assert_eq!(
            at,
            SystemTime::UNIX_EPOCH + Duration::from_micros(1_795_257_815_985_511)
        );
        assert_eq!(line.unit.as_deref(), Some("kubelet.service"));
        assert!(line.by_systemd);
    }

    #[test]
    fn a_message_of_bytes_becomes_text() {
        let (_, line) = journal_line(
            r#"{"_PID":"9","_SYSTEMD_UNIT":"a.service","MESSAGE":[104,105,27],"__REALTIME_TIMESTAMP":"1"}"#,
        )
        .unwrap();
        assert_eq!(line.message, "hi\u{1b}");
        assert!(!line.by_systemd);
    }

    #[test]
    fn other_output_is_not_a_journal_line() {
        assert!(journal_line("nodejoin: something").is_none());
        assert!(journal_line("{}").is_none());
    }

    #[test]
    fn a_line_can_arrive_in_chunks() {
        let mut lines = LineBuffer::default();
        assert!(lines.push(b"ab").is_empty());
        assert_eq!(lines.push(b"c\nd\ne"), ["abc", "d"]);
        assert_eq!(lines.push(b"\n"), ["e"]);
    }

    #[test]
    fn a_line_of_another_program_leaves_the_pieces_of_the_journal_whole() {
        let out = |text: &'static str| LogOutput::StdOut { message: text.into() };
        let err = |text: &'static str| LogOutput::StdErr { message: text.into() };
        let pieces = [out("jour"), err("report\n"), out("nal\nen")];
        assert_eq!(StreamLines::of(pieces), ["report", "journal", "en"]);
    }
}
