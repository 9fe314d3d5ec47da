//! Where the files of two versions differ.

pub(super) mod likely;

use std::collections::BTreeSet;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::lines::edits;
use super::surroundings::surroundings;
use crate::plan::sources::{LineMap, SourceLine};
use crate::plan::{OverlayFile, Plan};
use crate::user_data;

/// Pairs of lines that are compared; longer texts count as changed from their first differing line to their last.
const MOST_PAIRS: usize = 25_000_000;
/// Shorter words say nothing.
const SHORTEST_WORD: usize = 3;

/// Consecutive lines that the two versions of a file have differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPlace {
    /// Its first line in the new version; for lines that are gone, the line that follows them.
    pub source: SourceLine,
    /// Words that only one version has there.
    changed: BTreeSet<String>,
    /// All words of the place.
    all: BTreeSet<String>,
    /// The lines that only one version has there.
    pub(super) lines: Vec<String>,
    /// How many of them are in the new version.
    added: u64,
    /// Lines of both versions that decide whether and with what these run: those that enclose them, those that set
    /// their variables, those that call their function. The name of the file is one, too.
    pub(super) around: Vec<String>,
}

impl ChangedPlace {
    /// The lines of the new version, by their numbers; none of a new file.
    #[must_use]
    pub fn new_lines(&self) -> Range<u64> {
        let first = self.source.line.unwrap_or_default();
        first..first + self.added
    }

    /// A file that only the new version has. None of its words changed: it is likely only if no other place is.
    fn new_file(name: &str, content: &str) -> Self {
        Self {
            source: SourceLine {
                file: name.to_owned(),
                line: None,
            },
            changed: BTreeSet::new(),
            all: BTreeSet::new(),
            lines: content.lines().map(str::to_owned).collect(),
            added: 0,
            around: name.rsplit('/').next().map(str::to_owned).into_iter().collect(),
        }
    }
}

#[cfg(test)]
impl ChangedPlace {
    pub(super) fn with_lines(lines: &[&str], around: &[&str]) -> Self {
        let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        Self {
            source: SourceLine::default(),
            changed: BTreeSet::new(),
            all: BTreeSet::new(),
            lines: owned(lines),
            added: 0,
            around: owned(around),
        }
    }
}

/// The changed places of the scripts of two versions of a scenario. A file that a later overlay replaces has none: it
/// is not on the node. One that only the new version has is one place.
/// `read` returns the content that a file of an overlay puts on the node.
pub fn changed_places(
    old: &Plan,
    new: &Plan,
    read: impl Fn(&OverlayFile) -> Option<String>,
) -> Vec<ChangedPlace> {
    let mut places = Vec::new();
    for (index, file) in new.image.overlay.iter().enumerate() {
        let mut later = new.image.overlay[index + 1..].iter();
        if later.any(|other| other.to == file.to) {
            continue;
        }
        let before = old.image.overlay.iter().rfind(|other| other.to == file.to);
        let Some(after) = read(file) else {
            continue;
        };
        let Some(before) = before.and_then(&read) else {
            places.push(ChangedPlace::new_file(&file.from, &after));
            continue;
        };
        let lines = file.patched.as_ref().map(|patched| &patched.lines);
        places.extend(places_of(&before, &after, |line| at(&file.from, line, lines)));
    }
    let scripts = scripts(old);
    for (name, after) in self::scripts(new) {
        let before = scripts.iter().find(|(other, _)| *other == name);
        let source = new.sources.scripts.iter().find(|source| source.name == name);
        let (Some((_, before)), Some(source)) = (before, source) else {
            continue;
        };
        let lines = source.patched.as_ref();
        let in_file = |line: u64| at(&source.file, source.line + line - 1, lines);
        places.extend(places_of(before, &after, in_file));
    }
    places
}

/// The scripts of a plan's user data, by their names.
fn scripts(plan: &Plan) -> Vec<(String, String)> {
    let bytes = plan.user_data.as_ref().map(|user_data| &user_data.base64);
    let bytes = bytes
        .and_then(|text| STANDARD.decode(text).ok())
        .unwrap_or_default();
    let parts = user_data::parse(&bytes).parts.into_iter();
    parts
        .map(|part| (part.name, String::from_utf8_lossy(&part.content).into_owned()))
        .collect()
}

fn at(file: &str, line: u64, patched: Option<&LineMap>) -> SourceLine {
    let source = patched.and_then(|lines| lines.source(line));
    source.unwrap_or_else(|| SourceLine {
        file: file.to_owned(),
        line: Some(line),
    })
}

