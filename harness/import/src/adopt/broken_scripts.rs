//! Scripts with an error at which their shell ends.

use super::shell_grammar::{ShellFault, ShellMistake, outline};
use super::shell_scripts::shell_scripts;
use crate::source_lines::SourceLines;

/// What a message calls a script whose line it cannot find in the user data.
const SCRIPT: &str = "the script";
/// A shell reads one command after the other: those before the error have run.
const NOT_RUN: &str = "neither the command that contains it nor what follows runs";

/// A sentence for each script with such an error.
pub(super) fn notes(user_data: &[u8], lines: &SourceLines<'_>) -> Vec<String> {
    let scripts = shell_scripts(user_data).into_iter();
    let notes = scripts.filter_map(|text| {
        let fault = outline(&text).fault?;
        Some(note(&text, &fault, lines))
    });
    notes.collect()
}

fn note(text: &str, fault: &ShellFault, lines: &SourceLines<'_>) -> String {
    let place = |number: usize| lines.place(text, number, SCRIPT);
    let at = place(fault.line);
    match &fault.mistake {
        ShellMistake::Quote(quote) => {
            let name = match quote {
                '\'' => "single quote",
                '"' => "double quote",
                _ => "backquote",
            };
            format!(
                "the {name} in {at} has no end: the shell stops with a syntax error, and {NOT_RUN}; if this quote is right, one before it \
                 has no end"
            )
        }
        ShellMistake::Bracket(bracket) => {
            format!("`{bracket}` in {at} has no end: the shell stops with a syntax error, and {NOT_RUN}")
        }
        ShellMistake::Open { word, closer } => format!(
            "`{word}` in {at} has no `{closer}`: the shell stops with a syntax error at the end of the script, and {NOT_RUN}"
        ),
        ShellMistake::Crossed {
            word,
            closer,
            other,
            line,
        } => {
            let end = place(*line);
            format!(
                "`{word}` in {at} has no `{closer}` before `{other}` in {end}: the shell stops there with a syntax error, and {NOT_RUN}"
            )
        }
        ShellMistake::Stray(word) => {
            format!(
                "`{word}` in {at} closes nothing: the shell stops there with a syntax error, and what follows does not run"
            )
        }
        ShellMistake::Document { end, is_in_command } => {
            let effect = match is_in_command {
                true => format!("its text contains the end of the command around it, and {NOT_RUN}"),
                false => "all that follows is its text, and no command of it runs".to_owned(),
            };
            let meant = meant_end(text, fault.line, end);
            let meant = meant.map(|number| format!("; in {} it has blanks beside it", place(number)));
            let meant = meant.unwrap_or_default();
            format!("the here-document that begins in {at} has no line with `{end}` alone{meant}: {effect}")
        }
        ShellMistake::Html { written, name, meant } => format!(
            "`{written}` in {at} is `{meant}` as HTML writes it: the shell reads the end of a command and a command `{name}`; write \
             `{meant}`"
        ),
    }
}

/// The line that ends a here-document but for blanks.
fn meant_end(text: &str, begin: usize, end: &str) -> Option<usize> {
    let mut behind = (1..).zip(text.lines()).skip(begin);
    behind
        .find(|(_, line)| line.trim() == end)
        .map(|(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes_of(script: &str) -> Vec<String> {
        notes(
            format!("#!/bin/bash\n{script}").as_bytes(),
            &SourceLines::default(),
        )
    }

    #[test]
    fn an_error_is_named_with_its_line() {
        const CALL: &str = "/etc/eks/bootstrap.sh demo --kubelet-extra-args";
        for (script, expected) in [
            (
                format!("{CALL} '--node-labels=owner=O'Brien'\n"),
                "the single quote in line 2 of the script has no end: the shell stops with a syntax error, and neither the command that \
                 contains it nor what follows runs; if this quote is right, one before it has no end",
            ),
            (
                format!("if true; then\n{CALL} a\n"),
                "`if` in line 2 of the script has no `fi`: the shell stops with a syntax error at the end of the script, and neither the \
                 command that contains it nor what follows runs",
            ),
            (
                format!("for a in b; do\nif c; then\n{CALL} a\ndone\n"),
                "`if` in line 3 of the script has no `fi` before `done` in line 5 of the script: the shell stops there with a syntax \
                 error, and neither the command that contains it nor what follows runs",
            ),
            (
                format!("cat <<EOF >/a\nb\n  EOF\n{CALL} a\n"),
                "the here-document that begins in line 2 of the script has no line with `EOF` alone; in line 4 of the script it has \
                 blanks beside it: all that follows is its text, and no command of it runs",
            ),
            (
                format!("{CALL} '--v=2' &amp;&amp; echo\n"),
                "`&amp;` in line 2 of the script is `&` as HTML writes it: the shell reads the end of a command and a command `amp`; \
                 write `&`",
            ),
        ] {
            assert_eq!(notes_of(&script), [expected], "{script}");
        }
    }

    #[test]
    fn scripts_for_other_programs_and_right_ones_have_no_note() {
        assert_eq!(notes_of("echo \"it's\"\nif a; then b; fi\n"), [""; 0]);
        let python = "#!/usr/bin/python3\nprint(\"it's\")\nif a: b()\n";
        assert_eq!(notes(python.as_bytes(), &SourceLines::default()), [""; 0]);
    }
}
