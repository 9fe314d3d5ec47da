//! Reads the commands of a shell script without running it. Words keep what is known of them: variables that the script
//! sets are filled in, and everything else becomes [`UNKNOWN`].

use std::collections::BTreeMap;

use super::wrappers::{SHELL_USERS, SHELLS, behind_wrappers};
use arrays::{ArrayAssignment, Arrays};
use hidden::Hidden;

mod array_reading;
mod arrays;
mod changes;
mod documents;
mod hidden;
mod printed;
mod splitting;

/// Stands for text that only a run would produce, such as `$(curl ...)`.
pub(crate) const UNKNOWN: char = '\u{e000}';

/// A script, as far as it can be read.
#[derive(Debug, Default)]
pub(crate) struct ShellScript {
    /// The lines of its text, with those of here-documents.
    pub(crate) lines: Vec<String>,
    pub(crate) commands: Vec<ShellCommand>,
    /// The elements of arrays, which are commands if something runs them.
    pub(crate) arrays: Vec<ShellCommand>,
    /// The bodies of here-documents.
    pub(crate) documents: Vec<String>,
    /// The last values of variables.
    pub(crate) variables: BTreeMap<String, String>,
    /// Names of exported variables.
    pub(crate) exported: Vec<String>,
}

/// A simple command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ShellCommand {
    /// Without assignments before it, redirections and keywords.
    pub(crate) words: Vec<String>,
    /// The environment: exported variables, and assignments before the command.
    pub(crate) environment: BTreeMap<String, String>,
    /// The line of the script, from 1, with its first word, and the one whose line break ends it.
    pub(crate) first_line: usize,
    pub(crate) last_line: usize,
}

/// Reads a script.
pub(crate) fn read(text: &str) -> ShellScript {
    let lines = documents::lines(text);
    let (text, numbers, documents) = documents::without_documents(&lines);
    // What a function changes is hidden in the whole script: the second reading begins with what the first one finds.
    let hidden = Reader::of(&text, &numbers, Hidden::default()).hidden;
    let reader = Reader::of(&text, &numbers, hidden);
    ShellScript {
        lines: lines.into_iter().map(str::to_owned).collect(),
        documents,
        variables: reader.variables,
        exported: reader.exported,
        ..reader.script
    }
}

/// The script that a command runs with `bash -c SCRIPT`, `su -c SCRIPT` or `eval SCRIPT`.
pub(crate) fn inner(command: &ShellCommand) -> Option<&str> {
    let words = command.words.get(behind_wrappers(&command.words)..)?;
    let (program, words) = words.split_first()?;
    if program == "eval" {
        // Several words lose their quotes.
        return words.first().filter(|_| words.len() == 1).map(String::as_str);
    }
    let name = program.rsplit('/').next()?;
    let (is_shell, is_user) = (SHELLS.contains(&name), SHELL_USERS.contains(&name));
    let flag = |word: &String| {
        let is_short = word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
        is_short || (is_user && word == "--command")
    };
    // A shell takes the first word for a file, those others for a user.
    let mut arguments = words
        .iter()
        .skip_while(|word| (is_user || word.starts_with('-')) && !flag(word));
    arguments
        .next()
        .filter(|word| (is_shell || is_user) && flag(word))?;
    arguments.next().map(String::as_str)
}

/// Whether a character ends a word. Others that look like a blank, such as a no-break space, are letters of a word.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

struct Reader {
    rest: Vec<char>,
    /// Where its lines end.
    breaks: Vec<usize>,
    /// The numbers of its lines in the script.
    numbers: Vec<usize>,
    at: usize,
    /// Where the first word of a command begins.
    start: usize,
    /// Of `if`, loops and functions: what is set in them may not be set.
    depth: usize,
    /// Round brackets that are open.
    brackets: usize,
    /// Whether the command at this place is in round brackets: another process runs it.
    is_in_brackets: bool,
    /// Whether values outside of quotes stay one word: `eval` splits them itself.
    keeps_blanks: bool,
    variables: BTreeMap<String, String>,
    exported: Vec<String>,
    arrays: Arrays,
    /// Arrays that the command at this place assigns.
    assigned: Vec<ArrayAssignment>,
    hidden: Hidden,
    script: ShellScript,
}

