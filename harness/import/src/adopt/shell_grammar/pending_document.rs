//! Here-documents that begin behind a line.

use super::fault::{ShellMistake, Stop};

/// A here-document whose text follows the line.
pub(super) struct PendingDocument {
    pub(super) end: String,
    /// Whether tabs may precede its end: `<<-`.
    pub(super) has_tabs: bool,
    pub(super) line: usize,
}

impl PendingDocument {
    /// Whether a line ends its text.
    pub(super) fn ends_at(&self, line: &str) -> bool {
        let read = match self.has_tabs {
            true => line.trim_start_matches('\t'),
            false => line,
        };
        read == self.end
    }

    pub(super) fn unclosed(&self, is_in_command: bool) -> Stop {
        let end = self.end.clone();
        Stop::fault(self.line, ShellMistake::Document { end, is_in_command })
    }
}
