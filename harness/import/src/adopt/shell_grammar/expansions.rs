//! What begins with `$`, and arithmetic.

use super::ShellGrammar;
use super::fault::{ShellMistake, Stop};

impl ShellGrammar {
    /// Reads what begins with `$`. `is_quoted`: in double quotes.
    pub(super) fn dollar(&mut self, is_quoted: bool) -> Result<(), Stop> {
        match self.peek_at(1) {
            Some('(') if self.peek_at(2) == Some('(') => {
                self.skip(1);
                self.arithmetic()?;
            }
            Some('(') => {
                let line = self.line();
                self.skip(2);
                self.commands(Some((line, "$(")))?;
            }
            Some('{') => self.parameter(is_quoted)?,
            Some('\'') if !is_quoted => self.up_to('\'', 2, '\'')?,
            Some('"') if !is_quoted => {
                self.skip(1);
                self.double_quoted()?;
            }
            // Arithmetic of old shells.
            Some('[') => return Err(Stop::Unsure),
            Some('#' | '$' | '!' | '*' | '@' | '?' | '-') => self.skip(2),
            _ => self.skip(1),
        }
        Ok(())
    }

    /// Reads `${...}`.
    fn parameter(&mut self, is_quoted: bool) -> Result<(), Stop> {
        self.enter()?;
        let line = self.line();
        self.skip(2);
        // `${ commands; }` of new shells.
        if matches!(self.peek(), None | Some(' ' | '\t' | '\n' | '|')) {
            return Err(Stop::Unsure);
        }
        while let Some(next) = self.peek() {
            match next {
                '\\' => self.skip(2),
                // Shells differ in what it quotes in double quotes.
                '\'' if is_quoted => return Err(Stop::Unsure),
                '\'' => self.single_quoted()?,
                '"' => self.double_quoted()?,
                '`' => self.up_to('`', 1, '`')?,
                '$' => self.dollar(is_quoted)?,
                _ => {
                    self.skip(1);
                    if next == '}' {
                        self.depth -= 1;
                        return Ok(());
                    }
                }
            }
        }
        Err(Stop::fault(line, ShellMistake::Bracket("${")))
    }

    /// Reads `((...))`.
    pub(super) fn arithmetic(&mut self) -> Result<(), Stop> {
        self.enter()?;
        let mut brackets = 0_usize;
        // Behind the last bracket that closes all but the first.
        let mut inner_end = None;
        while let Some(next) = self.peek() {
            match next {
                '\\' => self.skip(2),
                '\'' => self.single_quoted()?,
                '"' => self.double_quoted()?,
                '`' => self.up_to('`', 1, '`')?,
                '$' => self.dollar(false)?,
                // Commands in two brackets can have comments.
                '#' if self.text[..self.at].last().is_some_and(|c| " \t\n;".contains(*c)) => {
                    return Err(Stop::Unsure);
                }
                '\n' if !self.documents.is_empty() => return Err(Stop::Unsure),
                _ => {
                    self.skip(1);
                    brackets += usize::from(next == '(');
                    brackets -= usize::from(next == ')');
                    match (next, brackets) {
                        (')', 1) => inner_end = Some(self.at),
                        // Otherwise they are brackets of commands.
                        (')', 0) if inner_end != Some(self.at - 1) => return Err(Stop::Unsure),
                        (')', 0) => {
                            self.depth -= 1;
                            return Ok(());
                        }
                        _ => {}
                    }
                }
            }
        }
        Err(Stop::Unsure)
    }
}
