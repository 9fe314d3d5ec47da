//! Reads arrays of a script: their assignments, and the words that they stand for.

use std::collections::BTreeMap;

use super::arrays::{self, ArrayAssignment};
use super::{Reader, ShellCommand, is_blank};

impl Reader {
    /// The words of an array such as `"${NAME[@]}"` at this place, if they are known.
    pub(super) fn array_words(&mut self) -> Option<Vec<String>> {
        let (length, name) = arrays::reference(&self.rest[self.at..])?;
        let elements = self.arrays.words(&name).filter(|_| !self.hidden.has(&name))?;
        let words = match self.peek() {
            Some('"') => elements.to_vec(),
            _ => self.split(&name, elements),
        };
        self.at += length;
        Some(words)
    }

    /// Whether an array such as `NAME=(a b)` begins with this word; it is read then.
    pub(super) fn is_array(&mut self, word: &str) -> bool {
        let target = word.strip_suffix('=').filter(|_| self.peek() == Some('('));
        let Some(mut assignment) = target.and_then(ArrayAssignment::begun) else {
            return false;
        };
        let Some(elements) = self.elements() else {
            return false;
        };
        assignment.elements = elements;
        self.assigned.push(assignment);
        true
    }

    /// The elements in the brackets at this place. What cannot be read stays for the words.
    fn elements(&mut self) -> Option<Vec<String>> {
        let begin = self.at;
        self.at += 1;
        let mut elements = Vec::new();
        loop {
            match self.peek() {
                Some(')') => {
                    self.at += 1;
                    return Some(elements);
                }
                Some(c) if is_blank(c) => self.at += 1,
                Some('\\') if self.rest.get(self.at + 1) == Some(&'\n') => self.at += 2,
                Some('#') => self.skip_line(),
                None | Some(';' | '&' | '|' | '(' | '<' | '>') => {
                    self.at = begin;
                    return None;
                }
                Some(_) => match self.array_words() {
                    Some(words) => elements.extend(words),
                    None => elements.extend(Self::fields(&self.word())),
                },
            }
        }
    }

    /// Notes the arrays of a command, and that others change.
    pub(super) fn assign_arrays(&mut self, words: &[String]) {
        self.arrays.change(words);
        for mut assignment in std::mem::take(&mut self.assigned) {
            assignment.is_certain = self.is_certain();
            if !assignment.is_certain {
                self.hidden.add(&assignment.name);
            }
            self.variables.remove(&assignment.name);
            let command = ShellCommand {
                words: assignment.elements.clone(),
                environment: BTreeMap::new(),
                first_line: self.line_of(self.start),
                last_line: self.line_of(self.at.saturating_sub(1)),
            };
            self.script.arrays.push(command);
            self.arrays.assign(assignment);
        }
    }
}
