//! Variables in calls of the bootstrap script that nothing sets: a shell puts nothing in their place.

use nodejoin_core::user_data::parse;

use super::assigned::Assigned;
use super::bootstrap_call::{BOOTSTRAP, BootstrapCall, calls};
use super::placeholders::is_of_environment;
use super::shell::{self, ShellScript};
use super::shell_functions::functions;
use super::wrappers::SHELLS;
use crate::source_lines::SourceLines;

/// Begins of names that a shell, systemd or cloud-init sets.
const OF_OTHERS: [&str; 12] = [
    "BASH",
    "CLOUD_INIT",
    "DIRSTACK",
    "EPOCH",
    "GROUPS",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "LC_",
    "PPID",
    "SYSTEMD_",
    "TERM",
    "TMPDIR",
];
const NAME: &str = "bootstrap.sh";

/// A sentence for each variable that is a whole argument of a call, and that nothing in the user data sets. `whole`:
/// the text of all parts.
pub(super) fn unset_variables(user_data: &[u8], whole: &str, lines: &SourceLines<'_>) -> Vec<String> {
    let Some(assigned) = Assigned::of(whole).filter(|_| !whole.contains("BASH_ENV")) else {
        return Vec::new();
    };
    let mut notes = Vec::new();
    for script in parse(user_data).scripts() {
        let text = String::from_utf8_lossy(&script.content);
        if is_run_as_it_is(&text) {
            notes.extend(of_script(&text, &assigned, lines));
        }
    }
    notes
}

/// Whether cloud-init runs a text with a shell that reads no other file.
fn is_run_as_it_is(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let Some(interpreter) = first.strip_prefix("#!") else {
        return false;
    };
    let is_shell = |word: &str| SHELLS.contains(&word.rsplit('/').next().unwrap_or_default());
    // A login shell reads files of the system, and `env` sets variables.
    let is_other = |word: &str| word.contains('=') || (word.starts_with('-') && word.contains('l'));
    interpreter.split_whitespace().any(is_shell) && !interpreter.split_whitespace().any(is_other)
}

fn of_script(text: &str, assigned: &Assigned, lines: &SourceLines<'_>) -> Vec<String> {
    let script = shell::read(text);
    let has_arguments = sets_arguments(&script)
        || functions(text)
            .iter()
            .any(|function| function.body().contains(NAME));
    let is_unset = |name: &str| match is_number(name) {
        true => !has_arguments && name != "0",
        false => {
            let is_of_others = OF_OTHERS.iter().any(|begin| name.starts_with(begin));
            !is_of_others && !is_proxy(name) && !is_of_environment(name) && !assigned.has(name, usize::MAX)
        }
    };
    let mut found: Vec<(&str, usize)> = Vec::new();
    for (name, number) in calls(&script).iter().flat_map(|call| variables(call, &script)) {
        if is_unset(name) && found.iter().all(|(earlier, _)| *earlier != name) {
            found.push((name, number));
        }
    }
    let what = match ends_at_unset(text, &script) {
        true => "the shell ends the script at it, because of `set -u`",
        false => "the shell puts nothing in its place",
    };
    let sentence = |(name, number): (&str, usize)| {
        let place = lines.place(text, number, "the script");
        match is_number(name) {
            true => format!(
                "cloud-init runs the script without arguments, and nothing sets `${name}` ({place}): {what}"
            ),
            false => {
                format!(
                    "nothing in the user data sets `${name}` ({place}), and cloud-init does not pass it: {what}"
                )
            }
        }
    };
    found.into_iter().map(sentence).collect()
}

/// The variables that are whole arguments of a call, each with the number of its line.
fn variables<'s>(call: &BootstrapCall, script: &'s ShellScript) -> Vec<(&'s str, usize)> {
    let mut found = Vec::new();
    let mut before = String::new();
    for number in call.line_numbers() {
        let line = number.checked_sub(1).and_then(|index| script.lines.get(index));
        for piece in line
            .into_iter()
            .flat_map(|line| line.split_inclusive([' ', '\t']))
        {
            let name = variable(piece.trim()).filter(|_| is_argument_behind(&before));
            found.extend(name.map(|name| (name, number)));
            before.push_str(piece);
        }
        before.push('\n');
    }
    found
}

/// Whether what follows a text is an argument of the script in it: neither in quotes nor of another command.
fn is_argument_behind(before: &str) -> bool {
    let Some((_, arguments)) = before.rsplit_once(BOOTSTRAP) else {
        return false;
    };
    let arguments = arguments.trim_start_matches(['"', '\'']);
    let is_closed = |quote: char| arguments.matches(quote).count() % 2 == 0;
    let is_of_script = !arguments.contains([';', '&', '|', '<', '>', '#', '`', '(']);
    arguments.starts_with([' ', '\t']) && is_of_script && is_closed('\'') && is_closed('"')
}

