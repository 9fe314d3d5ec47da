//! Private keys in the lines of a journal, where each line is an event of its own.

use std::collections::BTreeSet;

/// Sources whose last line is inside a private key.
#[derive(Debug, Clone, Default)]
pub struct KeyLines {
    open: BTreeSet<String>,
}

impl KeyLines {
    /// The line of a source without what it contains of a private key.
    pub fn redact(&mut self, source: &str, line: &str) -> String {
        const HIDDEN: &str = "<redacted>";
        if let Some((before, rest)) = split_at_begin(line) {
            return match rest.split_once("-----END ") {
                Some((_, end)) => format!("{before}{HIDDEN}{}", after_marker(end)),
                None => {
                    self.open.insert(source.to_owned());
                    format!("{before}{HIDDEN}")
                }
            };
        }
        if !self.open.contains(source) {
            return line.to_owned();
        }
        if let Some((_, end)) = line.split_once("-----END ") {
            self.open.remove(source);
            return format!("{HIDDEN}{}", after_marker(end));
        }
        if is_of_key(line) {
            return HIDDEN.to_owned();
        }
        self.open.remove(source);
        line.to_owned()
    }
}

/// The text before and after `-----BEGIN ... PRIVATE KEY-----`.
fn split_at_begin(line: &str) -> Option<(&str, &str)> {
    let (before, rest) = line.split_once("-----BEGIN ")?;
    let (label, rest) = rest.split_once("-----")?;
    label.ends_with("PRIVATE KEY").then_some((before, rest))
}

/// The text after the end of a marker, `RSA PRIVATE KEY-----`.
fn after_marker(text: &str) -> &str {
    text.split_once("-----").map_or("", |(_, after)| after)
}

/// Base64, an encapsulated header such as `Proc-Type: 4,ENCRYPTED`, or the empty line after it.
fn is_of_key(line: &str) -> bool {
    let line = line.trim();
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    line.starts_with("Proc-Type:") || line.starts_with("DEK-Info:") || line.chars().all(is_base64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(lines: &[(&str, &str)]) -> Vec<String> {
        let mut keys = KeyLines::default();
        lines
            .iter()
            .map(|(source, line)| keys.redact(source, line))
            .collect()
    }

    #[test]
    fn a_key_that_is_printed_line_by_line_is_hidden() {
        let lines = [
            ("a", "key: -----BEGIN RSA PRIVATE KEY-----"),
            ("a", "Proc-Type: 4,ENCRYPTED"),
            ("b", "MIIEabcd"),
            ("a", "MIIEabcd+/=="),
            ("a", "-----END RSA PRIVATE KEY----- done"),
            ("a", "MIIEabcd"),
        ];
        let expected = [
            "key: <redacted>",
            "<redacted>",
            "MIIEabcd",
            "<redacted>",
            "<redacted> done",
            "MIIEabcd",
        ];
        assert_eq!(redacted(&lines), expected);
    }

    #[test]
    fn other_lines_stay_and_end_a_key() {
        let lines = [
            ("a", "-----BEGIN CERTIFICATE-----"),
            ("a", "MIIC"),
            ("a", "-----BEGIN PRIVATE KEY-----MIIE-----END PRIVATE KEY-----x"),
            ("a", "MIIC"),
            ("a", "-----BEGIN PRIVATE KEY-----"),
            ("a", "bootstrap.sh: started, with blanks"),
            ("a", "MIIC"),
        ];
        let expected = [
            "-----BEGIN CERTIFICATE-----",
            "MIIC",
            "<redacted>x",
            "MIIC",
            "<redacted>",
            "bootstrap.sh: started, with blanks",
            "MIIC",
        ];
        assert_eq!(redacted(&lines), expected);
    }
}
