//! Functions of a script, and what a script passes to them.

use super::shell::ShellScript;
use super::wrappers::behind_wrappers;

const QUOTES: [char; 2] = ['"', '\''];
/// Commands that run nothing.
const PRINTERS: [&str; 4] = ["echo", "printf", "logger", "unset"];

pub(super) struct ShellFunction {
    pub(super) name: String,
    body: String,
}

/// The functions that a script defines.
pub(super) fn functions(text: &str) -> Vec<ShellFunction> {
    let mut found = Vec::new();
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        let Some((name, rest)) = definition(line) else {
            continue;
        };
        let mut body = rest.to_owned();
        if !rest.ends_with('}') {
            for line in lines.by_ref().take_while(|line| !line.starts_with('}')) {
                body.push('\n');
                body.push_str(line);
            }
        }
        let name = name.to_owned();
        found.push(ShellFunction { name, body });
    }
    found
}

/// The name of the function whose definition begins on a line, and what stands behind its bracket.
fn definition(line: &str) -> Option<(&str, &str)> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_-:".contains(c);
    let (has_keyword, line) = match line.strip_prefix("function ") {
        Some(rest) => (true, rest.trim_start()),
        None => (false, line),
    };
    let (name, rest) = line.split_at(line.find(|c: char| !is_of_name(c))?);
    let rest = rest.trim_start();
    let brackets = rest
        .strip_prefix('(')
        .and_then(|rest| rest.trim_start().strip_prefix(')'));
    let rest = match brackets {
        Some(rest) => rest.trim_start(),
        None if has_keyword => rest,
        None => return None,
    };
    let body = rest.strip_prefix('{').or_else(|| rest.is_empty().then_some(""))?;
    (!name.is_empty()).then(|| (name, body.trim()))
}

impl ShellFunction {
    /// The text between its brackets.
    pub(super) fn body(&self) -> &str {
        &self.body
    }

    /// Whether it runs the command in its arguments.
    pub(super) fn runs_arguments(&self) -> bool {
        let mut commands = self.body.split(['\n', ';', '&', '|', '{', '(']).map(|command| {
            let first = command.split_whitespace().find(|word| !is_keyword(word));
            first.unwrap_or_default().trim_matches(QUOTES)
        });
        commands.any(|first| ["$@", "${@}", "$*"].contains(&first))
    }

    /// The argument that it passes directly behind a path, from 1.
    pub(super) fn argument_behind(&self, path: &str) -> Option<usize> {
        let (_, after) = self.body.split_once(path)?;
        let mut words = after
            .split([' ', '\t', '\n', ';'])
            .map(|word| word.trim_matches(QUOTES));
        let word = words.find(|word| !word.is_empty())?;
        argument(word).or_else(|| {
            let name = word.strip_prefix('$')?.trim_matches(['{', '}']);
            let mut assigned = self.body.split([' ', '\t', '\n', ';']);
            let value = assigned.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))?;
            argument(value.trim_matches(QUOTES))
        })
    }

    /// The argument with this number, from 1, in each call of the function.
    pub(super) fn passed<'s>(&self, script: &'s ShellScript, number: usize) -> Vec<&'s str> {
        let passed = script.commands.iter().filter_map(|command| {
            let at = command.words.iter().position(|word| *word == self.name)?;
            // Behind a program that runs it, or as an argument of another function.
            let is_printed = command.words[..at]
                .iter()
                .any(|word| PRINTERS.contains(&word.as_str()));
            let begin = at.max(behind_wrappers(&command.words));
            command.words.get(begin + number).filter(|_| !is_printed)
        });
        passed.map(String::as_str).collect()
    }
}

fn is_keyword(word: &str) -> bool {
    [
        "if", "then", "else", "do", "until", "while", "!", "time", "timeout",
    ]
    .contains(&word)
}

/// The number of an argument, as in `$1` or `${1:?}`. `$@` begins with the first one.
fn argument(word: &str) -> Option<usize> {
    let inside = word.strip_prefix('$')?;
    let inside = inside.strip_prefix('{').map_or(inside, |inside| {
        inside.split([':', '}']).next().unwrap_or_default()
    });
    match inside {
        "@" | "*" => Some(1),
        number => number.parse().ok().filter(|number| *number > 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adopt::shell;

    #[test]
    fn functions_are_found_with_what_they_run_and_pass() {
        for (text, runs, passes) in [
            ("f() { \"$@\" && return 0; }\n", true, None),
            ("function f {\n  until \"$@\"; do sleep 1; done\n}\n", true, None),
            ("f() { /x/run \"$1\" --y; }\n", false, Some(1)),
            ("f ()\n{\n  /x/run ${2:?}\n}\n", false, Some(2)),
            (
                "f() {\n  local a=$1 b=\"$2\"\n  \"/x/run\" \"${b}\"\n}\n",
                false,
                Some(2),
            ),
            ("f() { /x/run \"$@\"; }\n", false, Some(1)),
            ("f() { echo \"$@\"; }\n", false, None),
            ("f() { /x/run $CLUSTER; }\n", false, None),
            ("f() { /x/run demo; }\n", false, None),
        ] {
            let found = functions(text);
            let [function] = &found[..] else { panic!("{text}") };
            assert_eq!(function.name, "f", "{text}");
            assert_eq!(
                (function.runs_arguments(), function.argument_behind("/x/run")),
                (runs, passes),
                "{text}"
            );
        }
        for other in ["f\n", "f x\n", "(f)\n", "echo f() is\n", "case x in f) ;; esac\n"] {
            assert!(functions(other).is_empty(), "{other}");
        }
    }

    #[test]
    fn arguments_of_calls_are_found() {
        let text = "f() { g \"$1\"; }\necho f no\nf a b\nretry 5 f c\nsudo f d\n";
        let found = functions(text);
        assert_eq!(found[0].passed(&shell::read(text), 1), ["a", "c", "d"]);
    }
}
