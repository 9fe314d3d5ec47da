//! Finds out whether Go's net/mail and mime/multipart, which nodeadm uses, read a MIME message. They are stricter than
//! the email package of Python, which cloud-init uses.
//!
//! | what Go does not read | nodeadm |
//! | --- | --- |
//! | the header of the message, such as a boundary `//` without quotes | takes the whole text for a NodeConfig |
//! | a part without an end, or one whose header has none | rejects all user data |

/// Why Go does not read a message, and the line from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unread {
    pub(crate) line: usize,
    pub(crate) why: UnreadReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnreadReason {
    /// The line belongs to no header, and the empty line before it is missing. `true`: in the message's own.
    NoEmptyLine(bool),
    /// The type of the message is not written as in RFC 2045, such as a boundary without quotes.
    Type,
    /// That of a part.
    PartType,
    /// No boundary ends the last part.
    NoEnd,
    /// Text between a boundary and the next one that belongs to no part.
    Between,
}

/// Why Go does not read a text that is a message of several parts. `None`: it does, or the text is no such message.
pub(crate) fn unread(text: &str) -> Option<Unread> {
    let mut reader = GoReader {
        lines: text.split_inclusive('\n').collect(),
        at: 0,
    };
    let header = reader.header();
    let (value, line) = header.content_type?;
    if !value.to_ascii_lowercase().starts_with("multipart/") {
        return None;
    }
    match header.end {
        HeaderEnd::EmptyLine => {}
        HeaderEnd::EndOfText => return None,
        HeaderEnd::OtherLine(line) => {
            let why = UnreadReason::NoEmptyLine(true);
            return Some(Unread { line, why });
        }
    }
    let Some((kind, boundary)) = media_type(value.as_str()) else {
        let why = UnreadReason::Type;
        return Some(Unread { line, why });
    };
    let boundary = boundary.filter(|boundary| kind.starts_with("multipart/") && !boundary.is_empty())?;
    reader.parts(&format!("--{boundary}")).err()
}

struct GoReader<'t> {
    /// With their ends.
    lines: Vec<&'t str>,
    at: usize,
}

/// The header of a message or of a part.
struct Header {
    /// Value and line of the type.
    content_type: Option<(String, usize)>,
    end: HeaderEnd,
}

enum HeaderEnd {
    EmptyLine,
    /// A line that is not of a header.
    OtherLine(usize),
    EndOfText,
}

impl<'t> GoReader<'t> {
    fn next(&mut self) -> Option<&'t str> {
        let line = self.lines.get(self.at).copied()?;
        self.at += 1;
        Some(line)
    }

    /// Reads a header and the empty line behind it.
    fn header(&mut self) -> Header {
        let mut content_type = None;
        while let Some(line) = self.next() {
            if line.trim().is_empty() {
                let end = HeaderEnd::EmptyLine;
                return Header { content_type, end };
            }
            let number = self.at;
            let is_name = |c: char| c == ' ' || is_token(c);
            let pair = line.trim_end().split_once(':');
            let Some((name, value)) =
                pair.filter(|(name, _)| !line.starts_with([' ', '\t']) && name.chars().all(is_name))
            else {
                let end = HeaderEnd::OtherLine(number);
                return Header { content_type, end };
            };
            let mut value = value.trim().to_owned();
            while let Some(more) = self
                .lines
                .get(self.at)
                .filter(|line| line.starts_with([' ', '\t']))
            {
                value.push(' ');
                value.push_str(more.trim());
                self.at += 1;
            }
            if name.eq_ignore_ascii_case("content-type") {
                content_type.get_or_insert((value, number));
            }
        }
        let end = HeaderEnd::EndOfText;
        Header { content_type, end }
    }

    fn parts(&mut self, dashes: &str) -> Result<(), Unread> {
        let mut line_end = "\r\n";
        let mut is_first = true;
        while self.find_next(dashes, &mut line_end, is_first)? {
            is_first = false;
            let header = self.header();
            match header.end {
                HeaderEnd::EmptyLine => {}
                // A boundary at the end of the text begins no further part.
                HeaderEnd::EndOfText => return Ok(()),
                HeaderEnd::OtherLine(line) => {
                    let why = UnreadReason::NoEmptyLine(false);
                    return Err(Unread { line, why });
                }
            }
            self.content(dashes, line_end)?;
            if let Some((value, line)) = header.content_type {
                let why = UnreadReason::PartType;
                media_type(&value).ok_or(Unread { line, why })?;
            }
        }
        Ok(())
    }

    /// Moves to the boundary that ends a part.
    fn content(&mut self, dashes: &str, line_end: &str) -> Result<(), Unread> {
        let mut is_behind_a_line = true;
        while let Some(line) = self.lines.get(self.at) {
            if is_behind_a_line && is_boundary(line, dashes) {
                return Ok(());
            }
            is_behind_a_line = line.ends_with(line_end);
            self.at += 1;
        }
        Err(Unread {
            line: self.lines.len(),
            why: UnreadReason::NoEnd,
        })
    }

    /// Moves behind the next boundary. Whether a part follows it.
    fn find_next(
        &mut self,
        dashes: &str,
        line_end: &mut &'static str,
        is_first: bool,
    ) -> Result<bool, Unread> {
        let mut is_expected = false;
        while let Some(line) = self.next() {
            if let Some(rest) = line.strip_prefix(dashes) {
                let after_end = rest
                    .strip_prefix("--")
                    .map(|rest| rest.trim_start_matches([' ', '\t']));
                if after_end.is_some_and(|rest| rest.is_empty() || rest == *line_end) {
                    return Ok(false);
                }
                let rest = rest.trim_start_matches([' ', '\t']);
                // The first boundary shows how lines end.
                if is_first && rest == "\n" {
                    *line_end = "\n";
                }
                if rest == *line_end {
                    return Ok(true);
                }
            }
            if is_first {
                continue;
            }
            if is_expected || line != *line_end {
                return Err(Unread {
                    line: self.at,
                    why: UnreadReason::Between,
                });
            }
            is_expected = true;
        }
        Err(Unread {
            line: self.lines.len(),
            why: UnreadReason::NoEnd,
        })
    }
}

