//! Commands that contain others, and the words that close them.

use super::fault::{ShellMistake, Stop};

/// Words that begin such a command, each with the one that closes it.
const OPENERS: [(&str, &str); 7] = [
    ("if", "fi"),
    ("for", "done"),
    ("select", "done"),
    ("while", "done"),
    ("until", "done"),
    ("case", "esac"),
    ("{", "}"),
];
const CLOSERS: [&str; 4] = ["fi", "done", "esac", "}"];

/// A command that is not closed yet.
pub(super) struct OpenCommand {
    pub(super) word: &'static str,
    closer: &'static str,
    line: usize,
    pub(super) has_do: bool,
}

impl OpenCommand {
    /// The one that a word begins.
    pub(super) fn begun(word: Option<&str>, line: usize) -> Option<Self> {
        let opener = OPENERS.into_iter().find(|(opener, _)| word == Some(*opener));
        opener.map(|(word, closer)| Self {
            word,
            closer,
            line,
            has_do: false,
        })
    }

    pub(super) fn is_case(&self) -> bool {
        self.word == "case"
    }

    /// Whether it is a loop whose `do` is missing yet.
    pub(super) fn lacks_do(&self) -> bool {
        self.closer == "done" && !self.has_do
    }

    pub(super) fn unclosed(&self) -> Stop {
        let mistake = ShellMistake::Open {
            word: self.word,
            closer: self.closer,
        };
        Stop::fault(self.line, mistake)
    }
}

/// The word, if it closes a command.
pub(super) fn closer(word: Option<&str>) -> Option<&'static str> {
    CLOSERS.into_iter().find(|closer| word == Some(*closer))
}

/// Closes the last command that is open.
pub(super) fn close(closer: &'static str, line: usize, open: &mut Vec<OpenCommand>) -> Result<(), Stop> {
    match open.pop() {
        None => Err(Stop::fault(line, ShellMistake::Stray(closer))),
        Some(last) if last.closer != closer => {
            let crossed = ShellMistake::Crossed {
                word: last.word,
                closer: last.closer,
                other: closer,
                line,
            };
            Err(Stop::fault(last.line, crossed))
        }
        Some(last) if last.lacks_do() => Err(Stop::Unsure),
        Some(_) => Ok(()),
    }
}
