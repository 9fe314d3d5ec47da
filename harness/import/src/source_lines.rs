//! Lines of user data in the file that contains it.
//!
//! Where user data is plain text of the file, such as in a block of YAML, its lines are lines of the file. They are
//! found by their text: readers of formats fill in values, and tools add parts of their own, so that no number tells
//! the place.

use std::borrow::Cow;

use crate::error::ImportError;
use crate::machine::Machine;

/// A line with fewer letters and digits, such as `fi`, can be in any script.
const TELLING: usize = 4;
/// How many lines before and behind a line tell where it is.
const NEAR: usize = 3;
/// How many tell it from equal ones in a file that repeats a text.
const FAR: usize = 12;

/// The texts in which a message can name a line.
#[derive(Debug, Clone, Default)]
pub(crate) struct SourceLines<'a> {
    /// The file, if it is text.
    file: Option<&'a str>,
    user_data: Cow<'a, str>,
    /// The line of the file where the machine begins.
    start: Option<usize>,
}

impl<'a> SourceLines<'a> {
    /// Those of a machine with this user data, unpacked.
    pub(crate) fn of(machine: &'a Machine, user_data: Cow<'a, str>) -> Self {
        Self {
            file: machine.file.as_deref(),
            user_data,
            start: machine.line,
        }
    }

    /// How a message names a line of a text, from 1: by the line of the file, such as `line 12`, otherwise by that of
    /// the user data or of the text itself, which is called `name`.
    pub(crate) fn place(&self, text: &str, number: usize, name: &str) -> String {
        self.known_place(text, number)
            .unwrap_or_else(|| format!("line {number} of {name}"))
    }

    /// The place, if the line is one of the file or of the user data.
    pub(crate) fn known_place(&self, text: &str, number: usize) -> Option<String> {
        let of_user_data = || {
            let line = line_in(&self.user_data, text, number, None)?;
            Some(format!("line {line} of the user data"))
        };
        self.place_in_file(text, number).or_else(of_user_data)
    }

    /// The place, if the line is one of the file.
    pub(crate) fn place_in_file(&self, text: &str, number: usize) -> Option<String> {
        let line = line_in(self.file?, text, number, self.start)?;
        Some(format!("line {line}"))
    }

    /// An error about a line of a text that is the user data.
    pub(crate) fn located(&self, error: ImportError, text: &str) -> ImportError {
        let error = of_user_data(error, text);
        match self.file {
            Some(file) => in_file(error, file, self.start),
            None => error,
        }
    }
}

/// Says of an error whose line counts in user data that it does.
pub(crate) fn of_user_data(error: ImportError, text: &str) -> ImportError {
    match error.line() {
        Some(_) => ImportError::OfUserData {
            text: text.to_owned(),
            error: Box::new(error),
        },
        None => error,
    }
}

/// The error with the line of the file, if the user data is plain text of it.
pub(crate) fn in_file(error: ImportError, file: &str, start: Option<usize>) -> ImportError {
    match error {
        ImportError::OfUserData { text, error } => {
            let line = error
                .line()
                .and_then(|number| line_in(file, &text, number, start));
            match line {
                Some(_) if file == text => *error,
                Some(line) => error.at_line(line),
                None => ImportError::OfUserData { text, error },
            }
        }
        other => other,
    }
}

/// The line of a file, from 1, that is a line of a text. Of several places, the one whose lines around it are like
/// those of the text; of equal ones, the first behind `start`.
fn line_in(file: &str, text: &str, number: usize, start: Option<usize>) -> Option<usize> {
    let index = number.checked_sub(1)?;
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    if index >= lines.len() {
        return None;
    }
    if file == text {
        return Some(number);
    }
    let of_file: Vec<&str> = file.lines().map(str::trim).collect();
    let search = LineSearch {
        file: &of_file,
        lines: &lines,
        index,
    };
    let places = search.places();
    match (&places[..], start) {
        ([], _) => search.only_place().map(|place| place + 1),
        ([one], _) => Some(one + 1),
        (several, Some(start)) => several.iter().map(|place| place + 1).find(|line| *line >= start),
        (_, None) => None,
    }
}

/// Where in a file the line `index` of a text can be.
struct LineSearch<'a> {
    file: &'a [&'a str],
    lines: &'a [&'a str],
    index: usize,
}

impl LineSearch<'_> {
    /// The indexes of lines of the file. At least half of the lines around must be there; of several places, those with
    /// the most of them.
    fn places(&self) -> Vec<usize> {
        let telling = self.telling(NEAR);
        let least = telling.len().div_ceil(2).max(1);
        let all = 0..self.file.len();
        let mut places: Vec<usize> = all
            .filter(|place| self.found(&telling, *place) >= least)
            .collect();
        for reach in [NEAR, FAR, usize::MAX] {
            if places.len() < 2 {
                break;
            }
            let telling = self.telling(reach);
            let counts: Vec<usize> = places.iter().map(|place| self.found(&telling, *place)).collect();
            let most = counts.iter().copied().max().unwrap_or_default();
            let mut counts = counts.into_iter();
            places.retain(|_| counts.next() == Some(most));
        }
        places
    }

    /// Lines around, and the line itself, by which it can be found.
    fn telling(&self, reach: usize) -> Vec<usize> {
        let end = self.index.saturating_add(reach).saturating_add(1);
        let around = self.index.saturating_sub(reach)..self.lines.len().min(end);
        around.filter(|at| is_telling(self.lines[*at])).collect()
    }

    /// How many of these lines are in the file if the line is at this place.
    fn found(&self, telling: &[usize], place: usize) -> usize {
        let is_there = |at: &&usize| {
            let of_file = (place + **at)
                .checked_sub(self.index)
                .and_then(|at| self.file.get(at));
            of_file.is_some_and(|of_file| is_same(of_file, self.lines[**at]))
        };
        telling.iter().filter(is_there).count()
    }

    /// The place of a line that file and text have once. A tool may have written the lines around it in another order.
    fn only_place(&self) -> Option<usize> {
        let line = self.lines[self.index];
        let is_once = |lines: &[&str]| lines.iter().filter(|other| **other == line).count() == 1;
        let is_found = is_telling(line) && is_once(self.lines) && is_once(self.file);
        self.file
            .iter()
            .position(|other| *other == line)
            .filter(|_| is_found)
    }
}

