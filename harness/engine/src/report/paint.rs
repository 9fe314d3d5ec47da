//! Colours of a scenario's block. A stream without colours strips them.

use anstyle::{AnsiColor, Style};

/// The width of the outcome with its indentation.
const OUTCOME: std::ops::Range<usize> = 2..8;
/// The position of a label, and the width of the longest.
const LABEL: std::ops::Range<usize> = 8..18;

/// Colours the outcome of the first line, and the labels of the others.
pub(super) fn block(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(line).collect();
    lines.join("\n")
}

fn line(text: &str) -> String {
    let outcome = text.get(OUTCOME).unwrap_or_default();
    let label = text.get(LABEL).unwrap_or_default();
    if let Some(style) = style_of_outcome(outcome.trim()) {
        return styled(text, OUTCOME, style);
    }
    match style_of_label(label.trim()) {
        Some(style) => styled(text, LABEL, style),
        None => text.to_owned(),
    }
}

fn styled(text: &str, range: std::ops::Range<usize>, style: Style) -> String {
    let (before, part, after) = (&text[..range.start], &text[range.clone()], &text[range.end..]);
    format!("{before}{style}{part}{style:#}{after}")
}

fn style_of_outcome(word: &str) -> Option<Style> {
    let color = match word {
        "ok" => AnsiColor::Green,
        "FAIL" | "ERROR" => AnsiColor::Red,
        "skip" | "stop" => AnsiColor::Yellow,
        _ => return None,
    };
    Some(Style::new().bold().fg_color(Some(color.into())))
}

fn style_of_label(word: &str) -> Option<Style> {
    match word {
        "because" | "do" | "changed" => Some(Style::new().bold()),
        "note" => Some(Style::new().fg_color(Some(AnsiColor::Yellow.into()))),
        "seen" | "check" | "expected" | "got" | "again" | "scenario" | "evidence" | "kept" | "differs"
        | "with" => Some(Style::new().dimmed()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_and_labels_have_colours_and_the_text_stays() {
        let text = "  FAIL    1.0 s  a node\n        because   x\n        plain text";
        let painted = block(text);
        assert!(painted.contains("\u{1b}[31mFAIL"), "{painted:?}");
        assert_eq!(anstream::adapter::strip_str(&painted).to_string(), text);
        assert_eq!(
            block("        booted 1.0  metadata 1.2"),
            "        booted 1.0  metadata 1.2"
        );
    }
}