/// The name in `$NAME`, `${NAME}` or `"$NAME"`.
fn variable(word: &str) -> Option<&str> {
    let inside = word.trim_matches('"').strip_prefix('$')?;
    let name = match inside.strip_prefix('{') {
        Some(inside) => inside.strip_suffix('}')?,
        None => inside,
    };
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && (is_number(name) || !name.starts_with(|c: char| c.is_ascii_digit()));
    is_name.then_some(name)
}

fn is_number(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_proxy(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with("_proxy")
}

/// Whether a script sets its own arguments with `set -- WORD`.
fn sets_arguments(script: &ShellScript) -> bool {
    script.commands.iter().any(|command| {
        let Some((program, words)) = command.words.split_first() else {
            return false;
        };
        let is_argument = words.first().is_some_and(|word| !word.starts_with(['-', '+']));
        program == "set" && (is_argument || words.iter().any(|word| word == "--"))
    })
}

/// Whether a shell ends a script at a variable without a value.
fn ends_at_unset(text: &str, script: &ShellScript) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let has_letter = |word: &str, sign: char| word.starts_with(sign) && word[1..].contains('u');
    let of_set = |sign: char| {
        let mut commands = script.commands.iter();
        commands.any(|command| {
            let words = &command.words;
            let is_set = words.first().is_some_and(|word| word == "set");
            is_set
                && words
                    .iter()
                    .any(|word| has_letter(word, sign) || (sign == '-' && word == "nounset"))
        })
    };
    let of_interpreter = first.split_whitespace().any(|word| has_letter(word, '-'));
    (of_interpreter || of_set('-')) && !of_set('+')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adopt::stated::Stated;

    fn found(text: &str) -> Vec<String> {
        let stated = Stated::of(text.as_bytes());
        unset_variables(text.as_bytes(), &stated.text, &SourceLines::default())
    }

    #[test]
    fn variables_that_nothing_sets_are_named() {
        let empty = "the shell puts nothing in its place";
        let end = "the shell ends the script at it, because of `set -u`";
        let call = "/etc/eks/bootstrap.sh";
        for (text, names, what) in [
            (
                format!("#!/bin/bash\n{call} $CLUSTER --use-max-pods false\n"),
                vec!["CLUSTER"],
                empty,
            ),
            (
                format!("#!/bin/bash -e\n{call} \"$CLUSTER_NAME\" \\\n  --b64-cluster-ca $CA\n"),
                vec!["CLUSTER_NAME", "CA"],
                empty,
            ),
            (
                format!("#!/bin/bash\nset -euo pipefail\n{call} $CLUSTER\n"),
                vec!["CLUSTER"],
                end,
            ),
            (
                format!("#!/bin/sh\nset -u\nset +u\n\"{call}\" ${{cluster}}\n"),
                vec!["cluster"],
                empty,
            ),
            (
                format!("#cloud-config\nruncmd:\n- {call} $CLUSTER\n"),
                vec!["CLUSTER"],
                empty,
            ),
        ] {
            let notes = found(&text);
            assert_eq!(notes.len(), names.len(), "{text}{notes:?}");
            for (note, name) in notes.iter().zip(names) {
                assert!(
                    note.starts_with(&format!("nothing in the user data sets `${name}` (line "))
                        && note.ends_with(what),
                    "{text}{note}"
                );
            }
        }
        assert_eq!(
            found("#!/bin/bash\nset -e\n/etc/eks/bootstrap.sh $1\n"),
            [
                "cloud-init runs the script without arguments, and nothing sets `$1` (line 3 of the script): the shell puts nothing in its \
                 place"
            ]
        );
    }

    #[test]
    fn a_variable_that_something_may_set_is_not_named() {
        let call = "/etc/eks/bootstrap.sh";
        for text in [
            format!("CLUSTER=demo\n{call} $CLUSTER"),
            format!("read -r CLUSTER < /x\n{call} $CLUSTER"),
            format!(": ${{CLUSTER:=demo}}\n{call} $CLUSTER"),
            format!("[ -f /x ] && . /x\n{call} $CLUSTER"),
            format!("export $(cat /x)\n{call} $CLUSTER"),
            format!("eval \"$(x)\"\n{call} $CLUSTER"),
            format!("{call} demo --x $AWS_REGION --y $HOME --z $HTTPS_PROXY"),
            format!("join() {{ {call} $1; }}\njoin demo"),
            format!("set -- demo\n{call} $1"),
            format!("{call} demo --x $0"),
            format!("{call} demo --x \"$(awk '{{print $1 }}' /x)\""),
            format!("{call} demo --x 'a $B c'"),
            format!("{call} demo || echo $STATUS"),
            format!("echo {call} $CLUSTER"),
            format!("cat > /x <<'EOF'\n{call} $1\nEOF\nbash /x demo"),
        ] {
            let text = format!("#!/bin/bash\n{text}\n");
            assert_eq!(found(&text), [""; 0], "{text}");
        }
        for first in [
            "#!/bin/bash -l",
            "#!/usr/bin/env CLUSTER=demo bash",
            "#!/usr/bin/python3",
        ] {
            let text = format!("{first}\n{call} $CLUSTER\n");
            assert_eq!(found(&text), [""; 0], "{text}");
        }
    }
}