fn is_boundary(line: &str, dashes: &str) -> bool {
    line.strip_prefix(dashes).is_some_and(|rest| {
        rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']) || rest.starts_with("--")
    })
}

/// The type in lower case, and its boundary; `None` if Go does not read the value.
fn media_type(value: &str) -> Option<(String, Option<String>)> {
    let (kind, mut rest) = match value.find(';') {
        Some(at) => value.split_at(at),
        None => (value, ""),
    };
    let kind = kind.trim();
    let mut words = kind.splitn(2, '/');
    let is_word = |word: &str| !word.is_empty() && word.chars().all(is_token);
    if !words.all(is_word) {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    let mut boundary = None;
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return Some((kind.to_ascii_lowercase(), boundary));
        }
        rest = rest.strip_prefix(';')?.trim_start();
        if rest.is_empty() {
            continue;
        }
        let (name, after) = token(rest)?;
        let (value, after) = parameter_value(after.trim_start().strip_prefix('=')?.trim_start())?;
        let name = name.to_ascii_lowercase();
        if names.contains(&name) {
            return None;
        }
        if name == "boundary" {
            boundary = Some(value);
        }
        names.push(name);
        rest = after;
    }
}

fn parameter_value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        return token(text).map(|(value, rest)| (value.to_owned(), rest));
    };
    let mut value = String::new();
    let mut signs = quoted.char_indices();
    while let Some((at, sign)) = signs.next() {
        match sign {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => value.push(signs.next()?.1),
            '\r' | '\n' => return None,
            sign => value.push(sign),
        }
    }
    None
}

/// The word at the beginning of a text, and the rest.
fn token(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !is_token(c)).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+.^_`|~-".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &str = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\n\
                           Content-Type: application/node.eks.aws\n\nkind: NodeConfig\n\n--//--\n";

    #[test]
    fn go_reads_messages_of_known_tools() {
        for text in [
            MESSAGE.to_owned(),
            MESSAGE.replace('\n', "\r\n"),
            MESSAGE.replace("MIME-Version: 1.0\n", ""),
            MESSAGE.replace("--//--\n", "--//--"),
            MESSAGE.replace("--//--\n", "--//\n"),
            MESSAGE.replace("\"//\"", "\"//\"; charset=utf-8;"),
            MESSAGE.replace("mixed; ", "mixed;\n "),
            MESSAGE.replace("\n\n--//\n", "\n\npreamble\n--// \n"),
            MESSAGE.replace("//", "B").replace("\"B\"", "B"),
            MESSAGE.replace(
                "--//--",
                "--//\nContent-Type: text/plain; charset=\"us-ascii\"\n\nx\n--//--\nrest",
            ),
            MESSAGE.replace(
                "\nkind",
                "Content-Transfer-Encoding: 7bit\nMime-Version: 1.0\n\nkind",
            ),
            "#!/bin/bash\necho\n".to_owned(),
            "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n\nspec: {}\n".to_owned(),
        ] {
            assert_eq!(unread(&text), None, "{text}");
        }
    }

    #[test]
    fn go_does_not_read_what_python_reads() {
        for (text, line, why) in [
            (MESSAGE.replace("\"//\"", "//"), 2, UnreadReason::Type),
            (
                MESSAGE.replace("\"//\"", "==B==").replace("--//", "--==B=="),
                2,
                UnreadReason::Type,
            ),
            (
                MESSAGE.replacen("\n\n", "\n", 1),
                3,
                UnreadReason::NoEmptyLine(true),
            ),
            (
                MESSAGE.replace("aws\n\nkind", "aws\n---\nkind"),
                6,
                UnreadReason::NoEmptyLine(false),
            ),
            (MESSAGE.replace("--//--\n", ""), 8, UnreadReason::NoEnd),
            (
                MESSAGE.replace("aws\n\n", "aws; charset=a/b\n\n"),
                5,
                UnreadReason::PartType,
            ),
        ] {
            assert_eq!(unread(&text), Some(Unread { line, why }), "{text}");
        }
    }
}
