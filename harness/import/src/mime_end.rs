//! The end of a MIME message with further signs behind it, such as `--B--\`, which is not the end.

use crate::mime::own_boundary;

/// Such a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MisspeltEnd<'t> {
    /// From 1.
    pub(crate) line: usize,
    /// The boundary of the message.
    pub(crate) own: &'t str,
}

/// That of a message without an end, which is its last line.
pub(crate) fn misspelt_end(text: &str) -> Option<MisspeltEnd<'_>> {
    let own = own_boundary(text)?;
    let end = format!("--{own}--");
    let lines = (1..).zip(text.lines().map(str::trim_end));
    if lines.clone().any(|(_, line)| line == end) {
        return None;
    }
    let (line, last) = lines.filter(|(_, line)| !line.is_empty()).last()?;
    last.starts_with(&end).then_some(MisspeltEnd { line, own })
}

/// The message with its end: what its author meant.
pub(crate) fn with_end(user_data: Vec<u8>) -> Vec<u8> {
    let text = String::from_utf8_lossy(&user_data);
    let Some(end) = misspelt_end(&text) else {
        return user_data;
    };
    let before = text.lines().take(end.line - 1);
    let mut meant: String = before.map(|line| format!("{line}\n")).collect();
    meant.push_str(&format!("--{}--\n", end.own));
    meant.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"==B==\"\n\n";

    #[test]
    fn signs_behind_the_end_are_found() {
        let message = |end: &str| format!("{HEADER}--==B==\nContent-Type: text/plain\n\nx\n{end}\n");
        let right = message("--==B==--");
        for end in ["--==B==--\\", "--==B==-- # end", "--==B==----", "--==B==--\\\r\n"] {
            let text = message(end);
            let found = misspelt_end(&text);
            assert_eq!(found.map(|end| (end.line, end.own)), Some((8, "==B==")), "{end}");
            assert_eq!(with_end(text.into_bytes()), right.as_bytes());
        }
        for end in [
            "--==B==--",
            "--==B==--  ",
            "--==B==",
            "",
            "--==B==--\nepilogue --==B==--\\",
        ] {
            let text = message(end);
            assert_eq!(misspelt_end(&text), None, "{end}");
            assert_eq!(with_end(text.clone().into_bytes()), text.as_bytes());
        }
        assert_eq!(misspelt_end("#!/bin/bash\n\n--==B==--\\\n"), None);
    }
}