/// The changed places of a text. `source` names the file and line of a line of the new text.
fn places_of(old: &str, new: &str, source: impl Fn(u64) -> SourceLine) -> Vec<ChangedPlace> {
    let (before, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let start = before.iter().zip(&new).take_while(same).count();
    let (old, rest) = (&before[start..], &new[start..]);
    let end = old.iter().rev().zip(rest.iter().rev()).take_while(same).count();
    let (old, rest) = (&old[..old.len() - end], &rest[..rest.len() - end]);
    let edits = if old.len().saturating_mul(rest.len()) > MOST_PAIRS {
        let gone = old.iter().map(|line| ('-', *line));
        gone.chain(rest.iter().map(|line| ('+', *line))).collect()
    } else {
        edits(old, rest)
    };
    let last = new.len().max(1);
    let (mut line, mut old_line, mut places) = (start, start, Vec::new());
    for place in edits.chunk_by(|one, other| (one.0 == ' ') == (other.0 == ' ')) {
        if place[0].0 != ' ' {
            let side = |mark| -> BTreeSet<String> {
                let lines = place.iter().filter(|edit| edit.0 == mark);
                lines.flat_map(|edit| words(edit.1)).collect()
            };
            let of_side = |mark| -> Vec<&str> {
                let lines = place.iter().filter(|edit| edit.0 == mark);
                lines.map(|edit| edit.1).collect()
            };
            let mut around = surroundings(&new, line, &of_side('+'));
            around.extend(surroundings(&before, old_line, &of_side('-')));
            let (before, after) = (side('-'), side('+'));
            let source = source((line + 1).min(last) as u64);
            let lines: Vec<String> = place.iter().map(|edit| edit.1.to_owned()).collect();
            around.extend(source.file.rsplit('/').next().map(str::to_owned));
            places.push(ChangedPlace {
                source,
                changed: before.symmetric_difference(&after).cloned().collect(),
                all: before.union(&after).cloned().collect(),
                added: place.iter().filter(|edit| edit.0 == '+').count() as u64,
                lines,
                around,
            });
        }
        line += place.iter().filter(|edit| edit.0 != '-').count();
        old_line += place.iter().filter(|edit| edit.0 != '+').count();
    }
    places
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let is_word = |word: &&str| word.len() >= SHORTEST_WORD;
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(is_word)
        .map(str::to_ascii_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::PatchedFile;
    use crate::plan::sources::ScriptSource;
    use crate::testing::{plan, user_data_of};

    pub(super) const OLD: &str =
        "#!/bin/bash\nset -e\npool=blue\necho done\nsysctl -w vm.swappiness=1\nexit 0\n";

    pub(super) fn with_overlay(content: &str) -> Plan {
        let mut plan = plan();
        plan.image.overlay = vec![OverlayFile {
            from: "/checkout/pool.sh".to_owned(),
            to: "/usr/bin/pool".to_owned(),
            mode: 0o755,
            removed: false,
            may_be_missing: false,
            patched: Some(PatchedFile {
                patch: String::new(),
                content: content.to_owned(),
                lines: LineMap::default(),
            }),
        }];
        plan
    }

    pub(super) fn places(old: &Plan, new: &Plan) -> Vec<ChangedPlace> {
        changed_places(old, new, |file| Some(file.patched.as_ref()?.content.clone()))
    }

    #[test]
    fn a_file_that_a_later_overlay_replaces_has_no_place() {
        let with_replaced = |content: &str| {
            let mut plan = with_overlay(content);
            let mut replaced = plan.image.overlay[0].clone();
            replaced.from = "/scenario/pool.sh".to_owned();
            if let Some(patched) = &mut replaced.patched {
                patched.content = "#!/bin/bash\n".to_owned();
            }
            plan.image.overlay.insert(0, replaced);
            plan
        };
        let found = places(&with_replaced(OLD), &with_replaced(&OLD.replace("blue", "green")));
        let files: Vec<_> = found.iter().map(|place| place.source.file.as_str()).collect();
        assert_eq!(files, ["/checkout/pool.sh"]);
    }

    #[test]
    fn lines_that_are_gone_are_at_the_line_that_follows() {
        let of = |new: &str| {
            let places = places(&with_overlay(OLD), &with_overlay(new));
            places
                .iter()
                .filter_map(|place| place.source.line)
                .collect::<Vec<_>>()
        };
        assert_eq!(of(&OLD.replace("pool=blue\n", "")), [3]);
        assert_eq!(of(&OLD.replace("exit 0\n", "")), [5]);
        assert_eq!(of(&OLD.replace("exit 0", "sync\nexit 0")), [6]);
        assert_eq!(of(OLD), [] as [u64; 0]);
    }

    #[test]
    fn texts_that_are_too_long_are_one_place() {
        let long = |start: &str, end: &str| {
            let lines: Vec<String> = (0..6000).map(|line| format!("{start}{line}{end}")).collect();
            lines.join("\n")
        };
        let (old, new) = (long("a", "x"), format!("{}\nb", long("a", "y")));
        let places = places(&with_overlay(&old), &with_overlay(&new));
        assert_eq!(places.len(), 1);
        assert_eq!(places[0].source.line, Some(1));
    }

    #[test]
    fn a_script_of_the_user_data_is_found_in_its_file() {
        let with = |text: &str| {
            let mut plan = plan();
            plan.user_data = Some(user_data_of(text));
            plan.sources.scripts = vec![ScriptSource {
                name: "part-001".to_owned(),
                file: "scenarios/a.yaml".to_owned(),
                line: 7,
                patched: None,
            }];
            plan
        };
        let places = places(&with(OLD), &with(&OLD.replace("blue", "green")));
        assert_eq!(places.len(), 1);
        let found = &places[0].source;
        assert_eq!((found.file.as_str(), found.line), ("scenarios/a.yaml", Some(9)));
    }
}
