//! Applies a unified diff to a text, and records where each line of the result comes from.

use std::path::Path;

use diffy::{Hunk, Line, Patch};

use crate::input::files::Files;
use crate::plan::sources::LineMap;

/// A text after a patch.
#[derive(Debug, PartialEq)]
pub(crate) struct Patched {
    pub(crate) text: String,
    /// Maps lines of `text` to lines of the original file and of the patch file.
    pub(crate) lines: LineMap,
}

/// Why a patch cannot be applied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PatchError {
    #[error("cannot read the patch: {0}")]
    Unreadable(std::io::Error),
    #[error("{file} is not UTF-8 text")]
    NotText { file: &'static str },
    #[error("the patch is not a unified diff: {0}")]
    Invalid(diffy::ParsePatchError),
    #[error("the patch contains no hunk")]
    Empty,
    #[error("hunk {hunk} (line {line} of the patch) does not apply: {mismatch}")]
    Mismatch {
        /// Number of the hunk, from 1.
        hunk: usize,
        /// Line of the hunk's header in the patch file.
        line: usize,
        mismatch: LineMismatch,
    },
}

impl PatchError {
    /// The way out.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => "paths of patches are relative to the file that names them",
            Self::NotText { .. } => "patches apply to text files only",
            Self::Invalid(_) | Self::Empty => "create it with `diff --unified OLD NEW`",
            Self::Mismatch { .. } => {
                "the file has changed since the patch was made: create the patch again with `diff --unified OLD NEW`"
            }
        }
    }
}

/// The first line of the file that differs from what a hunk expects.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LineMismatch {
    line: usize,
    expected: String,
    /// `None` past the end of the file.
    found: Option<String>,
}

impl std::fmt::Display for LineMismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            line,
            expected,
            found,
        } = self;
        match found {
            Some(found) => write!(
                f,
                "expected `{expected}` at line {line} of the file, found `{found}`"
            ),
            None => write!(
                f,
                "expected `{expected}` at line {line} of the file, found its end"
            ),
        }
    }
}

/// Applies the patch file at `patch` to `original`, the content of `file`.
pub(crate) fn apply_file(
    original: &[u8],
    file: &str,
    patch: &Path,
    files: &dyn Files,
) -> Result<Patched, PatchError> {
    let bytes = files.read(patch).map_err(PatchError::Unreadable)?;
    let text = |bytes, file| std::str::from_utf8(bytes).map_err(|_| PatchError::NotText { file });
    let patch_name = files.absolute(patch).display().to_string();
    apply(
        text(original, "the file")?,
        file,
        text(&bytes, "the patch")?,
        &patch_name,
    )
}

/// Applies `patch` to `original`. A hunk may have moved: it applies where its lines match, nearest to where its header
/// says.
pub(crate) fn apply(
    original: &str,
    original_name: &str,
    patch: &str,
    patch_name: &str,
) -> Result<Patched, PatchError> {
    let parsed = Patch::from_str(patch).map_err(PatchError::Invalid)?;
    if parsed.hunks().is_empty() {
        return Err(PatchError::Empty);
    }
    let original: Vec<&str> = original.split_inclusive('\n').collect();
    let mut result = ResultLines {
        original_name,
        patch_name,
        text: String::new(),
        line: 1,
        lines: LineMap::default(),
    };
    let (mut next, mut shift) = (0, 0);
    for ((number, hunk), header) in (1..).zip(parsed.hunks()).zip(headers(patch)) {
        let stated = stated_start(hunk);
        let expected = stated.saturating_add_signed(shift).max(next);
        let start = find(hunk, &original, next, expected).ok_or_else(|| PatchError::Mismatch {
            hunk: number,
            line: header,
            mismatch: mismatch(hunk, &original, expected),
        })?;
        shift = start.cast_signed() - stated.cast_signed();
        result.keep(&original, next..start);
        next = start;
        let numbers = (header + 1..).zip(patch.lines().skip(header));
        // `\ No newline at end of file` belongs to the line before it.
        let numbers = numbers
            .filter(|(_, text)| !text.starts_with('\\'))
            .map(|(line, _)| line);
        for (line, number) in hunk.lines().iter().zip(numbers) {
            match line {
                Line::Context(_) => result.keep(&original, next..next + 1),
                Line::Delete(_) => {}
                Line::Insert(text) => result.insert(text, number),
            }
            next += usize::from(!matches!(line, Line::Insert(_)));
        }
    }
    result.keep(&original, next..original.len());
    Ok(Patched {
        text: result.text,
        lines: result.lines,
    })
}

/// The lines of the result so far.
struct ResultLines<'a> {
    original_name: &'a str,
    patch_name: &'a str,
    text: String,
    /// The next line, from 1.
    line: usize,
    lines: LineMap,
}

impl ResultLines<'_> {
    fn keep(&mut self, original: &[&str], range: std::ops::Range<usize>) {
        for index in range {
            self.push(original[index], self.original_name.to_owned(), index + 1);
        }
    }

    fn insert(&mut self, text: &str, patch_line: usize) {
        self.push(text, self.patch_name.to_owned(), patch_line);
    }

    fn push(&mut self, text: &str, file: String, line: usize) {
        self.lines.push(self.line as u64, file, line as u64);
        self.text.push_str(text);
        self.line += 1;
    }
}

