//! Breaks the lines of a scenario's block between words at the width of a terminal, which breaks them within words.

/// Column of the text after a label.
const TEXT: usize = 18;
/// Column of the phases.
const PHASES: usize = 8;
/// Labels of lines that a person copies: a line break would be copied too.
const COPIED: [&str; 5] = ["again", "enter", "evidence", "kept", "scenario"];

/// The block for a terminal of this width; unchanged without one.
pub(super) fn block(text: &str, width: Option<usize>) -> String {
    // A line of a narrow terminal would have one word.
    let Some(width) = width.filter(|width| *width >= TEXT * 2) else {
        return text.to_owned();
    };
    let lines: Vec<String> = text.lines().map(|line| wrapped(line, width)).collect();
    lines.join("\n")
}

fn wrapped(line: &str, width: usize) -> String {
    let Some(column) = column_of(line).filter(|_| line.chars().count() > width) else {
        return line.to_owned();
    };
    let (head, mut rest) = line.split_at(column);
    let mut text = head.to_owned();
    loop {
        let (first, more) = split(rest, width - column);
        text.push_str(first);
        if more.is_empty() {
            return text;
        }
        text.push('\n');
        text.push_str(&" ".repeat(column));
        rest = more;
    }
}

/// The column at which a line continues below itself; `None` for lines that stay.
fn column_of(line: &str) -> Option<usize> {
    let label = line.get(PHASES..TEXT)?.trim();
    if COPIED.contains(&label) {
        return None;
    }
    let is_labelled = line.as_bytes().get(TEXT - 1) == Some(&b' ');
    let has_label = is_labelled && !label.contains(' ') && !line.starts_with("          ");
    let is_below = line.starts_with(&" ".repeat(TEXT));
    let is_header = line.starts_with("  ") && !line.starts_with("   ") && is_labelled;
    match has_label || is_below || is_header {
        true => Some(TEXT),
        false if line.starts_with("        ") => Some(PHASES),
        false => None,
    }
    .filter(|column| line.is_char_boundary(*column))
}

/// The words that fit, and the rest. A word that is too long stays whole.
fn split(text: &str, width: usize) -> (&str, &str) {
    let end = text.char_indices().nth(width).map_or(text.len(), |(at, _)| at);
    if end == text.len() {
        return (text, "");
    }
    let fits = text[..end].rfind(' ').filter(|_| !text[end..].starts_with(' '));
    let at = match text[end..].starts_with(' ') {
        true => Some(end),
        false => fits.or_else(|| text[end..].find(' ').map(|more| end + more)),
    };
    match at {
        Some(at) => (text[..at].trim_end(), text[at..].trim_start()),
        None => (text, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_below_their_text() {
        let text = "  FAIL    12.4 s  a node joins with the script (label-refused)
        booted 0.8  metadata 1.1  described 3.3  configured 6.7
        because   the kubelet refuses the label and exits
        do        remove-it-from-the-very-long-argument-list now
                  or set a second line that is too long as well
        again     nodejoin run scenarios/with/a/long/path.yaml -v";
        let expected = "  FAIL    12.4 s  a node joins with the
                  script (label-refused)
        booted 0.8  metadata 1.1
        described 3.3  configured 6.7
        because   the kubelet refuses
                  the label and exits
        do        remove-it-from-the-very-long-argument-list
                  now
                  or set a second line
                  that is too long as
                  well
        again     nodejoin run scenarios/with/a/long/path.yaml -v";
        assert_eq!(block(text, Some(40)), expected);
        assert_eq!(block(text, None), text);
        assert_eq!(block(text, Some(10)), text);
        assert_eq!(block(text, Some(200)), text);
    }

    #[test]
    fn no_text_is_lost() {
        let text = "        because   \u{fc}\u{fc} \u{1f600} x  y\n  ok       1.0 s  \u{fc}\u{fc}\u{fc} a b c d e f g h\n\n x";
        for width in 36..60 {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&block(text, Some(width))), words(text), "{width}");
        }
    }
}
