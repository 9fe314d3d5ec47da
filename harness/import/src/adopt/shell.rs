//! Reads the commands of a shell script without running it. Words keep what is known of them: variables that the script
//! sets are filled in, and everything else becomes [`UNKNOWN`].

use std::collections::BTreeMap;

/// Stands for text that only a run would produce, such as `$(curl ...)`.
pub(crate) const UNKNOWN: char = '\u{e000}';

const SHELLS: [&str; 3] = ["bash", "sh", "dash"];

/// A script, as far as it can be read.
#[derive(Debug, Default)]
pub(crate) struct ShellScript {
    pub(crate) commands: Vec<ShellCommand>,
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
}

/// Reads a script.
pub(crate) fn read(text: &str) -> ShellScript {
    let (text, documents) = without_documents(text);
    let mut reader = Reader {
        rest: text.chars().collect(),
        at: 0,
        depth: 0,
        variables: BTreeMap::new(),
        exported: Vec::new(),
        script: ShellScript {
            documents,
            ..ShellScript::default()
        },
    };
    while let Some(words) = reader.words() {
        reader.command(words);
    }
    ShellScript {
        variables: reader.variables,
        exported: reader.exported,
        ..reader.script
    }
}

/// The script that a command runs with `bash -c SCRIPT`.
pub(crate) fn inner(command: &ShellCommand) -> Option<&str> {
    let words = &command.words;
    let shell = words.iter().position(|word| word != "sudo")?;
    let is_shell = SHELLS.contains(&words[shell].rsplit('/').next()?);
    let flag = |word: &String| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    let mut arguments = words[shell + 1..]
        .iter()
        .skip_while(|word| word.starts_with('-') && !flag(word));
    arguments.next().filter(|word| is_shell && flag(word))?;
    arguments.next().map(String::as_str)
}

/// Splits off the bodies of here-documents.
fn without_documents(text: &str) -> (String, Vec<String>) {
    let mut kept = String::new();
    let mut documents = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        kept.push_str(line);
        kept.push('\n');
        let Some(end) = delimiter(line) else { continue };
        let body: Vec<&str> = lines.by_ref().take_while(|line| line.trim() != end).collect();
        documents.push(body.join("\n"));
    }
    (kept, documents)
}

/// The word that ends a here-document which begins in this line.
fn delimiter(line: &str) -> Option<String> {
    if line.trim_start().starts_with('#') {
        return None;
    }
    let (_, after) = line.split_once("<<")?;
    if after.starts_with('<') {
        return None;
    }
    let after = after.trim_start_matches('-').trim_start();
    let word: String = after
        .trim_start_matches(['"', '\'', '\\'])
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect();
    (!word.is_empty()).then_some(word)
}

struct Reader {
    rest: Vec<char>,
    at: usize,
    /// Of `if`, loops and functions: what is set in them may not be set.
    depth: usize,
    variables: BTreeMap<String, String>,
    exported: Vec<String>,
    script: ShellScript,
}

impl Reader {
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
                Some('\n' | ';' | '&' | '|' | '(' | ')') => {
                    self.next();
                    return Some(words);
                }
                Some('<' | '>') => self.redirection(&mut words),
                Some(_) => words.push(self.word()),
            }
        }
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
            Some(c) if !c.is_whitespace() && !";|&".contains(c) => drop(self.word()),
            _ => {}
        }
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(c) = self.peek() {
            match c {
                c if c.is_whitespace() || ";&|<>()".contains(c) => break,
                '\\' => {
                    self.next();
                    match self.next() {
                        Some('\n') | None => {}
                        Some(c) => word.push(c),
                    }
                }
                '\'' if self.is_closed('\'') => self.single_quoted(&mut word),
                '"' if self.is_closed('"') => self.double_quoted(&mut word),
                '$' => self.dollar(&mut word),
                '`' if self.is_closed('`') => self.backquoted(&mut word),
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
        while self.next().is_some_and(|c| c != '`') {}
        word.push(UNKNOWN);
    }

    fn dollar(&mut self, word: &mut String) {
        self.next();
        match self.peek() {
            Some('(') if self.is_nested('(', ')') => {
                self.skip_nested('(', ')');
                word.push(UNKNOWN);
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
        let words = words.split_off(split);
        self.script.commands.push(ShellCommand { words, environment });
    }

    fn assign_word(&mut self, word: &str, is_export: bool) {
        let name = match assignment(word) {
            Some((name, value)) => {
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
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<String>> {
        let shown = |word: String| word.replace(UNKNOWN, "?");
        let commands = read(text).commands.into_iter();
        commands
            .map(|command| command.words.into_iter().map(shown).collect())
            .collect()
    }

    #[test]
    fn words_are_split_as_in_a_shell() {
        for (text, expected) in [
            (
                "a 'b c' \"d $x\" e\\ f # g\n",
                vec![vec!["a", "b c", "d ?", "e f"]],
            ),
            (
                "a \\\n  b; c && d | e\n",
                vec![vec!["a", "b"], vec!["c"], vec!["d"], vec!["e"]],
            ),
            ("a b >/var/log/x 2>&1 c\n", vec![vec!["a", "b", "c"]]),
            ("exec > >(tee /x|logger) 2>&1\na\n", vec![vec!["exec"], vec!["a"]]),
            (
                "X=1\na $X ${X} ${Y:-2} ${Y} $(b $(c)) `d`\n",
                vec![vec!["a", "1", "1", "2", "?", "?", "?"]],
            ),
            ("if ! a; then\n  b\nfi\n", vec![vec!["a"], vec!["b"]]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    #[test]
    fn an_unclosed_bracket_or_quote_hides_no_command() {
        for text in ["a ${x)\nb c\n", "a $(x}\nb c\n", "a \"x\nb c\n", "a `x\nb c\n"] {
            assert_eq!(words(text).last().unwrap(), &["b", "c"], "{text}");
        }
    }

    #[test]
    fn a_value_that_depends_on_a_condition_is_unknown() {
        assert_eq!(
            words("X=1\nif a; then X=2; fi\nb $X\n"),
            [vec!["a"], vec!["b", "?"]]
        );
        assert_eq!(words("X=1\nX=\"$X 2\"\nb \"$X\"\n"), [vec!["b", "1 2"]]);
    }

    #[test]
    fn a_command_has_exported_variables_and_those_before_it() {
        let script = read("export A=1\nB=2\nC=3 run\n");
        let environment = &script.commands[0].environment;
        let pairs: Vec<_> = environment
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(pairs, ["A=1", "C=3"]);
    }

    #[test]
    fn bodies_of_here_documents_are_no_commands() {
        let script = read("cat >/x <<'EOF'\nrun me\nEOF\na <<<b\n");
        assert_eq!(script.documents, ["run me"]);
        assert_eq!(script.commands.len(), 2);
    }

    #[test]
    fn a_shell_runs_the_script_in_its_argument() {
        let inner = |text: &str| super::inner(&read(text).commands[0]).map(str::to_owned);
        assert_eq!(inner("sudo /bin/bash -ec 'a b' c\n").as_deref(), Some("a b"));
        for text in ["bash x.sh -c d\n", "bash -x y\n", "tar -c d\n", "bash -c\n"] {
            assert_eq!(inner(text), None, "{text}");
        }
    }

    #[test]
    fn unfinished_text_ends() {
        for text in [
            "a 'b", "a \"b", "a ${b", "a $(b", "a `b", "a \\", "a <<E\nb", "${", "$", "a >",
        ] {
            let _ = read(text);
        }
    }
}
