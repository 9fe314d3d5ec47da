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
        (
            "X=$(echo demo)\na $X \"$(printf '%s' x)\" `echo y` `echo r s` $(echo p q) \"$(echo p q)\" --f=$(echo z) $(echo $X)\n",
            vec![vec![
                "a", "demo", "x", "y", "r", "s", "p", "q", "p q", "--f=z", "?",
            ]],
        ),
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
    for text in [
        "sudo /bin/bash -ec 'a b' c\n",
        "su - root -c 'a b'\n",
        "su -c 'a b' root\n",
        "timeout 9 runuser -l root --command 'a b'\n",
    ] {
        assert_eq!(inner(text).as_deref(), Some("a b"), "{text}");
    }
    for text in [
        "bash x.sh -c d\n",
        "bash -x y\n",
        "tar -c d\n",
        "bash -c\n",
        "su - root\n",
    ] {
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
            vec![vec!["a", "b", "c d", "?", "b", "c", "d", "?"]],
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
fn an_array_that_only_a_run_shows_is_unknown() {
    let last = |text: &str| words(text).pop().unwrap();
    for text in [
        "f() { A+=(\"$@\"); }\nA=(b)\nf c\na \"${A[@]}\"\n",
        "f() {\n  A[1]=c\n}\nA=(b)\nf\na \"${A[@]}\"\n",
        "f() { local -n r=$1; shift; r+=(\"$@\"); }\nA=(b)\nf A c\na \"${A[@]}\"\n",
        "A=(b)\nf\na \"${A[@]}\"\nf() { A=(c); }\n",
        "A=(b)\ndeclare -n R=A\nR+=(c)\na \"${A[@]}\"\n",
        "A=(b)\nsource /etc/more.sh\na \"${A[@]}\"\n",
        "A=(b)\nexport $(cat /etc/more.env)\na \"${A[@]}\"\n",
        "A=(b)\n[ -f /x ] && . /x\na \"${A[@]}\"\n",
        "A=(b)\neval 'A+=(c)'\na \"${A[@]}\"\n",
        "A=(b)\nprintf -v A[1] c\na \"${A[@]}\"\n",
        "A=(b)\nA+=c\na \"${A[@]}\"\n",
        "A=(b)\n(A+=(c); d)\na \"${A[@]}\"\n",
        "c && A=(b) B=(c)\na \"${B[@]}\"\n",
    ] {
        // The function of one stands behind the call.
        let call = words(text).into_iter().rfind(|words| words[0] == "a").unwrap();
        assert_eq!(call, ["a", "?"], "{text}");
    }
    for text in [
        "f() { B+=(\"$@\"); }\nA=(b)\nf c\na \"${A[@]}\"\n",
        ". /etc/os-release\nA=(b)\na \"${A[@]}\"\n",
        "A=(b)\nprintf '%s' x\nlocal r=1\nfind . -name eval.sh\n(cd /x; d)\na \"${A[@]}\"\n",
        "case $X in x) d;; esac\nA=(b)\na \"${A[@]}\"\n",
    ] {
        assert_eq!(last(text), ["a", "b"], "{text}");
    }
}

#[test]
fn a_value_outside_of_quotes_is_split() {
    let last = |text: &str| words(text).pop().unwrap();
    for (text, expected) in [
        (
            "O='b c'\na $O \"$O\" ${O}\n",
            vec!["a", "b", "c", "b c", "b", "c"],
        ),
        ("O=' b\tc '\na x$O\n", vec!["a", "x", "b", "c"]),
        ("O='b c'\na x${O}y --f=$O\n", vec!["a", "xb", "cy", "--f=b", "c"]),
        (
            "O='b c'\nA=(x $O)\nA+=($O)\na \"${A[@]}\"\n",
            vec!["a", "x", "b", "c", "b", "c"],
        ),
        ("O='b c'\nP=$O\nexport Q=$P\na \"$Q\"\n", vec!["a", "b c"]),
        ("O=b\nO+=' c'\na $O\n", vec!["a", "b", "c"]),
        ("O=\"$X c\"\na $O\n", vec!["a", "?", "c"]),
        ("O=''\n$O a $O \"$O\" b\n", vec!["a", "", "b"]),
        // Quotes in a value are letters.
        ("O=\"a 'b c' \\\"d\\\"\"\n$O\n", vec!["a", "'b", "c'", "\"d\""]),
        ("O='b c'\neval $O\n", vec!["eval", "b c"]),
        ("a ${O:-b c}\n", vec!["a", "b", "c"]),
        // Only a run shows the words.
        ("O='b c'\nIFS=,\na $O\n", vec!["a", "?"]),
        ("O='b \\c d'\na $O\n", vec!["a", "?"]),
        ("f() { O=\"$O $1\"; }\nO='b c'\nf d\na $O\n", vec!["a", "?"]),
        ("f() { O+=\" $1\"; }\nO=''\nf d\na $O\n", vec!["a", "?"]),
        ("O=''\nread -r O\na $O\n", vec!["a", "?"]),
        ("O='b c'\nc || O='d e'\na $O\n", vec!["a", "?"]),
    ] {
        assert_eq!(last(text), expected, "{text}");
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
