//! Splits a Rust source into code, comments and strings, and knows which lines are tests.

use std::ops::Range;

/// A comment or a string of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// Its text without quotes or slashes, on one line.
    pub text: String,
}

/// A Rust source in parts.
#[derive(Debug, Default)]
pub struct Rust {
    /// The source without comments and without what stands in strings; lines keep their numbers.
    pub code: String,
    /// Blocks of consecutive comments.
    pub comments: Vec<Text>,
    /// Literals of strings.
    pub strings: Vec<Text>,
    /// Line ranges of items under `#[cfg(test)]`; all of a file of tests.
    tests: Vec<Range<usize>>,
}

impl Rust {
    /// Splits a source. `path` tells files of tests from product code.
    #[must_use]
    pub fn of(path: &str, source: &str) -> Self {
        let mut rust = Lexer::new(source).run();
        rust.tests = if is_test_file(path) {
            std::iter::once(0..usize::MAX).collect()
        } else {
            test_items(&rust.code)
        };
        rust
    }

    /// Whether a line belongs to a test.
    #[must_use]
    pub fn is_test(&self, line: usize) -> bool {
        self.tests.iter().any(|range| range.contains(&line))
    }

    /// The lines of product code, with their numbers.
    pub fn product(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = (1..).zip(self.code.lines());
        lines.filter(|(number, _)| !self.is_test(*number))
    }
}

fn is_test_file(path: &str) -> bool {
    let folders = path.split('/').any(|part| part == "tests" || part == "benches");
    folders
        || path.ends_with("/tests.rs")
        || path.ends_with("/testing.rs")
        || path.starts_with("harness/checks/")
}

/// The line ranges of items under `#[cfg(test)]`.
fn test_items(code: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut from = 0;
    while let Some(found) = code[from..].find("#[cfg(test)]") {
        let start = from + found;
        let end = start + item_length(&code[start + "#[cfg(test)]".len()..]) + "#[cfg(test)]".len();
        ranges.push(line_of(code, start)..line_of(code, end) + 1);
        from = end;
    }
    ranges
}

/// The length of the item at the start of the code: up to its `;` or its closing brace.
fn item_length(code: &str) -> usize {
    let (mut depth, mut brackets) = (0_usize, 0_usize);
    for (index, c) in code.char_indices() {
        match c {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets = brackets.saturating_sub(1),
            '{' => depth += 1,
            '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return index;
                }
            }
            ';' if depth == 0 && brackets == 0 => return index,
            _ => {}
        }
    }
    code.len()
}

fn line_of(text: &str, index: usize) -> usize {
    text[..index].matches('\n').count() + 1
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    rust: Rust,
    /// The line on which the last comment ended, if nothing but space came after it.
    comment_end: Option<usize>,
}

impl<'a> Lexer<'a> {
    fn new(source: &'a str) -> Self {
        Self {
            rest: source,
            line: 1,
            rust: Rust::default(),
            comment_end: None,
        }
    }

    fn run(mut self) -> Rust {
        while let Some(c) = self.rest.chars().next() {
            if self.rest.starts_with("//") {
                self.line_comment();
            } else if self.rest.starts_with("/*") {
                self.block_comment();
            } else if let Some((prefix, hashes)) = self.raw_string() {
                self.string(prefix, &format!("\"{}", "#".repeat(hashes)), false);
            } else if c == '"' {
                self.string(1, "\"", true);
            } else if c == '\'' {
                self.quote();
            } else {
                self.code(c);
            }
        }
        self.rust
    }

    /// Keeps one character as code.
    fn code(&mut self, c: char) {
        if !c.is_whitespace() {
            self.comment_end = None;
        }
        self.keep(c.len_utf8());
    }

    /// Keeps this many bytes as code.
    fn keep(&mut self, length: usize) {
        let kept = self.cut(length);
        self.rust.code.push_str(kept);
    }

