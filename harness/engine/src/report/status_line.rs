//! A line on a terminal that shows current work and is overwritten.

use std::io::Write;
use std::time::Instant;

/// Minimum interval between two updates.
const REWRITE_MS: u128 = 80;
/// The width of a terminal that does not tell it.
const DEFAULT_WIDTH: usize = 80;

/// The state of the line.
#[derive(Debug, Default)]
pub(super) struct StatusLine {
    shown: bool,
    last: Option<Instant>,
}

impl StatusLine {
    /// Replaces the line, unless it was replaced a moment ago.
    pub(super) fn rewrite(&mut self, terminal: &mut dyn Write, text: &str) {
        if self
            .last
            .is_some_and(|last| last.elapsed().as_millis() < REWRITE_MS)
        {
            return;
        }
        // A wrapped line could not be overwritten.
        let line: String = text.chars().take(width().saturating_sub(1)).collect();
        let _ = write!(terminal, "\r\x1b[2K{line}");
        let _ = terminal.flush();
        self.shown = true;
        self.last = Some(Instant::now());
    }

    /// Removes the line before permanent text.
    pub(super) fn clear(&mut self, terminal: &mut dyn Write) {
        if self.shown {
            let _ = write!(terminal, "\r\x1b[2K");
            self.shown = false;
        }
    }
}

fn width() -> usize {
    terminal_size::terminal_size_of(std::io::stderr())
        .map_or(DEFAULT_WIDTH, |(width, _)| usize::from(width.0))
}