/// The lines of the patch, from 1, at which its hunks begin. Lines inside a hunk never begin with `@`.
fn headers(patch: &str) -> impl Iterator<Item = usize> {
    (1..)
        .zip(patch.lines())
        .filter(|(_, line)| line.starts_with("@@ "))
        .map(|(number, _)| number)
}

/// The index of the first original line as the hunk's header says. A hunk without original lines names the line before
/// it.
fn stated_start(hunk: &Hunk<'_, str>) -> usize {
    let range = hunk.old_range();
    if range.is_empty() {
        range.start()
    } else {
        range.start().saturating_sub(1)
    }
}

fn original_lines<'a>(hunk: &'a Hunk<'_, str>) -> impl Iterator<Item = &'a str> {
    hunk.lines().iter().filter_map(|line| match line {
        Line::Context(text) | Line::Delete(text) => Some(*text),
        Line::Insert(_) => None,
    })
}

/// The index nearest to `expected` at which the hunk's original lines are found, not before `first`.
fn find(hunk: &Hunk<'_, str>, original: &[&str], first: usize, expected: usize) -> Option<usize> {
    let wanted: Vec<&str> = original_lines(hunk).collect();
    let last = original.len().checked_sub(wanted.len())?;
    (first..=last)
        .filter(|start| original[*start..*start + wanted.len()] == wanted)
        .min_by_key(|start| start.abs_diff(expected))
}

fn mismatch(hunk: &Hunk<'_, str>, original: &[&str], expected: usize) -> LineMismatch {
    let shown = |text: &str| text.trim_end_matches(['\r', '\n']).to_owned();
    let differing = original_lines(hunk)
        .enumerate()
        .find(|(index, text)| original.get(expected + index) != Some(text));
    // A hunk whose lines all match overlaps the hunk before it.
    let (index, text) = differing.unwrap_or((0, ""));
    LineMismatch {
        line: expected + index + 1,
        expected: shown(text),
        found: original.get(expected + index).map(|text| shown(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGINAL: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";
    const PATCH: &str = "what is wrong with it\n--- a\n+++ b\n@@ -2,2 +2,3 @@\n two\n-three\n+drei\n+dreieinhalb\n@@ -6 +7 @@\n-six\n+sechs\n";

    fn origins(patched: &Patched) -> Vec<String> {
        let lines = 1..=patched.text.lines().count() as u64;
        lines
            .map(|line| {
                let source = patched.lines.source(line).unwrap();
                format!("{}:{}", source.file, source.line.unwrap())
            })
            .collect()
    }

    #[test]
    fn lines_of_the_result_come_from_the_original_or_from_the_patch() {
        let patched = apply(ORIGINAL, "o", PATCH, "p").unwrap();
        assert_eq!(patched.text, "one\ntwo\ndrei\ndreieinhalb\nfour\nfive\nsechs\n");
        assert_eq!(
            origins(&patched),
            ["o:1", "o:2", "p:7", "p:8", "o:4", "o:5", "p:11"]
        );
    }

    #[test]
    fn hunks_apply_where_their_lines_moved_to() {
        let patched = apply(&format!("zero\nzero\n{ORIGINAL}"), "o", PATCH, "p").unwrap();
        assert_eq!(
            patched.text,
            "zero\nzero\none\ntwo\ndrei\ndreieinhalb\nfour\nfive\nsechs\n"
        );
        assert_eq!(origins(&patched)[6..], ["o:6", "o:7", "p:11"]);
    }

    #[test]
    fn insertions_without_context_and_missing_newlines_apply() {
        for (original, patch, text) in [
            ("a\nb\n", "@@ -1,0 +2 @@\n+x\n", "a\nx\nb\n"),
            ("", "@@ -0,0 +1 @@\n+x\n", "x\n"),
            (
                "a",
                "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n",
                "b",
            ),
        ] {
            assert_eq!(apply(original, "o", patch, "p").unwrap().text, text, "{patch}");
        }
        let patched = apply(
            "a",
            "o",
            "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n",
            "p",
        )
        .unwrap();
        assert_eq!(origins(&patched), ["p:4"]);
    }

    #[test]
    fn a_patch_that_does_not_apply_names_hunk_and_lines() {
        for (original, patch, message) in [
            (
                "one\ntwo\n3\nfour\nfive\nsix\n",
                PATCH,
                "hunk 1 (line 4 of the patch) does not apply: expected `three` at line 3 of the file, found `3`",
            ),
            (
                "one\ntwo\nthree\n",
                PATCH,
                "hunk 2 (line 9 of the patch) does not apply: expected `six` at line 6 of the file, found its end",
            ),
            ("a\n", "a text\n", "the patch contains no hunk"),
            ("a\n", "@@ nonsense @@\n", "the patch is not a unified diff: "),
            ("a\n", "@@ -1 +1 @@\n-a\n", "the patch is not a unified diff: "),
        ] {
            let error = apply(original, "o", patch, "p").unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