    /// Removes this many bytes from the rest, and counts their lines.
    fn cut(&mut self, length: usize) -> &'a str {
        let (cut, rest) = self.rest.split_at(length);
        self.line += cut.matches('\n').count();
        self.rest = rest;
        cut
    }

    fn line_comment(&mut self) {
        let line = self.line;
        let length = self.rest.find('\n').unwrap_or(self.rest.len());
        let text = self
            .cut(length)
            .trim_start_matches('/')
            .trim_start_matches('!')
            .trim();
        match (self.comment_end, self.rust.comments.last_mut()) {
            (Some(end), Some(last)) if end + 1 == line => {
                last.text.push(' ');
                last.text.push_str(text);
            }
            _ => self.rust.comments.push(Text {
                line,
                text: text.to_owned(),
            }),
        }
        self.comment_end = Some(line);
    }

    fn block_comment(&mut self) {
        let line = self.line;
        let length = self.rest.find("*/").map_or(self.rest.len(), |end| end + 2);
        let comment = self.cut(length);
        self.rust.code.extend(comment.matches('\n'));
        self.rust.comments.push(Text {
            line,
            text: one_line(comment.trim_matches(['/', '*'])),
        });
    }

    /// The length of a raw string's opening and its number of hashes.
    fn raw_string(&self) -> Option<(usize, usize)> {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        if self.rust.code.ends_with(is_word) {
            return None;
        }
        let after = ["r", "br", "cr"].iter().find_map(|prefix| {
            let rest = self.rest.strip_prefix(prefix)?;
            let hashes = rest.len() - rest.trim_start_matches('#').len();
            rest[hashes..].starts_with('"').then_some((prefix.len(), hashes))
        });
        after.map(|(prefix, hashes)| (prefix + hashes + 1, hashes))
    }

    fn string(&mut self, opening: usize, end: &str, is_escaped: bool) {
        let line = self.line;
        self.comment_end = None;
        self.keep(opening);
        let length = if is_escaped {
            escaped_length(self.rest)
        } else {
            self.rest.find(end).unwrap_or(self.rest.len())
        };
        let text = self.cut(length);
        self.rust.code.extend(text.matches('\n'));
        self.rust.strings.push(Text {
            line,
            text: one_line(text),
        });
        self.keep(end.len().min(self.rest.len()));
    }

    /// A character's literal is dropped from the code; a lifetime stays.
    fn quote(&mut self) {
        let mut chars = self.rest.char_indices().skip(1);
        let length = match (chars.next(), chars.next()) {
            (Some((_, '\\')), Some((after, _))) => {
                let next = self.rest[after..].chars().next().map_or(1, char::len_utf8);
                self.rest[after + next..]
                    .find('\'')
                    .map(|end| after + next + end + 1)
            }
            (Some(_), Some((end, '\''))) => Some(end + 1),
            _ => None,
        };
        match length {
            Some(length) => {
                self.cut(length);
                self.rust.code.push_str("''");
            }
            None => self.keep(1),
        }
        self.comment_end = None;
    }
}

fn escaped_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (index, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return index,
            _ => {}
        }
    }
    text.len()
}

fn one_line(text: &str) -> String {
    let words = text.split_whitespace().filter(|word| *word != "\\");
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "//! Head.\n//! More.\n\n/// Doc of `x`.\nfn x<'a>(s: &'a str) -> char {\n    let _ = (\"a // b \\\" c\", r#\"d \"e\" f\"#, '\"', '\\'');\n    'y' // end\n}\n\n#[cfg(test)]\nmod tests {\n    fn y() {}\n}\n\nfn z() {}\n";

    #[test]
    fn a_source_is_split_into_code_comments_and_strings() {
        let rust = Rust::of("src/a.rs", SOURCE);
        let text = |line, text: &str| Text {
            line,
            text: text.to_owned(),
        };
        assert_eq!(
            rust.comments,
            [text(1, "Head. More."), text(4, "Doc of `x`."), text(7, "end")]
        );
        assert_eq!(rust.strings, [text(6, "a // b \\\" c"), text(6, "d \"e\" f")]);
        assert_eq!(rust.code.lines().count(), SOURCE.lines().count());
        assert_eq!(rust.code.lines().nth(4), Some("fn x<'a>(s: &'a str) -> char {"));
    }

    #[test]
    fn items_under_cfg_test_are_no_product_code() {
        let rust = Rust::of("src/a.rs", SOURCE);
        let tests: Vec<usize> = (1..=15).filter(|line| rust.is_test(*line)).collect();
        assert_eq!(tests, [10, 11, 12, 13]);
        assert!(Rust::of("src/tests/a.rs", SOURCE).is_test(1));
    }
}
