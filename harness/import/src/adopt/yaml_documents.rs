//! The YAML documents of a text, of which nodeadm reads the first.

/// A document in its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct YamlDocument<'t> {
    pub(super) text: &'t str,
    /// The line of the whole text, from 1, where its content begins.
    pub(super) line: usize,
}

/// Splits a text at the marks `---` that end a document. Nothing is parsed: an error in a later document does not
/// concern nodeadm.
pub(super) fn documents(text: &str) -> Vec<YamlDocument<'_>> {
    let mut found = Vec::new();
    let (mut start, mut at, mut content) = (0, 0, None);
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let is_mark = line.trim_end() == "---" || line.starts_with("--- ");
        if let (true, Some(line)) = (is_mark, content) {
            let text = &text[start..at];
            found.push(YamlDocument { text, line });
            (start, content) = (at, None);
        }
        at += line.len();
        let begins = line.trim_start();
        let is_content = !is_mark && !begins.is_empty() && !begins.starts_with(['#', '%']);
        content = content.or(is_content.then_some(number));
    }
    if let Some(line) = content {
        let text = &text[start..];
        found.push(YamlDocument { text, line });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_end_at_their_marks() {
        let lines = |text: &str| {
            let found = documents(text).into_iter();
            found
                .map(|document| (document.line, document.text.to_owned()))
                .collect::<Vec<_>>()
        };
        let one = "# x\n---\na: 1\nb: |\n  ---\n";
        assert_eq!(lines(one), [(3, one.to_owned())]);
        let two = "a: 1\n---\n\nb: 2\n--- # c\n";
        assert_eq!(
            lines(two),
            [(1, "a: 1\n".to_owned()), (4, "---\n\nb: 2\n".to_owned())]
        );
        assert_eq!(lines("---\n# x\n"), []);
    }
}
