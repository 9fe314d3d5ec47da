//! The rows below the first line of a scenario.

use std::fmt::Write;

/// Indentation of the details of a scenario.
const INDENT: &str = "        ";

/// Appends a labelled value, of which each line is indented.
pub(super) fn line(text: &mut String, label: &str, value: &str) {
    let mut rest = value.lines();
    push(text, &format!("{label:<10}{}", rest.next().unwrap_or_default()));
    for more in rest {
        push(text, &format!("{:<10}{more}", ""));
    }
}

/// Appends an indented line.
pub(super) fn push(text: &mut String, value: &str) {
    // Writing to a String cannot fail.
    let _ = write!(text, "\n{INDENT}{value}");
}
