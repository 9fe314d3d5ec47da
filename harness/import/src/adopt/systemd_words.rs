//! How systemd makes arguments of a text: the value of a variable that a script writes into a file, and the words of
//! the variable in `ExecStart=`.

/// Blanks between words.
const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

/// The words of a variable such as `$KUBELET_EXTRA_ARGS`. Quotes anywhere in a word keep its blanks and are removed,
/// and so is a backslash; a quote without its end keeps the rest together (systemd 252, src/basic/extract-word.c:
/// `EXTRACT_UNQUOTE`, `EXTRACT_RELAX`).
pub(super) fn words(value: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        let is_end = quote == Some(letter);
        match letter {
            '\\' => word.get_or_insert_with(String::new).extend(letters.next()),
            _ if is_end => quote = None,
            '"' | '\'' if quote.is_none() => {
                quote = Some(letter);
                word = Some(word.unwrap_or_default());
            }
            blank if quote.is_none() && BLANKS.contains(&blank) => words.extend(word.take()),
            letter => word.get_or_insert_with(String::new).push(letter),
        }
    }
    words.extend(word);
    words
}

/// The value of `NAME=VALUE` in an `EnvironmentFile=`, if it does not begin with a quote: a backslash is removed, and a
/// quote is not (src/basic/env-file.c).
pub(super) fn value_of_environment_file(value: &str) -> String {
    let mut read = String::new();
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => read.extend(letters.next()),
            letter => read.push(letter),
        }
    }
    read
}

/// What becomes of a value in a line `Environment='NAME=VALUE'` of a unit or a drop-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DropInValue {
    /// The variable has it.
    Whole(String),
    /// A quote of it ends the one of the line: the variable ends at the next blank, and systemd ignores the rest.
    Cut { value: String, rest: String },
    /// A quote of the line has no end, because of a line break or of a quote in the value: systemd ignores the line.
    Ignored,
}

/// What systemd 252 reads (`config_parse_environ`: `EXTRACT_CUNESCAPE`, `EXTRACT_UNQUOTE`).
pub(super) fn drop_in_value(value: &str) -> DropInValue {
    // A backslash continues a line.
    let text = format!("{}'", value.replace("\\\n", " "));
    let line = text.split('\n').next().unwrap_or_default();
    let mut read = String::new();
    let mut quote = Some('\'');
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let is_end = quote == Some(letter);
        match letter {
            '\\' => match letters.next() {
                Some(escaped @ ('\\' | '"' | '\'')) => read.push(escaped),
                // Letters such as `\n` stand for others.
                _ => return DropInValue::Whole(value.to_owned()),
            },
            _ if is_end => quote = None,
            '"' | '\'' if quote.is_none() => quote = Some(letter),
            blank if quote.is_none() && BLANKS.contains(&blank) => {
                let rest = words(letters.as_str()).join(" ");
                return DropInValue::Cut { value: read, rest };
            }
            letter => read.push(letter),
        }
    }
    match quote {
        Some(_) => DropInValue::Ignored,
        None => DropInValue::Whole(read),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_anywhere_in_a_word_are_removed() {
        for (value, expected) in [
            ("--a=b  --c\t--d\n", vec!["--a=b", "--c", "--d"]),
            ("--a=\"b\",c='d' x", vec!["--a=b,c=d", "x"]),
            ("--a=\"b c\" 'd \"e\"'", vec!["--a=b c", "d \"e\""]),
            ("'--a=b --c=d'", vec!["--a=b --c=d"]),
            ("--a=\\\"b\\\" c\\ d", vec!["--a=\"b\"", "c d"]),
            ("--a='b c", vec!["--a=b c"]),
            ("--a \"\"", vec!["--a", ""]),
            (" ", vec![]),
        ] {
            assert_eq!(words(value), expected, "{value}");
        }
    }

    #[test]
    fn a_file_of_variables_keeps_quotes() {
        assert_eq!(
            value_of_environment_file("--a=\"b\" \\\"c\\\\"),
            "--a=\"b\" \"c\\"
        );
    }

    #[test]
    fn single_quotes_and_line_breaks_end_the_line_of_a_drop_in() {
        let whole = |value: &str| DropInValue::Whole(value.to_owned());
        for (value, expected) in [
            ("--a=\"b\",\"c\" --d", whole("--a=\"b\",\"c\" --d")),
            ("--a=\\\"b\\\" --c", whole("--a=\"b\" --c")),
            ("--a='b','c'", whole("--a=b,c")),
            ("--a='b' --c=d", whole("--a=b --c=d")),
            ("--a=b \\\n  --c=d", whole("--a=b    --c=d")),
            ("--a=b\\tc", whole("--a=b\\tc")),
            ("", whole("")),
            ("--a=b\n--c=d", DropInValue::Ignored),
            ("\n  --a=b\n", DropInValue::Ignored),
            ("--a=b's", DropInValue::Ignored),
            ("'--a=b", DropInValue::Ignored),
        ] {
            assert_eq!(drop_in_value(value), expected, "{value}");
        }
        assert_eq!(
            drop_in_value("'--a=b --c=d --e'"),
            DropInValue::Cut {
                value: "--a=b".to_owned(),
                rest: "--c=d --e".to_owned()
            }
        );
    }
}
