//! Quoting for POSIX shells.

/// The text as one word of a shell.
#[must_use]
pub fn quoted(text: &str) -> String {
    // Only a NUL byte is an error, and no argument can contain one.
    shlex::try_quote(text).unwrap_or_default().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_text_is_one_word() {
        for text in ["plain", "two words", "a'b; rm -rf /", "$(x) `y`", "", "*"] {
            assert_eq!(shlex::split(&quoted(text)), Some(vec![text.to_owned()]));
        }
    }
}