impl Reader {
    /// Reads a text whose lines have these numbers.
    fn of(text: &str, numbers: &[usize], hidden: Hidden) -> Self {
        let rest: Vec<char> = text.chars().collect();
        let breaks = (0..rest.len()).filter(|at| rest[*at] == '\n').collect();
        let mut reader = Self {
            rest,
            breaks,
            numbers: numbers.to_vec(),
            at: 0,
            start: 0,
            depth: 0,
            brackets: 0,
            is_in_brackets: false,
            keeps_blanks: false,
            variables: BTreeMap::new(),
            exported: Vec::new(),
            arrays: Arrays::default(),
            assigned: Vec::new(),
            hidden,
            script: ShellScript::default(),
        };
        while let Some(words) = reader.words() {
            reader.command(words);
        }
        reader
    }

    fn peek(&self) -> Option<char> {
        self.rest.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += 1;
        Some(next)
    }

    /// The words up to the end of a command; `None` at the end of the text.
    fn words(&mut self) -> Option<Vec<String>> {
        self.peek()?;
        let mut words = Vec::new();
        loop {
            match self.peek() {
                None => return Some(words),
                Some(' ' | '\t' | '\r') => self.at += 1,
                Some('\\') if self.rest.get(self.at + 1) == Some(&'\n') => self.at += 2,
                Some('#') => self.skip_line(),
                Some(end @ ('\n' | ';' | '&' | '|' | '(' | ')')) => {
                    self.next();
                    self.brackets += usize::from(end == '(');
                    self.brackets = self.brackets.saturating_sub(usize::from(end == ')'));
                    return Some(words);
                }
                Some('<' | '>') => self.redirection(&mut words),
                Some(_) => {
                    if words.is_empty() && self.assigned.is_empty() {
                        self.start = self.at;
                        self.is_in_brackets = self.brackets > 0;
                    }
                    self.keeps_blanks &= !words.is_empty();
                    self.keeps_blanks |= words.last().is_some_and(|word| word == "eval");
                    match self.array_words() {
                        Some(elements) => words.extend(elements),
                        None => {
                            let word = self.word();
                            if !self.is_array(&word) {
                                words.extend(Self::fields(&word));
                            }
                        }
                    }
                }
            }
        }
    }

    /// The number of the line with a character, or of the one that it ends.
    fn line_of(&self, at: usize) -> usize {
        let index = self.breaks.partition_point(|end| *end < at);
        self.numbers
            .get(index)
            .or(self.numbers.last())
            .copied()
            .unwrap_or(1)
    }

    fn skip_line(&mut self) {
        while self.peek().is_some_and(|c| c != '\n') {
            self.at += 1;
        }
    }

    /// Skips an operator and its file. A number before it belongs to it.
    fn redirection(&mut self, words: &mut Vec<String>) {
        let is_descriptor = self.at > 0 && self.rest[self.at - 1].is_ascii_digit();
        if is_descriptor && words.last().is_some_and(|word| word.len() == 1) {
            words.pop();
        }
        while self.peek().is_some_and(|c| "<>&-".contains(c)) {
            self.at += 1;
        }
        while self.peek().is_some_and(|c| c == ' ' || c == '\t') {
            self.at += 1;
        }
        match self.peek() {
            Some('(') => self.skip_nested('(', ')'),
            Some(c) if !is_blank(c) && !";|&".contains(c) => drop(self.word()),
            _ => {}
        }
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(c) = self.peek() {
            match c {
                c if is_blank(c) || ";&|<>()".contains(c) => break,
                '\\' => {
                    self.next();
                    match self.next() {
                        Some('\n') | None => {}
                        Some(c) => word.push(c),
                    }
                }
                '\'' if self.is_closed('\'') => self.single_quoted(&mut word),
                '"' if self.is_closed('"') => self.double_quoted(&mut word),
                '$' => self.unquoted(&mut word),
                '`' if self.is_closed('`') => self.unquoted(&mut word),
                c => {
                    self.next();
                    word.push(c);
                }
            }
        }
        word
    }

    /// Whether the quote at this place has an end. One without is an error of the script, and hides nothing after it
    /// from its reader.
    fn is_closed(&self, quote: char) -> bool {
        self.rest[self.at + 1..].contains(&quote)
    }

    fn single_quoted(&mut self, word: &mut String) {
        self.next();
        while let Some(c) = self.next().filter(|c| *c != '\'') {
            word.push(c);
        }
    }

    fn double_quoted(&mut self, word: &mut String) {
        self.next();
        while let Some(c) = self.peek() {
            match c {
                '"' => {
                    self.next();
                    return;
                }
                '\\' => {
                    self.next();
                    match self.next() {
                        Some('\n') | None => {}
                        Some(c) if "\"\\$`".contains(c) => word.push(c),
                        Some(c) => word.extend(['\\', c]),
                    }
                }
                '$' => self.dollar(word),
                '`' => self.backquoted(word),
                c => {
                    self.next();
                    word.push(c);
                }
            }
        }
    }

