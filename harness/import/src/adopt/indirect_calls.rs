//! Calls of the bootstrap script that no command of a shell makes itself: functions and programs that run the command
//! in their arguments, units of systemd, and programs in other languages.

use super::bootstrap_call::{BOOTSTRAP, BootstrapCall, FLAGS, call_at, calls};
use super::cluster_names::is_cluster_name;
use super::run_arguments::may_run_arguments;
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
    let is_named = RUNNERS.contains(&program)
        || program
            .split(['_', '-', '.'])
            .any(|word| RUNNER_WORDS.contains(&word));
    let is_known = is_named && may_run_arguments(program, functions);
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
            Some(rest) if is_in_list(before) => of_list(rest).into_iter().collect(),
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

/// The call whose arguments are the rest of a list. Without a literal name, its flags show that it is one.
fn of_list(mut rest: &str) -> Option<BootstrapCall> {
    let mut words = vec![BOOTSTRAP.to_owned()];
    while let Some(next) = rest.trim_start().strip_prefix(',') {
        let Some((word, after)) = element(next.trim_start()) else {
            break;
        };
        words.push(word);
        rest = after;
    }
    let has_flag = words.iter().any(|word| FLAGS.contains(&word.as_str()));
    words
        .get(1)
        .filter(|word| is_cluster_name(word) || (has_flag && word.contains(UNKNOWN)))?;
    let command = ShellCommand {
        words,
        ..ShellCommand::default()
    };
    Some(call_at(&command, 0))
}

/// The element of a list with which a text begins, and the text behind it. Only a run shows the value of a variable.
fn element(text: &str) -> Option<(String, &str)> {
    let literal = text.strip_prefix('f').unwrap_or(text);
    let mut quotes = QUOTES.iter();
    let of_quotes = quotes.find_map(|quote| literal.strip_prefix(*quote)?.split_once(*quote));
    if let Some((word, rest)) = of_quotes {
        let mut word = match text.starts_with('f') {
            true => without_values(word),
            false => word.to_owned(),
        };
        // An operator changes the text.
        let is_whole = rest.trim_start().starts_with([',', ']']);
        word.extend((!is_whole).then_some(UNKNOWN));
        return Some((word, rest));
    }
    let end = text.find([',', ']'])?;
    let name = text[..end].trim();
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_.".contains(c));
    is_name.then(|| (UNKNOWN.to_string(), &text[end..]))
}

/// A text without the values that Python fills in, such as `{labels}`.
fn without_values(text: &str) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, value)) = rest.split_once('{') {
        filled.push_str(before);
        filled.push(UNKNOWN);
        rest = value.split_once('}').map_or("", |(_, after)| after);
    }
    filled + rest
}
