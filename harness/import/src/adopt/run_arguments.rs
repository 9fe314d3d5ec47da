//! Whether a function of a script may run the command in its arguments, or only prints it.

use super::shell::{self, ShellCommand, UNKNOWN};
use super::shell_functions::ShellFunction;
use super::wrappers::{SHELLS, behind_wrappers};

/// Functions that call each other.
const DEPTH: usize = 3;
/// Commands that run no command of their arguments.
const HARMLESS: [&str; 33] = [
    ":", "[", "[[", "basename", "break", "cat", "command", "continue", "date", "dirname", "echo", "exit",
    "export", "expr", "false", "grep", "hash", "kill", "let", "logger", "mkdir", "printf", "return", "seq",
    "set", "shift", "sleep", "tee", "test", "touch", "true", "type", "wait",
];
/// Words in the names of functions that print their arguments, if the script does not define them.
const PRINTING: [&str; 10] = [
    "debug", "err", "error", "info", "log", "msg", "notice", "print", "warn", "warning",
];
/// Commands that run a text, which they may also read from a pipe.
const OF_TEXTS: [&str; 5] = ["at", "crontab", "eval", "parallel", "xargs"];

/// Whether a function may run the command in its arguments. One that the script does not define may.
pub(super) fn may_run_arguments(name: &str, functions: &[ShellFunction]) -> bool {
    may_run(name, functions, DEPTH)
}

fn may_run(name: &str, functions: &[ShellFunction], depth: usize) -> bool {
    let mut own = functions
        .iter()
        .filter(|function| function.name == name)
        .peekable();
    own.peek().is_none() || depth == 0 || own.any(|function| runs(function.body(), functions, depth))
}

/// Whether a text may run a word that only a run shows: in a function, its arguments are such words.
fn runs(text: &str, functions: &[ShellFunction], depth: usize) -> bool {
    // The function goes on behind a bracket that closes another one.
    let count = |bracket: char| text.matches(bracket).count();
    if count('{') > count('}') {
        return true;
    }
    let script = shell::read(text);
    let mut commands = script.commands.iter();
    commands.any(|command| is_run(command, functions, depth))
        || substitutions(text)
            .into_iter()
            .any(|inner| runs(inner, functions, depth))
}

fn is_run(command: &ShellCommand, functions: &[ShellFunction], depth: usize) -> bool {
    let words = &command.words;
    let begin = behind_wrappers(words);
    let Some(program) = words.get(begin) else {
        return false;
    };
    // `for NAME in ...` and `case ... in`
    if words.get(1).is_some_and(|word| word == "in") {
        return false;
    }
    let name = program.rsplit('/').next().unwrap_or_default();
    if program.contains(UNKNOWN) || SHELLS.contains(&name) || OF_TEXTS.contains(&name) {
        return true;
    }
    let is_passed = words[begin + 1..].iter().any(|word| word.contains(UNKNOWN));
    if !is_passed || HARMLESS.contains(&name) {
        return false;
    }
    let is_defined = functions.iter().any(|function| function.name == name);
    let prints = name.split(['_', '-']).any(|word| PRINTING.contains(&word));
    (is_defined || !prints) && may_run(name, functions, depth - 1)
}

/// The commands in the outermost `$(...)`, and in backquotes.
fn substitutions(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
    let mut rest = text;
    while let Some((_, inside)) = rest.split_once("$(") {
        rest = inside;
        // Arithmetic.
        if inside.starts_with('(') {
            continue;
        }
        let mut depth = 1_usize;
        let end = inside.find(|c: char| {
            depth += usize::from(c == '(');
            depth -= usize::from(c == ')');
            depth == 0
        });
        if let Some((commands, behind)) = end.and_then(|end| inside.split_at_checked(end)) {
            found.push(commands);
            rest = behind;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adopt::shell_functions::functions;

    #[test]
    fn a_function_runs_its_arguments_unless_it_only_prints_them() {
        for body in [
            "\"$@\"",
            "sudo -E \"$@\"",
            "timeout 5 $*",
            "local cmd=\"$*\"; eval \"$cmd\"",
            "local cmd=\"$1\"; shift; $cmd \"$@\"",
            "local cmd=(\"$@\"); \"${cmd[@]}\"",
            "local out; out=$(\"$@\" 2>&1); echo \"$out\"",
            "out=`$@`",
            "bash -c \"$1\"",
            "echo \"$@\" | sh",
            "for i in 1 2 3; do \"$@\" && return 0; sleep 5; done",
            "if ! \"$@\"; then log \"$1 failed\"; fi",
            "inner \"$@\"",
            "acme-retry \"$@\"",
            "( cd /tmp && \"$@\" )",
            "DEBUG=1 \"$@\"",
        ] {
            let text = format!("run() {{ {body}; }}\ninner() {{ exec \"$@\"; }}\n");
            assert!(may_run_arguments("run", &functions(&text)), "{body}");
        }
        for body in [
            "echo \"would run: $*\"",
            "local n=$1; shift; for i in $(seq 1 $n); do echo \"$@\"; done",
            "logger -t boot \"$@\" && return 0",
            "local cmd=\"$*\"; printf '%s\\n' \"$cmd\" >> /var/log/run.log",
            "if [ -z \"$1\" ]; then exit 1; fi; log_info \"$(date) $*\"",
            "inner \"$@\"",
            "case \"$1\" in a) echo a;; esac",
        ] {
            let text = format!("run() {{ {body}; }}\ninner() {{ echo \"$@\"; }}\n");
            assert!(!may_run_arguments("run", &functions(&text)), "{body}");
        }
        let nested = "run() {\n  {\n    echo x\n  } >&2\n  \"$@\"\n}\n";
        assert!(may_run_arguments("run", &functions(nested)));
        assert!(may_run_arguments("retry", &functions("run() { echo; }\n")));
    }
}
