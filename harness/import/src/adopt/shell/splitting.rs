//! The words that a value outside of quotes becomes.

use super::arrays::ArrayAssignment;
use super::{Reader, UNKNOWN, is_blank};

/// Stands for a blank that ends a word.
const BREAK: char = '\u{e001}';

impl Reader {
    /// Reads what begins with `$` or a backquote outside of quotes: a shell splits the value at blanks, except in an
    /// assignment.
    pub(super) fn unquoted(&mut self, word: &mut String) {
        let (at, begin) = (self.at + 1, word.len());
        match self.peek() {
            Some('`') => self.backquoted(word),
            _ => self.dollar(word),
        }
        if self.keeps_blanks || is_assignment(&word[..begin]) {
            return;
        }
        let inside = self.rest[at..self.at].iter().skip_while(|c| **c == '{');
        let name: String = inside
            .take_while(|c| c.is_ascii_alphanumeric() || **c == '_')
            .collect();
        let value = word.split_off(begin);
        word.push_str(&self.broken(&name, &value));
    }

    /// The words of elements outside of quotes.
    pub(super) fn split(&self, name: &str, elements: &[String]) -> Vec<String> {
        let words = elements.iter().map(|element| self.broken(name, element));
        words.flat_map(|word| Self::fields(&word)).collect()
    }

    /// The words that a word with values stands for: none if it is a variable without a value.
    pub(super) fn fields(word: &str) -> Vec<String> {
        match word.contains(BREAK) {
            true => {
                let fields = word.split(BREAK).filter(|field| !field.is_empty());
                fields.map(str::to_owned).collect()
            }
            false => vec![word.to_owned()],
        }
    }

    /// The value of a variable outside of quotes, with marks between its words.
    fn broken(&self, name: &str, value: &str) -> String {
        if !value.is_empty() && !value.contains(is_blank) {
            return value.to_owned();
        }
        // A shell takes quotes in a value for letters.
        let is_unclear = value.contains(['\\', '\r']);
        if is_unclear || self.hidden.has(name) || self.hidden.has("IFS") {
            return UNKNOWN.to_string();
        }
        match value.is_empty() {
            true => BREAK.to_string(),
            false => value.replace(is_blank, &BREAK.to_string()),
        }
    }
}

/// Whether a word assigns a variable: `NAME=`, `NAME+=` or `NAME[1]=`.
fn is_assignment(word: &str) -> bool {
    let target = word.split_once('=').map(|(target, _)| target);
    let name = target.and_then(|target| target.split('[').next());
    name.and_then(ArrayAssignment::begun).is_some()
}
