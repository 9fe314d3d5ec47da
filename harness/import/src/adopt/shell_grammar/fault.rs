//! Mistakes in the syntax of a script, and why its reader stops.

/// A mistake in a script, with its line, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShellFault {
    pub(crate) line: usize,
    pub(crate) mistake: ShellMistake,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ShellMistake {
    /// A quote without an end.
    Quote(char),
    /// `(`, `$(` or `${` without an end.
    Bracket(&'static str),
    /// A command such as `if` without the word that closes it.
    Open {
        word: &'static str,
        closer: &'static str,
    },
    /// A word closes another command than the last one that is open.
    Crossed {
        word: &'static str,
        closer: &'static str,
        other: &'static str,
        line: usize,
    },
    /// A word such as `fi` closes nothing.
    Stray(&'static str),
    /// A here-document without the line with its word.
    Document { end: String, is_in_command: bool },
    /// A sign as HTML writes it.
    Html {
        written: &'static str,
        name: &'static str,
        meant: char,
    },
}

/// Why a script is not read further.
pub(super) enum Stop {
    /// What follows is not certain.
    Unsure,
    /// The script ends.
    Ended,
    Fault(ShellFault),
}

impl Stop {
    pub(super) fn fault(line: usize, mistake: ShellMistake) -> Self {
        Self::Fault(ShellFault { line, mistake })
    }
}
