//! Commands that change variables in ways that only a run shows.

use super::{Reader, UNKNOWN, assignment, is_blank};

/// Files that set no variables of a script.
const KNOWN_FILES: [&str; 2] = ["/etc/os-release", "/etc/eks/bootstrap.sh"];
/// Commands that set the variables which they name.
const SETTERS: [&str; 5] = ["getopts", "mapfile", "read", "readarray", "unset"];

impl Reader {
    /// Whether the command that was read runs in any case, once, and in the shell itself.
    pub(super) fn is_certain(&self) -> bool {
        // Behind `&&` and `||` it may not run, and behind `|` another process runs it.
        let before = self.rest[..self.start].iter().rev().find(|c| !is_blank(**c));
        self.depth == 0 && !self.is_in_brackets && !matches!(before, Some('&' | '|'))
    }

    /// Notes the variables that a command changes. A function changes them where it is called, which may be anywhere.
    pub(super) fn hide_changed(&mut self, words: &[String]) {
        if changes_any(words) {
            self.hidden.add_any();
        }
        let is_certain = self.is_certain();
        let is_setter = words.iter().any(|word| SETTERS.contains(&word.as_str()));
        for word in words {
            let is_element = word.contains("]=") || word.contains("]+=");
            if is_setter || is_element || (!is_certain && word.contains("+=")) {
                self.hidden
                    .add(word.split(['=', '+', '[']).next().unwrap_or_default());
            }
        }
        // `for NAME in a b`
        let is_loop = words.get(1).is_some_and(|word| word == "in");
        if let Some(name) = words.first().filter(|_| is_loop) {
            self.hidden.add(name);
        }
    }

    /// `NAME+=value` with the whole value, as `NAME=...`.
    pub(super) fn appended(&self, word: &str) -> Option<String> {
        let (name, value) = word.split_once("+=")?;
        let known = self.variables.get(name)?;
        Some(format!("{name}={known}{value}"))
    }
}

/// Whether a command may change any variable: it runs a text or a file in the shell, or names variables by others.
fn changes_any(words: &[String]) -> bool {
    let begin = words.iter().position(|word| assignment(word).is_none());
    let Some((program, arguments)) = begin.and_then(|begin| words[begin..].split_first()) else {
        return false;
    };
    let has_flag = |letter: char| {
        let is_flag = |word: &&String| word.starts_with('-') && !word.starts_with("--");
        arguments.iter().filter(is_flag).any(|flag| flag.contains(letter))
    };
    let has_unknown = || arguments.iter().any(|word| word.starts_with(UNKNOWN));
    match program.as_str() {
        "eval" => true,
        "source" | "." => arguments
            .first()
            .is_none_or(|file| !KNOWN_FILES.contains(&file.as_str())),
        "printf" => has_flag('v'),
        "declare" | "local" | "typeset" => has_flag('n') || has_unknown(),
        "export" | "readonly" => has_unknown(),
        "command" | "builtin" => changes_any(arguments),
        program => SETTERS.contains(&program) && has_unknown(),
    }
}