fn letters(text: &str) -> usize {
    text.chars().filter(|c| c.is_alphanumeric()).count()
}

fn is_telling(line: &str) -> bool {
    letters(line) >= TELLING
}

/// Whether a line of a file becomes a line of user data: `${NAME}` in it stands for any text.
fn is_same(of_file: &str, line: &str) -> bool {
    if of_file == line {
        return true;
    }
    let Some((begin, mut rest)) = of_file.split_once("${") else {
        return false;
    };
    let Some(mut line) = line.strip_prefix(begin) else {
        return false;
    };
    let mut known = letters(begin);
    while let Some((_, after)) = rest.split_once('}') {
        let Some((piece, next)) = after.split_once("${") else {
            return line.ends_with(after) && known + letters(after) >= TELLING;
        };
        let Some(at) = line.find(piece) else {
            return false;
        };
        known += letters(piece);
        (line, rest) = (&line[at + piece.len()..], next);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str =
        "#!/bin/bash\nset -ex\n/etc/eks/bootstrap.sh demo \\\n  --use-max-pods false\necho done\n";

    fn indented(text: &str) -> String {
        text.lines().map(|line| format!("        {line}\n")).collect()
    }

    #[test]
    fn a_block_of_yaml_has_the_lines_of_its_file() {
        let file = format!("Resources:\n  A:\n    UserData: |\n{}", indented(SCRIPT));
        for number in 1..=5 {
            assert_eq!(line_in(&file, SCRIPT, number, None), Some(number + 3), "{number}");
        }
        assert_eq!(line_in(SCRIPT, SCRIPT, 2, None), Some(2));
        assert_eq!(line_in(&file, SCRIPT, 6, None), None);
        let json = format!("{{\"UserData\": {:?}}}\n", SCRIPT);
        assert_eq!(line_in(&json, SCRIPT, 3, None), None);
    }

    #[test]
    fn values_that_are_filled_in_hide_no_line() {
        let file = format!("x:\n{}", indented(&SCRIPT.replace("demo", "${Cluster}-${!Name}")));
        assert_eq!(
            line_in(&file, &SCRIPT.replace("demo", "a-${Name}"), 3, None),
            Some(4)
        );
        let angles = format!("x:\n{}", indented(&SCRIPT.replace("demo", "<cluster>")));
        assert_eq!(line_in(&angles, SCRIPT, 3, None), Some(4));
        assert!(!is_same("${X}", "anything"));
        assert!(!is_same("a${X", "ab"));
    }

    #[test]
    fn a_text_that_a_file_repeats_has_the_lines_of_its_machine() {
        let block = indented(SCRIPT);
        let twice = format!("a:\n{block}b:\n{block}");
        assert_eq!(line_in(&twice, SCRIPT, 3, Some(1)), Some(4));
        assert_eq!(line_in(&twice, SCRIPT, 3, Some(7)), Some(10));
        assert_eq!(line_in(&twice, SCRIPT, 3, None), None);
        let other = format!("a:\n{}b:\n{block}", block.replace("set -ex", "set -o pipefail"));
        assert_eq!(line_in(&other, SCRIPT, 3, None), Some(10));
        // Lines that a tool adds are in no file.
        let with_more = format!("{SCRIPT}{}", "added by a tool\n".repeat(20));
        assert_eq!(line_in(&twice, &with_more, 5, Some(7)), Some(12));
    }

    #[test]
    fn a_line_among_others_of_a_tool_is_found_if_it_is_the_only_one() {
        let rendered = "name = demo\nserver = a\nmax-pds = 3\nendpoint = b\nauthority = c\n";
        let file = "x:\n  [settings]\n  max-pds = 3\n";
        assert_eq!(line_in(file, rendered, 3, None), Some(3));
        assert_eq!(
            line_in(&format!("{file}  max-pds = 3\n"), rendered, 3, None),
            None
        );
    }

    #[test]
    fn a_line_that_is_not_in_the_file_names_its_text() {
        let machine = Machine {
            file: Some("UserData: aGk=\n".into()),
            ..Machine::default()
        };
        let message = format!("MIME-Version: 1.0\n\n--B\n{SCRIPT}--B--\n");
        let lines = SourceLines::of(&machine, Cow::Borrowed(message.as_str()));
        assert_eq!(lines.place(&message, 1, "x"), "line 1 of the user data");
        assert_eq!(lines.place(SCRIPT, 2, "x"), "line 5 of the user data");
        assert_eq!(
            lines.place("some other text\n", 1, "the file /a"),
            "line 1 of the file /a"
        );
    }
}
