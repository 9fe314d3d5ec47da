//! Command substitutions that print a text which the script states: `$(echo WORD)` and `$(printf WORD)`.

use super::{Reader, UNKNOWN};

/// Formats of `printf` that print their argument. A shell removes the line break at the end.
const FORMATS: [&str; 2] = ["%s", "%s\\n"];

impl Reader {
    /// Adds what the commands print that begin at a place and end before the last character that was read.
    pub(super) fn substituted(&self, start: usize, word: &mut String) {
        let end = self.at.saturating_sub(1).max(start);
        let commands: String = self.rest[start..end].iter().collect();
        match printed(&commands) {
            Some(text) => word.push_str(&text),
            None => word.push(UNKNOWN),
        }
    }
}

/// What the commands of a substitution print, if a run is not needed to tell.
fn printed(commands: &str) -> Option<String> {
    let words = words(commands.trim())?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let text = match words[..] {
        ["echo", "-n", ref rest @ ..] | ["echo", ref rest @ ..] => rest.join(" "),
        ["printf", format, text] if FORMATS.contains(&format) => text.to_owned(),
        ["printf", text] if !text.contains('%') => text.to_owned(),
        _ => return None,
    };
    // An option, or a sign that the command replaces.
    let is_plain = !text.is_empty() && !text.starts_with('-') && !text.contains('\\');
    is_plain.then_some(text)
}

/// The words of a simple command without variables, redirections and patterns. Two commands are none.
fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' => words.extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        end if end == letter => break,
                        '$' | '`' if letter == '"' => return None,
                        inner => word.push(inner),
                    }
                }
            }
            letter if is_literal(letter) => word.get_or_insert_default().push(letter),
            _ => return None,
        }
    }
    words.extend(word);
    Some(words)
}

/// Whether a shell takes a letter outside of quotes as it is.
fn is_literal(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-_./:=,@+%".contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_text_is_known_if_the_command_states_it() {
        for command in [
            "echo demo",
            " echo -n 'demo' ",
            "echo \"demo\"",
            "printf demo",
            "printf '%s' demo",
            "printf \"%s\\n\" 'demo'",
        ] {
            assert_eq!(printed(command).as_deref(), Some("demo"), "{command}");
        }
        assert_eq!(
            printed("echo a=b 'c  d'").as_deref(),
            Some("a=b c  d"),
            "echo joins its words"
        );
        for command in [
            "echo $NAME",
            "echo \"$NAME\"",
            "echo `name`",
            "echo demo | tr a b",
            "echo demo; name",
            "echo demo\necho x",
            "echo *",
            "echo ~",
            "echo {a,b}",
            "echo -e demo",
            "echo 'a\\nb'",
            "echo \"a\\\"b\"",
            "echo",
            "echo demo > /x",
            "printf '%d' 1",
            "printf '%s' a b",
            "printf 50%",
            "cat demo",
            "(1+2)",
        ] {
            assert_eq!(printed(command), None, "{command}");
        }
    }
}
