//! The node's journal, line by line, as its container's output carries it.

use std::time::{Duration, SystemTime};

use nodejoin_core::observation::JournalLine;
use serde_json::Value;

/// Puts the pieces of an output together to lines. The engine cuts long lines into pieces.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    rest: Vec<u8>,
}

impl Lines {
    /// The lines that this piece completes.
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

/// A line of `journalctl --output=json`, with the time at which it was written. `None` for what is not one.
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

/// A field: text, or the bytes of what is not text, or a list of these where it was given twice.
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
    fn what_systemd_writes_about_a_unit_is_that_units() {
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
    fn bytes_that_are_no_text_are_kept_readable() {
        let (_, line) = journal_line(
            r#"{"_PID":"9","_SYSTEMD_UNIT":"a.service","MESSAGE":[104,105,27],"__REALTIME_TIMESTAMP":"1"}"#,
        )
        .unwrap();
        assert_eq!(line.message, "hi\u{1b}");
        assert!(!line.by_systemd);
    }

    #[test]
    fn other_output_is_not_the_journal() {
        assert!(journal_line("nodejoin: something").is_none());
        assert!(journal_line("{}").is_none());
    }

    #[test]
    fn a_line_may_come_in_pieces() {
        let mut lines = Lines::default();
        assert!(lines.push(b"ab").is_empty());
        assert_eq!(lines.push(b"c\nd\ne"), ["abc", "d"]);
        assert_eq!(lines.push(b"\n"), ["e"]);
    }
}
