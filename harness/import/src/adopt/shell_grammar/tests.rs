//! Scripts that `bash -n` rejects, and others.

use super::*;

fn fault(text: &str) -> Option<ShellFault> {
    outline(text).fault
}

#[test]
fn quotes_and_brackets_without_an_end_are_found() {
    for (text, line, mistake) in [
        ("a\nb 'c\nd\n", 2, ShellMistake::Quote('\'')),
        ("a 'b=O'Brien'\nc\n", 1, ShellMistake::Quote('\'')),
        ("a \"b\nc $(d 'e')\n", 1, ShellMistake::Quote('"')),
        ("a `b\nc\n", 1, ShellMistake::Quote('`')),
        ("a $'b\\'\n", 1, ShellMistake::Quote('\'')),
        ("a\nb $(c\nd\n", 2, ShellMistake::Bracket("$(")),
        ("a \"$(b \"c)\"\n", 1, ShellMistake::Bracket("$(")),
        ("a ${b)\nc\n", 1, ShellMistake::Bracket("${")),
        ("(a\nb\n", 1, ShellMistake::Bracket("(")),
        (
            "# it's\ncat <<'EOF'\nit's\nEOF\na \"\n",
            5,
            ShellMistake::Quote('"'),
        ),
    ] {
        assert_eq!(fault(text), Some(ShellFault { line, mistake }), "{text}");
    }
}

#[test]
fn commands_without_their_last_word_are_found() {
    let open = |word, closer| ShellMistake::Open { word, closer };
    for (text, line, mistake) in [
        ("a\nif b; then\nc\n", 2, open("if", "fi")),
        ("for a in b c; do\nd\n", 1, open("for", "done")),
        ("f() {\na\n", 1, open("{", "}")),
        ("case $a in\nb) c ;;\n", 1, open("case", "esac")),
        (
            "while a | b; do c; done <d\nuntil e\ndo f\n",
            2,
            open("until", "done"),
        ),
        (
            "for a in b; do\nif c; then\nd\ndone\n",
            2,
            ShellMistake::Crossed {
                word: "if",
                closer: "fi",
                other: "done",
                line: 4,
            },
        ),
        ("if a; then b; fi\nfi\n", 2, ShellMistake::Stray("fi")),
    ] {
        assert_eq!(fault(text), Some(ShellFault { line, mistake }), "{text}");
    }
}

#[test]
fn here_documents_without_an_end_are_found() {
    let document = |is_in_command| ShellMistake::Document {
        end: "EOF".to_owned(),
        is_in_command,
    };
    for (text, line, is_in_command) in [
        ("a\ncat <<EOF\nb\n  EOF\nc\n", 2, false),
        ("cat <<-EOF\nb\n    EOF\n", 1, false),
        ("f() {\ncat <<\"EOF\"\nb\n}\n", 2, true),
        ("cat <<EOF", 1, false),
    ] {
        let mistake = document(is_in_command);
        assert_eq!(fault(text), Some(ShellFault { line, mistake }), "{text}");
    }
}

#[test]
fn signs_of_html_are_found_outside_of_quotes() {
    let html = ShellMistake::Html {
        written: "&amp;",
        name: "amp",
        meant: '&',
    };
    let found = ShellFault {
        line: 2,
        mistake: html,
    };
    assert_eq!(fault("a\nb &amp;&amp; c\n"), Some(found));
    for text in [
        "a '&lt;' \"b&amp;c\" # &gt;\n",
        "cat <<EOF\n&lt;a&gt;\nEOF\n",
        "a &amp\n",
        "a & b; c && d\n",
    ] {
        assert_eq!(fault(text), None, "{text}");
    }
}

#[test]
fn scripts_that_bash_reads_have_no_fault() {
    for text in [
        "a 'b'\\''c' \"d 'e' \\\" $(f \"g\" ')') `h \"i`\" j\n",
        "a ${b:-'c}'} \"${d:-\"e\"}\" ${#f} $# $((1 << 2)) $'g\\'h' $\"i\"\n",
        "case \"$a\" in\n  b|c) d ;;\n  (e) f ;&\n  *)\n    if g; then h; fi\n    ;;\nesac\n",
        "if [[ $a =~ ^(b|c)$ && ( $d < e ) ]]\nthen f; elif ! g; then h; else i; fi\n",
        "for a; do b; done\nfor ((i=0; i<3; i++)); do c; done\nfor d\nin e f\ndo g; done\n",
        "f() { a; }\nfunction g { b; }\nfunction h() (\n  c\n)\n",
        "a=(b 'c d' # e\n  f)\ng+=(h)\nlocal i=(j)\n",
        "cat <<EOF >a && b <<-'X Y'\n$(c '\nEOF\n\t'd\n\tX Y\n",
        "a | while read -r b; do c \"$b\"; done < <(d) 2>&1 &>e\n",
        "{ a; } || { b; c; } && (d) & wait\n",
        "find . -exec a {} \\; -o -name '*' | xargs -I{} b {}\n",
        "f() {\n  a\n}\\\n\nb\n",
        "time -p a\ntime { b; }\n! { c; }\n",
        "a if then fi done } { esac\n",
        "a \\\n  # b '\nc #d '\ne#f\n",
        "exit 0\nthis 'is not read\n",
        "exec /a \"$@\"\n'\n",
    ] {
        assert_eq!(fault(text), None, "{text}");
    }
}

/// Behind them, what looks like a mistake may be none.
#[test]
fn nothing_is_found_behind_what_is_not_certain() {
    for text in [
        "a @(b|c)\n'\n",
        "a \"${b#'}'}\" '\n",
        "coproc A { b; }\n'\n",
        "a $[1 + 2] '\n",
        "a $((b) | (c); d) '\n",
        "x=$(cat <<EOF\nb\n)\n'\n",
        "a <<$(b)\n'\n",
        "%{ if a }\nb )\n'\n",
    ] {
        assert_eq!(fault(text), None, "{text}");
    }
    for deep in ["$(a ", "a=(", "\"${a:-", "(", "((", "<(a ", "\"$("] {
        assert_eq!(fault(&deep.repeat(100_000)), None, "{deep}");
    }
}

#[test]
fn an_exit_or_restart_in_any_case_is_found() {
    let of = |text: &str| {
        let outline = outline(text);
        (outline.exit, outline.restart)
    };
    assert_eq!(of("a\nexit 0\nb\n"), (Some(2), None));
    let restart = |line, text: &str| (None, Some((line, text.to_owned())));
    assert_eq!(of("a; sudo b\nreboot\nc\n"), restart(2, "reboot"));
    assert_eq!(of("/sbin/shutdown -r now\n"), restart(1, "/sbin/shutdown -r now"));
    assert_eq!(of("systemctl reboot\n"), restart(1, "systemctl reboot"));
    for text in [
        "a || exit 1\n",
        "a &&\n  exit\n",
        "if a; then exit 1; reboot; fi\n",
        "f() { exit 1; }\n",
        "(exit 1)\n",
        "a | reboot\n",
        "trap 'exit 1' EXIT\n",
        "cat <<EOF\nexit 0\nreboot\nEOF\n",
        "exec > >(tee /a) 2>&1\nshutdown -r +5\nreboot --help\n",
    ] {
        assert_eq!(of(text), (None, None), "{text}");
    }
}
