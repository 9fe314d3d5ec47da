//! Scripts, and what is known of them.

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
fn eval_runs_its_only_argument() {
    let inner = |text: &str| super::inner(&read(text).commands[0]).map(str::to_owned);
    assert_eq!(inner("eval \"a 'b c'\"\n").as_deref(), Some("a 'b c'"));
    assert_eq!(inner("timeout 9 bash -c 'a b'\n").as_deref(), Some("a b"));
    assert_eq!(inner("eval a b\n"), None);
}

#[test]
fn arrays_stand_for_their_words() {
    for (text, expected) in [
        (
            "A=(b 'c d' # e\n  \"$F\")\na \"${A[@]}\" ${A[@]}\n",
            vec![vec!["a", "b", "c d", "?", "b", "c d", "?"]],
        ),
        (
            "declare -a A=(b)\nA+=(c)\na \"${A[@]}\";\n",
            vec![vec!["a", "b", "c"]],
        ),
        ("A=()\na \"${A[@]}\" b\n", vec![vec!["a", "b"]]),
        (
            "A=(b)\nB=(\"${A[@]}\" c)\na \"${B[@]}\"\n",
            vec![vec!["a", "b", "c"]],
        ),
        // A part of another word, or of a text.
        ("A=(b c)\na x\"${A[@]}\" ${A[0]}\n", vec![vec!["a", "x?", "?"]]),
        // Only a run shows what these change.
        (
            "A=(b)\nif c; then A+=(d); fi\na \"${A[@]}\"\n",
            vec![vec!["c"], vec!["a", "?"]],
        ),
        (
            "A=(b)\nc && A+=(d)\na \"${A[@]}\"\n",
            vec![vec!["c"], vec!["a", "?"]],
        ),
        (
            "A=(b)\nread -ra A\na \"${A[@]}\"\n",
            vec![vec!["read", "-ra", "A"], vec!["a", "?"]],
        ),
        ("A=(b)\nA=c\na \"${A[@]}\"\n", vec![vec!["a", "?"]]),
        ("A=([1]=b)\na \"${A[@]}\"\n", vec![vec!["a", "?"]]),
        ("a \"${A[@]}\"\n", vec![vec!["a", "?"]]),
    ] {
        assert_eq!(words(text), expected, "{text}");
    }
}

#[test]
fn a_carriage_return_behind_a_backslash_continues_no_line() {
    let crlf = "#!/bin/sh\r\na \\\r\nb\r\n";
    assert_eq!(words(crlf), [vec!["a", "b"]]);
    let mixed = "#!/bin/sh\na \\\r\nb\r\n";
    assert_eq!(words(mixed), [vec!["a", "\r"], vec!["b"]]);
    assert_eq!(read(mixed).lines, ["#!/bin/sh", "a \\\r", "b"]);
}

#[test]
fn unfinished_text_ends() {
    for text in [
        "A=(b",
        "A=(b \"",
        "A=(b (c",
        "${A[@]",
        "\"${A[@]}",
        "a 'b",
        "a \"b",
        "a ${b",
        "a $(b",
        "a `b",
        "a \\",
        "a <<E\nb",
        "${",
        "$",
        "a >",
    ] {
        let _ = read(text);
    }
}

#[test]
fn commands_have_their_lines() {
    let script = read("#!/bin/sh\ncat >/x <<E\nx\nE\na \\\n  b\nc 'd\ne'; f\n\ng \\\n# h \\\ni");
    let commands = script.commands.iter();
    let lines: Vec<_> = commands
        .map(|command| (command.words[0].as_str(), command.first_line, command.last_line))
        .collect();
    assert_eq!(
        lines,
        [
            ("cat", 2, 2),
            ("a", 5, 6),
            ("c", 7, 8),
            ("f", 8, 8),
            ("g", 10, 11),
            ("i", 12, 12)
        ]
    );
}
