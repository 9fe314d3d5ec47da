//! What is certainly wrong in the syntax of a shell script, and where it certainly ends.
//!
//! Follows the grammar of bash as long as every sign is certain, and finds nothing behind a construct that it does not
//! know. `bash -n` finds an error in each script with a fault.

use fault::Stop;
pub(super) use fault::{ShellFault, ShellMistake};
use open_command::OpenCommand;
use pending_document::PendingDocument;

mod compound;
mod documents;
mod ends;
mod expansions;
mod fault;
mod open_command;
mod pending_document;
mod words;

/// What the commands of a script show without a run.
#[derive(Debug, Default)]
pub(super) struct ShellOutline {
    pub(super) fault: Option<ShellFault>,
    /// The line of an `exit` that runs in any case.
    pub(super) exit: Option<usize>,
    /// The first command that restarts the machine in any case, with its line.
    pub(super) restart: Option<(usize, String)>,
}

/// Reads a script.
pub(super) fn outline(text: &str) -> ShellOutline {
    let mut grammar = ShellGrammar::of(text);
    if let Err(Stop::Fault(fault)) = grammar.commands(None) {
        grammar.outline.fault = Some(fault);
    }
    grammar.outline
}

/// Quotes and brackets in others: more are not read.
const DEEPEST: usize = 40;
/// Signs that end a word.
const ENDS_OF_WORDS: &str = " \t\n;&|<>()";
/// Signs as HTML writes them.
const HTML: [(&str, &str, char); 4] = [
    ("&amp;", "amp", '&'),
    ("&lt;", "lt", '<'),
    ("&gt;", "gt", '>'),
    ("&quot;", "quot", '"'),
];

struct ShellGrammar {
    text: Vec<char>,
    /// Where its lines end.
    breaks: Vec<usize>,
    at: usize,
    /// How many quotes and brackets are around this place.
    depth: usize,
    /// Here-documents that begin behind this line.
    documents: Vec<PendingDocument>,
    outline: ShellOutline,
}

/// A list of commands: the whole script, or what is in brackets.
struct CommandList {
    /// The line and the sign of the bracket that begins it.
    bracket: Option<(usize, &'static str)>,
    /// Here-documents that were pending before it.
    documents: usize,
    open: Vec<OpenCommand>,
    /// Whether the next word begins a command.
    starts: bool,
    /// Whether the next command follows `&&`, `||` or `|`.
    is_conditional: bool,
}

impl CommandList {
    /// Begins a command.
    fn begin(&mut self, is_conditional: bool) {
        self.starts = true;
        self.is_conditional = is_conditional;
    }

    /// Whether a command at this place runs in any case, and in the shell itself.
    fn is_certain(&self) -> bool {
        self.bracket.is_none() && self.open.is_empty() && !self.is_conditional
    }
}

impl ShellGrammar {
    fn of(text: &str) -> Self {
        let text: Vec<char> = text.chars().collect();
        let breaks = (0..text.len()).filter(|at| text[*at] == '\n').collect();
        Self {
            text,
            breaks,
            at: 0,
            depth: 0,
            documents: Vec::new(),
            outline: ShellOutline::default(),
        }
    }

    fn peek(&self) -> Option<char> {
        self.peek_at(0)
    }

    fn peek_at(&self, offset: usize) -> Option<char> {
        self.text.get(self.at + offset).copied()
    }

    /// Whether a text is at this place.
    fn has(&self, text: &str) -> bool {
        (0..).zip(text.chars()).all(|(at, c)| self.peek_at(at) == Some(c))
    }

    fn is_continuation(&self) -> bool {
        self.has("\\\n")
    }

    fn skip(&mut self, count: usize) {
        self.at = (self.at + count).min(self.text.len());
    }

    /// The number of the line at this place.
    fn line(&self) -> usize {
        self.breaks.partition_point(|end| *end < self.at) + 1
    }

    fn enter(&mut self) -> Result<(), Stop> {
        self.depth += 1;
        match self.depth > DEEPEST {
            true => Err(Stop::Unsure),
            false => Ok(()),
        }
    }

    fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t') => self.skip(1),
                Some('\\') if self.is_continuation() => self.skip(2),
                _ => return,
            }
        }
    }

    /// Skips blanks, comments and empty lines.
    fn skip_lines(&mut self) -> Result<(), Stop> {
        loop {
            self.skip_blanks();
            match self.peek() {
                Some('\n') if !self.documents.is_empty() => return Err(Stop::Unsure),
                Some('\n') => self.skip(1),
                Some('#') => self.skip_comment(),
                _ => return Ok(()),
            }
        }
    }

    fn skip_comment(&mut self) {
        while self.peek().is_some_and(|c| c != '\n') {
            self.at += 1;
        }
    }

    /// Reads commands up to the bracket that ends them, or to the end of the text. `bracket`: the line and the sign of
    /// the one that begins them.
    fn commands(&mut self, bracket: Option<(usize, &'static str)>) -> Result<(), Stop> {
        self.enter()?;
        let mut list = CommandList {
            bracket,
            documents: self.documents.len(),
            open: Vec::new(),
            starts: true,
            is_conditional: false,
        };
        while let Some(next) = self.peek() {
            match next {
                ' ' | '\t' => self.skip(1),
                '\\' if self.is_continuation() => self.skip(2),
                '#' => self.skip_comment(),
                '\n' => {
                    self.line_break(&list)?;
                    // Behind `&&`, the next line continues the list.
                    list.begin(list.is_conditional && list.starts);
                }
                ';' => self.semicolon(&mut list)?,
                '&' => self.ampersand(&mut list)?,
                '|' => {
                    let is_double = matches!(self.peek_at(1), Some('|' | '&'));
                    self.skip(if is_double { 2 } else { 1 });
                    list.begin(true);
                }
                '(' => self.open_bracket(&mut list)?,
                ')' => return self.close_bracket(&list),
                '<' | '>' => {
                    self.redirection()?;
                    list.starts = false;
                }
                _ => self.command_word(&mut list)?,
            }
        }
        self.end_of_text(&list)
    }

    fn end_of_text(&mut self, list: &CommandList) -> Result<(), Stop> {
        if let Some(document) = self.documents.first() {
            return Err(match self.depth {
                1 => document.unclosed(!list.open.is_empty()),
                _ => Stop::Unsure,
            });
        }
        if let Some((line, sign)) = list.bracket {
            return Err(Stop::fault(line, ShellMistake::Bracket(sign)));
        }
        if let Some(open) = list.open.last() {
            return Err(open.unclosed());
        }
        self.depth -= 1;
        Ok(())
    }

    fn open_bracket(&mut self, list: &mut CommandList) -> Result<(), Stop> {
        if !list.starts {
            return Err(Stop::Unsure);
        }
        if self.has("((") {
            self.arithmetic()?;
            list.starts = false;
            return Ok(());
        }
        let line = self.line();
        self.skip(1);
        self.commands(Some((line, "(")))
    }

    fn close_bracket(&mut self, list: &CommandList) -> Result<(), Stop> {
        let is_whole = list.open.is_empty() && self.documents.len() == list.documents;
        if list.bracket.is_none() || !is_whole {
            return Err(Stop::Unsure);
        }
        self.skip(1);
        self.depth -= 1;
        Ok(())
    }

    fn semicolon(&mut self, list: &mut CommandList) -> Result<(), Stop> {
        match self.peek_at(1) {
            Some(';' | '&') => {
                if !list.open.last().is_some_and(OpenCommand::is_case) {
                    return Err(Stop::Unsure);
                }
                self.skip(if self.has(";;&") { 3 } else { 2 });
                self.pattern(&mut list.open)?;
            }
            _ => self.skip(1),
        }
        list.begin(false);
        Ok(())
    }

    fn ampersand(&mut self, list: &mut CommandList) -> Result<(), Stop> {
        if let Some((written, name, meant)) = HTML.into_iter().find(|(written, ..)| self.has(written)) {
            let html = ShellMistake::Html { written, name, meant };
            return Err(Stop::fault(self.line(), html));
        }
        match self.peek_at(1) {
            Some('>') => {
                self.skip(1);
                self.redirection()?;
                list.starts = false;
            }
            Some('&') => {
                self.skip(2);
                list.begin(true);
            }
            _ => {
                self.skip(1);
                list.begin(false);
            }
        }
        Ok(())
    }

    fn command_word(&mut self, list: &mut CommandList) -> Result<(), Stop> {
        let line = self.line();
        let is_certain = list.is_certain();
        let word = self.word()?;
        if list.starts {
            list.starts = self.first_word(word.as_deref(), line, is_certain, &mut list.open)?;
        }
        Ok(())
    }

    /// Reads an operator; its file is the next word.
    fn redirection(&mut self) -> Result<(), Stop> {
        if self.peek_at(1) == Some('(') {
            let line = self.line();
            self.skip(2);
            return self.commands(Some((line, "(")));
        }
        if self.has("<<<") {
            self.skip(3);
            return Ok(());
        }
        if self.has("<<") {
            return self.document();
        }
        self.skip(1);
        if matches!(self.peek(), Some('<' | '>' | '&' | '|')) {
            self.skip(1);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
