//! Parts of a MIME message that cloud-init or nodeadm does not read, and messages that are none for them.
//!
//! cloud-init parses user data as a message if `MIME-Version:` is in its first 4096 bytes (`convert_string` in its
//! user_data.py), and then as leniently as the email package of Python. nodeadm parses it by Go's stricter packages.

use nodejoin_core::user_data::{FaultKind, parse};

use super::mistyped_parts::NODE_CONFIG;
use crate::go_mime::{self, Unread, UnreadReason};
use crate::mime::{self, ForeignBoundary, MIME_HEAD, begins_with_header, is_mime};
use crate::mime_end::misspelt_end;
use crate::source_lines::SourceLines;

/// What a message calls a text whose line it cannot find in the user data.
const USER_DATA: &str = "the user data";

/// A message that a file contains.
struct LostParts<'a> {
    text: &'a str,
    lines: &'a SourceLines<'a>,
}

/// What of a message is not read, and what to write. `is_completed`: EKS reads it, and makes another one of its parts.
pub(super) fn lost_parts(text: &str, lines: &SourceLines<'_>, is_completed: bool) -> Vec<String> {
    let of = LostParts { text, lines };
    let mut notes: Vec<String> = of.behind().into_iter().collect();
    notes.extend(
        mime::foreign_boundaries(text)
            .iter()
            .map(|foreign| of.foreign(foreign)),
    );
    notes.extend(mime::late_headers(text).into_iter().map(|line| of.late(line)));
    notes.extend(mime::open_headers(text).into_iter().map(|line| of.open(line)));
    notes.extend(of.misspelt_end(is_completed));
    if is_completed || !is_mime(text) || !begins_with_header(text) {
        return notes;
    }
    let of_cloud_init = of.before_the_header().or_else(|| of.without_version());
    if let Some(note) = of_cloud_init {
        notes.push(note);
    } else if notes.is_empty() {
        // One of these is enough: each of them has the others as a consequence.
        notes.extend(of.without_parts().or_else(|| of.unread_by_nodeadm()));
    }
    notes
}