    fn backquoted(&mut self, word: &mut String) {
        self.next();
        let start = self.at;
        while self.next().is_some_and(|c| c != '`') {}
        self.substituted(start, word);
    }

    fn dollar(&mut self, word: &mut String) {
        self.next();
        match self.peek() {
            Some('(') if self.is_nested('(', ')') => {
                let start = self.at + 1;
                self.skip_nested('(', ')');
                self.substituted(start, word);
            }
            Some('{') if self.is_nested('{', '}') => {
                let start = self.at + 1;
                self.skip_nested('{', '}');
                let end = self.at.saturating_sub(1).max(start);
                let inside: String = self.rest[start..end].iter().collect();
                word.push_str(&self.expanded(&inside));
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let mut name = String::new();
                while let Some(c) = self.peek().filter(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    self.at += 1;
                    name.push(c);
                }
                word.push_str(&self.expanded(&name));
            }
            Some(c) if c.is_ascii_digit() || "@*#?-$!".contains(c) => {
                self.next();
                word.push(UNKNOWN);
            }
            _ => word.push('$'),
        }
    }

    /// Whether the bracket at this place has an end.
    fn is_nested(&self, open: char, close: char) -> bool {
        let mut depth = 0_usize;
        self.rest[self.at..].iter().any(|c| {
            depth += usize::from(*c == open);
            depth -= usize::from(*c == close);
            depth == 0
        })
    }

    fn skip_nested(&mut self, open: char, close: char) {
        let mut depth = 0;
        while let Some(c) = self.next() {
            depth += usize::from(c == open);
            if c == close {
                depth -= 1;
                if depth == 0 {
                    return;
                }
            }
        }
    }

    /// The value of `NAME` or `NAME:-default`.
    fn expanded(&self, inside: &str) -> String {
        let (name, default) = inside
            .split_once(":-")
            .map_or((inside, None), |(name, default)| (name, Some(default)));
        let known = self.variables.get(name).cloned();
        let default = default
            .filter(|default| !default.contains('$'))
            .map(str::to_owned);
        known.or(default).unwrap_or_else(|| UNKNOWN.to_string())
    }

    fn command(&mut self, mut words: Vec<String>) {
        loop {
            match words.first().map(String::as_str) {
                Some("if" | "for" | "while" | "until" | "case" | "{" | "function") => self.depth += 1,
                Some("fi" | "done" | "esac" | "}") => self.depth = self.depth.saturating_sub(1),
                Some("then" | "else" | "elif" | "do" | "!" | "time") => {}
                _ => break,
            }
            words.remove(0);
        }
        self.hide_changed(&words);
        self.assign_arrays(&words);
        if let [word] = &words[..] {
            words = vec![self.appended(word).unwrap_or_else(|| word.clone())];
        }
        let is_export = words.first().is_some_and(|word| word == "export");
        if matches!(
            words.first().map(String::as_str),
            Some("export" | "readonly" | "declare" | "local")
        ) {
            words.remove(0);
            for word in words {
                self.assign_word(&word, is_export);
            }
            return;
        }
        let split = words.iter().position(|word| assignment(word).is_none());
        let Some(split) = split else {
            words.iter().for_each(|word| self.assign_word(word, false));
            return;
        };
        let mut environment: BTreeMap<String, String> = self
            .exported
            .iter()
            .filter_map(|name| Some((name.clone(), self.variables.get(name)?.clone())))
            .collect();
        environment.extend(words[..split].iter().filter_map(|word| assignment(word)));
        self.script.commands.push(ShellCommand {
            words: words.split_off(split),
            environment,
            first_line: self.line_of(self.start),
            // The character that ends the command is behind it.
            last_line: self.line_of(self.at.saturating_sub(1)),
        });
    }

    fn assign_word(&mut self, word: &str, is_export: bool) {
        let name = match assignment(word) {
            Some((name, value)) => {
                self.arrays.forget(&name);
                // `IFS` has the characters that end a word.
                if !self.is_certain() || name == "IFS" {
                    self.hidden.add(&name);
                }
                // A value that depends on a condition is known only if it is the same as without it.
                let is_certain = self.depth == 0 || self.variables.get(&name) == Some(&value);
                let value = if is_certain { value } else { UNKNOWN.to_string() };
                self.variables.insert(name.clone(), value);
                name
            }
            None => word.to_owned(),
        };
        if is_export {
            self.exported.push(name);
        }
    }
}

/// Splits `NAME=value`.
fn assignment(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let is_name = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then(|| (name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests;
