//! Texts in a script that its shell hands to a command.

/// A text in a script, up to the line with a word.
pub(crate) struct HereDocument {
    pub(crate) end: String,
    /// Whether the shell fills in variables: the word has no quotes where the text begins.
    pub(crate) is_filled: bool,
}

impl HereDocument {
    /// The here-document that begins on this line.
    pub(crate) fn begun(line: &str) -> Option<Self> {
        let (before, after) = line.split_once("<<")?;
        // `<<<` is a text, `((1 << 2))` a number, and a comment is neither.
        if after.starts_with('<') || before.contains("((") || line.trim_start().starts_with('#') {
            return None;
        }
        let quoted = after.trim_start_matches('-').trim_start();
        let word = quoted.trim_start_matches(['"', '\'', '\\']);
        let end: String = word
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        let is_filled = word.len() == quoted.len();
        (!end.is_empty()).then_some(Self { end, is_filled })
    }
}
