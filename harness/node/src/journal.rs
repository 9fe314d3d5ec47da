//! Parses the node's journal from its container's output.

use std::time::{Duration, SystemTime};

use nodejoin_core::observation::JournalLine;
use serde_json::Value;

/// Joins chunks of output to lines. The engine splits long lines into several chunks.
#[derive(Debug, Default)]
pub(crate) struct LineBuffer {
    rest: Vec<u8>,
}

impl LineBuffer {
    /// Returns the lines that this chunk completes.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Vec<String> {
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
}
