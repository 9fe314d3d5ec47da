//! Calls of the bootstrap script that no command of a shell makes itself: functions and programs that run the command
//! in their arguments, units of systemd, and programs in other languages.

use super::bootstrap_call::{BOOTSTRAP, BootstrapCall, call_at, calls};
use super::cluster_names::is_cluster_name;
use super::shell::{self, ShellCommand, ShellScript, UNKNOWN};
use super::shell_functions::{ShellFunction, functions};
use super::started_units::command_of_unit;
use super::wrappers::behind_wrappers;

/// Programs that run a command of their arguments.
const RUNNERS: [&str; 12] = [
    "chroot",
    "chrt",
    "daemonize",
    "logsave",
    "nsenter",
    "prlimit",
    "runuser",
    "start-stop-daemon",
    "strace",
    "systemd-inhibit",
    "taskset",
    "unshare",
];
/// Words in the names of functions and programs that run a text.
const RUNNER_WORDS: [&str; 7] = ["attempt", "exec", "execute", "retries", "retry", "run", "try"];
/// Functions of other languages that run a text.
const OF_LANGUAGES: [&str; 8] = [
    "call",
    "check_call",
    "check_output",
    "Popen",
    "popen",
    "run",
    "spawn",
    "system",
];
const QUOTES: [char; 2] = ['"', '\''];

/// The calls of a text. Beside direct ones, they are repetitions at most.
pub(super) fn indirect_calls(text: &str, script: &ShellScript) -> Vec<BootstrapCall> {
    if !text.contains(BOOTSTRAP) {
        return Vec::new();
    }
    let functions = functions(text);
    let of_commands = script.commands.iter();
    let of_commands = of_commands.flat_map(|command| of_runner(command, &functions));
    let of_units = unit_commands(text)
        .into_iter()
        .flat_map(|command| of_text(&command));
    of_commands.chain(of_units).chain(of_language(text)).collect()
}

/// The calls in the arguments of a function or program that runs them.
fn of_runner(command: &ShellCommand, functions: &[ShellFunction]) -> Vec<BootstrapCall> {
    let words = &command.words;
    let Some(program) = words.get(behind_wrappers(words)) else {
        return Vec::new();
    };
    let program = program.rsplit('/').next().unwrap_or_default();
    let is_known = RUNNERS.contains(&program)
        || program
            .split(['_', '-', '.'])
            .any(|word| RUNNER_WORDS.contains(&word));
    let runs_arguments = || {
        let mut own = functions.iter().filter(|function| function.name == program);
        own.any(ShellFunction::runs_arguments)
    };
    let path = words.iter().skip(1).position(|word| word.ends_with(BOOTSTRAP));
    if let Some(at) = path.map(|at| at + 1) {
        let argument = words.get(at + 1);
        let is_name = argument.is_some_and(|word| is_cluster_name(word));
        let is_open = argument.is_some_and(|word| word.starts_with('-') || word.contains(UNKNOWN));
        let is_call = (is_name && (is_known || runs_arguments())) || (is_open && is_known);
        return is_call.then(|| call_at(command, at)).into_iter().collect();
    }
    let begin = format!("{BOOTSTRAP} ");
    let texts = words
        .iter()
        .skip(1)
        .filter(|word| is_known && word.starts_with(&begin));
    texts.flat_map(|text| of_text(text)).collect()
}

/// The calls of a command line.
fn of_text(text: &str) -> Vec<BootstrapCall> {
    let script = shell::read(text);
    let inner = script.commands.iter().filter_map(shell::inner);
    let of_inner = inner.flat_map(|inner| calls(&shell::read(inner)));
    calls(&script).into_iter().chain(of_inner).collect()
}

/// The commands of units that a text contains or writes. A backslash continues a line.
fn unit_commands(text: &str) -> Vec<String> {
    let text = text.replace("\\\n", " ");
    let commands = text.lines().filter_map(|line| command_of_unit(line.trim()));
    commands
        .filter(|command| command.contains(BOOTSTRAP))
        .map(str::to_owned)
        .collect()
}

/// The calls of a program in a language with lists of words, such as `["/etc/eks/bootstrap.sh", "demo"]`.
fn of_language(text: &str) -> Vec<BootstrapCall> {
    let places = text.match_indices(BOOTSTRAP).map(|(at, _)| at);
    let found = places.flat_map(|at| {
        let (before, rest) = (&text[..at], &text[at + BOOTSTRAP.len()..]);
        let Some(quote) = before.chars().next_back().filter(|c| QUOTES.contains(c)) else {
            return Vec::new();
        };
        let before = &before[..before.len() - 1];
        let open = before
            .rfind(['[', ']', '(', ')', '{', '}', '\n'])
            .map(|open| &before[open..]);
        match rest.strip_prefix(quote) {
            Some(rest) if is_in_list(before) => of_list(rest, quote).into_iter().collect(),
            None if open.is_some_and(|open| open.trim_end() == "(") && is_run(before) => {
                let end = rest.find([quote, '\n']).unwrap_or(rest.len());
                of_text(&format!("{BOOTSTRAP}{}", &rest[..end]))
            }
            _ => Vec::new(),
        }
    });
    // More arguments may follow.
    found
        .map(|mut call| {
            call.is_open = true;
            call
        })
        .collect()
}

/// Whether a text ends inside of square brackets.
fn is_in_list(before: &str) -> bool {
    let bracket = before.rfind(['[', ']', '(', ')', '{', '}']);
    bracket.is_some_and(|at| before[at..].starts_with('['))
}

/// Whether a text ends where the argument of a function begins that runs it.
fn is_run(before: &str) -> bool {
    let name = before.trim_end().trim_end_matches('(');
    let name = name
        .rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .next();
    name.is_some_and(|name| OF_LANGUAGES.contains(&name))
}

/// The call whose arguments are the rest of a list.
fn of_list(mut rest: &str, quote: char) -> Option<BootstrapCall> {
    let mut words = vec![BOOTSTRAP.to_owned()];
    while let Some(next) = rest.trim_start().strip_prefix(',') {
        let Some((word, after)) = next
            .trim_start()
            .strip_prefix(quote)
            .and_then(|inside| inside.split_once(quote))
        else {
            break;
        };
        words.push(word.to_owned());
        rest = after;
    }
    words.get(1).filter(|word| is_cluster_name(word))?;
    let command = ShellCommand {
        words,
        ..ShellCommand::default()
    };
    Some(call_at(&command, 0))
}