impl LostParts<'_> {
    fn at(&self, number: usize) -> String {
        self.lines.place(self.text, number, USER_DATA)
    }

    fn behind(&self) -> Option<String> {
        let line = self.at(mime::text_behind_the_end(self.text)?);
        Some(format!(
            "{line} and what follows it are behind the end of the MIME message: nothing reads them"
        ))
    }

    fn foreign(&self, foreign: &ForeignBoundary<'_>) -> String {
        let line = self.at(foreign.line);
        let own = foreign.own;
        let what = match foreign.is_indented {
            true => "is indented, and a boundary begins its line".to_owned(),
            false => format!("begins a part, and the boundary of the message is `--{own}`"),
        };
        let consequence = match foreign.is_in_part {
            true => "what follows belongs to the part before it",
            false => "no part of the message begins before it, so nothing reads what follows",
        };
        let advice = match foreign.is_indented {
            true => "remove the blanks".to_owned(),
            false => format!("write `--{own}` there, and `--{own}--` behind the last part"),
        };
        format!("{line} {what}: {consequence}; {advice}")
    }

    fn late(&self, line: usize) -> String {
        let line = self.at(line);
        format!(
            "{line} is behind an empty line, which ends the header of its part: it is content, and cloud-init reads the \
             part as plain text"
        )
    }

    fn open(&self, line: usize) -> String {
        let line = self.at(line);
        format!(
            "{line} begins a NodeConfig, and no empty line ends the header of its part before it: nodeadm does not find it"
        )
    }

    fn misspelt_end(&self, is_completed: bool) -> Option<String> {
        let end = misspelt_end(self.text)?;
        let (line, own) = (self.at(end.line), end.own);
        let parts = mime::raw_parts(self.text)?;
        let is_script = |part: &String| {
            let mut header = part.lines().take_while(|line| !line.is_empty());
            header.any(|line| line.to_ascii_lowercase().contains("text/x-shellscript"))
        };
        let consequence = if self.is_for_nodeadm() && !is_completed {
            "nodeadm finds no end and rejects the whole message"
        } else if parts.last().is_some_and(is_script) {
            "it belongs to the last part, whose script runs it as its last command, which fails"
        } else {
            "it belongs to the last part"
        };
        Some(format!(
            "{line} is not the end of the MIME message, as signs stand behind `--{own}--`: {consequence}; remove them"
        ))
    }

    /// Whether a part of the message is for nodeadm. A script may write a NodeConfig into a file that nodeadm reads in
    /// place of the user data.
    fn is_for_nodeadm(&self) -> bool {
        let is_type = |line: &str| {
            let line = line.to_ascii_lowercase();
            line.starts_with("content-type:") && line.contains(NODE_CONFIG)
        };
        self.text.lines().any(is_type) && begins_with_header(self.text)
    }

    /// An empty line ends the header, which then has nothing.
    fn before_the_header(&self) -> Option<String> {
        let header = mime::header_behind_empty_lines(self.text)?;
        let (first, header) = (self.at(1), self.at(header));
        Some(format!(
            "{first} is empty, which ends the header of the MIME message before it begins in {header}: cloud-init takes the whole text \
             for one part of plain text and runs nothing of it, and nodeadm finds no NodeConfig; begin with `MIME-Version: 1.0`"
        ))
    }

    /// nodeadm needs no version.
    fn without_version(&self) -> Option<String> {
        let head = self
            .text
            .as_bytes()
            .get(..MIME_HEAD)
            .unwrap_or(self.text.as_bytes());
        let has_version = String::from_utf8_lossy(head)
            .to_ascii_lowercase()
            .contains("mime-version:");
        let parts = mime::raw_parts(self.text)?;
        let is_of_nodeadm = |part: &String| {
            let header = part.lines().take_while(|line| !line.is_empty());
            header.into_iter().any(|line| line.contains(NODE_CONFIG))
        };
        if has_version || !begins_with_header(self.text) || parts.iter().all(is_of_nodeadm) {
            return None;
        }
        let line = self.at(1);
        Some(format!(
            "the MIME message that begins in {line} has no `MIME-Version:` in its first {MIME_HEAD} bytes: cloud-init does not take \
             it for a message and runs nothing of it; write `MIME-Version: 1.0` as its first line"
        ))
    }

    /// No line is a boundary, or the header names none.
    fn without_parts(&self) -> Option<String> {
        let faults = parse(self.text.as_bytes()).faults.into_iter();
        let mut damaged = faults.filter(|fault| fault.part.is_none() && fault.kind == FaultKind::Damaged);
        let what = damaged.next()?.what;
        Some(format!(
            "{what}: neither cloud-init nor nodeadm finds a part of it, and nothing of it runs"
        ))
    }

    fn unread_by_nodeadm(&self) -> Option<String> {
        let is_for_nodeadm = self.is_for_nodeadm();
        let Unread { line: number, why } = go_mime::unread(self.text).filter(|_| is_for_nodeadm)?;
        let line = self.at(number);
        Some(match why {
            UnreadReason::NoEmptyLine(true) => format!(
                "no empty line ends the header of the MIME message before {line}: nodeadm, whose parser is stricter than that of \
                 cloud-init, does not take it for a message and finds no NodeConfig; insert an empty line"
            ),
            UnreadReason::NoEmptyLine(false) => format!(
                "no empty line ends the header of a part before {line}: nodeadm, whose parser is stricter than that of cloud-init, \
                 rejects the whole message; insert an empty line"
            ),
            UnreadReason::Type => format!(
                "nodeadm cannot parse the `Content-Type` in {line}, and reads no NodeConfig of the message: values with signs such as \
                 `/` or `=` need quotes, as in `boundary=\"//\"`; cloud-init reads them without"
            ),
            UnreadReason::PartType => {
                let text = self
                    .text
                    .lines()
                    .nth(number.saturating_sub(1))
                    .unwrap_or_default();
                // The note about the type of a part with a NodeConfig has the remedy.
                if text.contains(NODE_CONFIG) {
                    return None;
                }
                format!(
                    "nodeadm cannot parse the `Content-Type` in {line}, and rejects the whole message: values with signs such as `/` or \
                     `=` need quotes"
                )
            }
            UnreadReason::NoEnd => {
                let own = mime::own_boundary(self.text).unwrap_or_default();
                format!(
                    "no boundary with `--` at its end closes the last part of the MIME message: nodeadm, whose parser is stricter than \
                     that of cloud-init, rejects the whole message; write `--{own}--` as the last line"
                )
            }
            UnreadReason::Between => format!(
                "{line} is not a boundary of the MIME message and belongs to no part: nodeadm, whose parser is stricter than that of \
                 cloud-init, rejects the whole message"
            ),
        })
    }
}
