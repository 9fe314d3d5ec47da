//! Here-documents.

use super::fault::Stop;
use super::pending_document::PendingDocument;
use super::{CommandList, ENDS_OF_WORDS, ShellGrammar};

impl ShellGrammar {
    /// Reads `<<` and the word that ends the text.
    pub(super) fn document(&mut self) -> Result<(), Stop> {
        let line = self.line();
        self.skip(2);
        let has_tabs = self.peek() == Some('-');
        self.skip(usize::from(has_tabs));
        self.skip_blanks();
        let mut end = String::new();
        while let Some(next) = self.peek().filter(|c| !ENDS_OF_WORDS.contains(*c)) {
            match next {
                '\'' | '"' => {
                    let rest = self.text[self.at + 1..].iter().copied();
                    let quoted: String = rest.take_while(|c| *c != next).collect();
                    let length = quoted.chars().count();
                    if self.peek_at(length + 1) != Some(next) || quoted.contains('\n') {
                        return Err(Stop::Unsure);
                    }
                    self.skip(length + 2);
                    end.push_str(&quoted);
                }
                '\\' => {
                    self.skip(1);
                    let quoted = self.peek().filter(|c| *c != '\n').ok_or(Stop::Unsure)?;
                    self.skip(1);
                    end.push(quoted);
                }
                '`' | '$' => return Err(Stop::Unsure),
                next => {
                    self.skip(1);
                    end.push(next);
                }
            }
        }
        if end.is_empty() {
            return Err(Stop::Unsure);
        }
        self.documents.push(PendingDocument { end, has_tabs, line });
        Ok(())
    }

    /// Reads the end of a line, and the texts of its here-documents.
    pub(super) fn line_break(&mut self, list: &CommandList) -> Result<(), Stop> {
        self.skip(1);
        if list.documents > 0 && !self.documents.is_empty() {
            return Err(Stop::Unsure);
        }
        for document in std::mem::take(&mut self.documents) {
            if self.skip_text(&document) {
                continue;
            }
            // A bracket behind the word ends the text, too.
            return Err(match self.depth {
                1 => document.unclosed(!list.open.is_empty()),
                _ => Stop::Unsure,
            });
        }
        Ok(())
    }

    /// Skips the text of a here-document; whether it has an end.
    fn skip_text(&mut self, document: &PendingDocument) -> bool {
        while self.at < self.text.len() {
            let rest = &self.text[self.at..];
            let length = rest.iter().position(|c| *c == '\n').unwrap_or(rest.len());
            let line: String = rest[..length].iter().collect();
            self.skip(length + 1);
            if document.ends_at(&line) {
                return true;
            }
        }
        false
    }
}
