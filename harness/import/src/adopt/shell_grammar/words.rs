//! Words, with their quotes.

use super::fault::{ShellMistake, Stop};
use super::{ENDS_OF_WORDS, ShellGrammar};

impl ShellGrammar {
    /// Reads a word; its text, if it has neither quotes nor expansions.
    pub(super) fn word(&mut self) -> Result<Option<String>, Stop> {
        self.word_up_to_bracket(|before| match before {
            // Patterns that only some shells know.
            Some('@' | '!' | '*' | '?' | '+') => Err(Stop::Unsure),
            _ => Ok(()),
        })
    }

    /// Reads a word in `[[ ... ]]`, where brackets are signs of their own.
    pub(super) fn word_of_test(&mut self) -> Result<Option<String>, Stop> {
        self.word_up_to_bracket(|_| Ok(()))
    }

    /// `check`: whether a round bracket may end the word, by the sign before it.
    fn word_up_to_bracket(
        &mut self,
        check: impl Fn(Option<char>) -> Result<(), Stop>,
    ) -> Result<Option<String>, Stop> {
        let begin = self.at;
        let mut text = String::new();
        let mut is_plain = true;
        while let Some(next) = self.peek() {
            match next {
                '\\' if self.is_continuation() => self.skip(2),
                '\\' | '\'' | '"' | '`' | '$' => {
                    is_plain = false;
                    self.quoted(next)?;
                }
                '(' if is_array(&self.text[begin..self.at]) => {
                    is_plain = false;
                    self.array()?;
                }
                '(' => {
                    check(text.chars().next_back())?;
                    break;
                }
                next if ENDS_OF_WORDS.contains(next) => break,
                next => {
                    text.push(next);
                    self.skip(1);
                }
            }
        }
        match self.at == begin {
            true => Err(Stop::Unsure),
            false => Ok(Some(text).filter(|_| is_plain)),
        }
    }

    /// Reads what a sign quotes or begins outside of quotes.
    fn quoted(&mut self, sign: char) -> Result<(), Stop> {
        let line = self.line();
        match sign {
            '\'' => self.single_quoted()?,
            '"' => self.double_quoted()?,
            '`' => self.up_to('`', 1, '`')?,
            '$' => self.dollar(false)?,
            _ => self.skip(2),
        }
        // Where the text of a here-document begins is not certain.
        match !self.documents.is_empty() && self.line() != line {
            true => Err(Stop::Unsure),
            false => Ok(()),
        }
    }

    /// Reads the elements of an array.
    fn array(&mut self) -> Result<(), Stop> {
        self.enter()?;
        self.skip(1);
        loop {
            self.skip_lines()?;
            if self.peek() == Some(')') {
                self.skip(1);
                self.depth -= 1;
                return Ok(());
            }
            self.word()?;
        }
    }

    pub(super) fn single_quoted(&mut self) -> Result<(), Stop> {
        let line = self.line();
        let rest = self.text[self.at + 1..].iter();
        let Some(length) = rest.copied().position(|c| c == '\'') else {
            return Err(Stop::fault(line, ShellMistake::Quote('\'')));
        };
        self.skip(length + 2);
        Ok(())
    }

    /// Reads up to a sign that no backslash quotes. `begin`: the length of what begins the text; `quote`: its quote.
    pub(super) fn up_to(&mut self, sign: char, begin: usize, quote: char) -> Result<(), Stop> {
        let line = self.line();
        self.skip(begin);
        while let Some(next) = self.peek() {
            self.skip(if next == '\\' { 2 } else { 1 });
            if next == sign {
                return Ok(());
            }
        }
        Err(Stop::fault(line, ShellMistake::Quote(quote)))
    }

    pub(super) fn double_quoted(&mut self) -> Result<(), Stop> {
        self.enter()?;
        let line = self.line();
        self.skip(1);
        while let Some(next) = self.peek() {
            match next {
                '\\' => self.skip(2),
                '`' => self.up_to('`', 1, '`')?,
                '$' => self.dollar(true)?,
                _ => {
                    self.skip(1);
                    if next == '"' {
                        self.depth -= 1;
                        return Ok(());
                    }
                }
            }
        }
        Err(Stop::fault(line, ShellMistake::Quote('"')))
    }
}

/// Whether a text is the begin of an assignment of an array, such as `NAME=`, `NAME+=` or `NAME[1]=`.
fn is_array(text: &[char]) -> bool {
    let Some(target) = text.strip_suffix(&['=']) else {
        return false;
    };
    let target = target.strip_suffix(&['+']).unwrap_or(target);
    let name = target.split(|c| *c == '[').next().unwrap_or_default();
    let is_of_name = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    name.first().is_some_and(|first| !first.is_ascii_digit()) && name.iter().all(is_of_name)
}
