//! Commands that contain others: `if`, loops, `case`, `{` and functions.

use super::fault::Stop;
use super::open_command::{OpenCommand, close, closer};
use super::{ENDS_OF_WORDS, ShellGrammar};

impl ShellGrammar {
    /// Reads what follows the first word of a command; whether another command begins there. `word`: its text, if it
    /// has neither quotes nor expansions.
    pub(super) fn first_word(
        &mut self,
        word: Option<&str>,
        line: usize,
        is_certain: bool,
        open: &mut Vec<OpenCommand>,
    ) -> Result<bool, Stop> {
        if let Some(command) = OpenCommand::begun(word, line) {
            return self.open(command, open);
        }
        if let Some(closer) = closer(word) {
            close(closer, line, open)?;
            return Ok(true);
        }
        match word {
            Some("then" | "elif" | "else") => match open.last() {
                Some(last) if last.word == "if" => Ok(true),
                _ => Err(Stop::Unsure),
            },
            Some("do") => match open.last_mut() {
                Some(last) if last.lacks_do() => {
                    last.has_do = true;
                    Ok(true)
                }
                _ => Err(Stop::Unsure),
            },
            Some("!") => Ok(true),
            Some("time") => {
                self.skip_blanks();
                if self.peek() == Some('-') {
                    self.word()?;
                }
                Ok(true)
            }
            Some("function") => {
                self.skip_blanks();
                self.word()?;
                self.function()?;
                Ok(true)
            }
            Some("[[") => {
                self.test()?;
                Ok(false)
            }
            Some("coproc") => Err(Stop::Unsure),
            _ => {
                if is_certain {
                    self.note_end(word, line)?;
                }
                self.function()
            }
        }
    }

    fn open(&mut self, command: OpenCommand, open: &mut Vec<OpenCommand>) -> Result<bool, Stop> {
        let word = command.word;
        let is_body = word == "{" && open.last().is_some_and(OpenCommand::lacks_do);
        if is_body {
            return Err(Stop::Unsure);
        }
        open.push(command);
        match word {
            "for" | "select" => self.loop_header(),
            "case" => {
                self.skip_blanks();
                self.word()?;
                self.skip_lines()?;
                if self.word()?.as_deref() != Some("in") {
                    return Err(Stop::Unsure);
                }
                self.pattern(open)?;
                Ok(true)
            }
            _ => Ok(true),
        }
    }

    /// Reads `NAME`, `NAME in` or `((...))` behind `for`; whether a command begins there.
    fn loop_header(&mut self) -> Result<bool, Stop> {
        self.skip_blanks();
        if self.has("((") {
            self.arithmetic()?;
            return Ok(false);
        }
        self.word()?;
        self.skip_lines()?;
        if self.peek() == Some(';') {
            return Ok(false);
        }
        let begin = self.at;
        match self.word()?.as_deref() {
            Some("in") => Ok(false),
            Some("do") => {
                self.at = begin;
                Ok(true)
            }
            _ => Err(Stop::Unsure),
        }
    }

    /// Reads the next pattern of a `case`, or the `esac` that closes it.
    pub(super) fn pattern(&mut self, open: &mut Vec<OpenCommand>) -> Result<(), Stop> {
        self.skip_lines()?;
        match self.peek() {
            None => {
                let unclosed = open.last().map(OpenCommand::unclosed);
                return Err(unclosed.unwrap_or(Stop::Unsure));
            }
            Some('(') => self.skip(1),
            Some(_) => {
                let begin = self.at;
                if self.word()?.as_deref() == Some("esac") {
                    open.pop();
                    return Ok(());
                }
                self.at = begin;
            }
        }
        loop {
            self.skip_blanks();
            match self.peek() {
                Some(')') => {
                    self.skip(1);
                    return Ok(());
                }
                Some('|') => self.skip(1),
                Some(c) if c != '#' && !ENDS_OF_WORDS.contains(c) => {
                    self.word()?;
                }
                _ => return Err(Stop::Unsure),
            }
        }
    }

    /// Reads `[[ ... ]]` behind its first word.
    fn test(&mut self) -> Result<(), Stop> {
        loop {
            match self.peek() {
                None | Some(';' | '#') => return Err(Stop::Unsure),
                Some('\n') => {
                    let before = self.text[..self.at].iter().rev();
                    let last = before.copied().find(|c| !" \t".contains(*c));
                    if !self.documents.is_empty() || !matches!(last, Some('&' | '|')) {
                        return Err(Stop::Unsure);
                    }
                    self.skip(1);
                }
                Some('<' | '>') if self.peek_at(1) == Some('(') => return Err(Stop::Unsure),
                Some(c) if ENDS_OF_WORDS.contains(c) => self.skip(1),
                Some(_) => {
                    if self.word_of_test()?.as_deref() == Some("]]") {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Reads the brackets of `NAME()`; whether the word before is the name of a function, whose command follows.
    fn function(&mut self) -> Result<bool, Stop> {
        self.skip_blanks();
        if self.peek() != Some('(') {
            return Ok(false);
        }
        self.skip(1);
        self.skip_blanks();
        if self.peek() != Some(')') {
            return Err(Stop::Unsure);
        }
        self.skip(1);
        Ok(true)
    }
}
