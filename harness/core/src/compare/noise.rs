//! What differs between two runs of the same version, and the changed lines that remain without it.

use std::collections::BTreeSet;

use super::lines::{ChangedLine, edits};
use super::machine_snapshot::without_dates;

/// Longest line in a report; a configuration can be one line of many kilobytes.
const LONGEST_LINE: usize = 400;

/// What differs between two runs of one version.
pub(super) enum Noise<'t> {
    /// Nothing, or there was only one run.
    None,
    /// Words with digits: times, ids, counts.
    Words,
    /// Whole lines, or their order.
    Lines {
        noisy: BTreeSet<&'t str>,
        /// Positions of lines that are new at each run, such as generated keys, if the number of lines stays.
        random: BTreeSet<usize>,
    },
}

impl<'t> Noise<'t> {
    pub(super) fn of(first: &[&'t str], second: &[&'t str]) -> Self {
        if first == second {
            return Self::None;
        }
        let masked = |lines: &[&str]| lines.iter().map(|line| masked(line)).collect::<Vec<_>>();
        if masked(first) == masked(second) {
            return Self::Words;
        }
        let edits = edits(first, second);
        let noisy = edits.into_iter().filter(|(mark, _)| *mark != ' ');
        Self::Lines {
            noisy: noisy.map(|(_, line)| line).collect(),
            random: random_positions(&masked(first), &masked(second)),
        }
    }
}

/// Positions at which each of two runs has a line that the other one has nowhere. Lines that only move are not random.
fn random_positions(first: &[String], second: &[String]) -> BTreeSet<usize> {
    if first.len() != second.len() {
        return BTreeSet::new();
    }
    let is_random = |(one, other): (&String, &String)| !second.contains(one) && !first.contains(other);
    let pairs = first.iter().zip(second).enumerate();
    pairs
        .filter(|(_, pair)| is_random(*pair))
        .map(|(index, _)| index)
        .collect()
}

/// The lines that only one of two states leaves, without noise.
pub(super) fn changed(before: &[&str], after: &[&str], noise: &Noise<'_>) -> Vec<ChangedLine> {
    match noise {
        Noise::None => {
            let edits = edits(before, after);
            edits
                .into_iter()
                .filter_map(|(mark, line)| changed_line(mark, line))
                .collect()
        }
        Noise::Words => by_masked_lines(before, after),
        Noise::Lines { noisy, random } => {
            let noisy: BTreeSet<String> = noisy.iter().map(|line| masked(line)).collect();
            let steady =
                |lines: &[&str]| -> BTreeSet<String> { lines.iter().map(|line| masked(line)).collect() };
            let (had, has) = (steady(before), steady(after));
            let is_random = |index: &usize| before.len() == after.len() && random.contains(index);
            let settled = |lines: &[&'_ str], others: &BTreeSet<String>| -> Vec<String> {
                let lines = lines.iter().enumerate();
                let lines =
                    lines.filter(|(index, line)| !is_random(index) && !others.contains(&masked(line)));
                lines.map(|(_, line)| (*line).to_owned()).collect()
            };
            let (gone, new) = (settled(before, &has), settled(after, &had));
            let (gone, new) = (gone.iter(), new.iter());
            let marked = gone.map(|line| ('-', line)).chain(new.map(|line| ('+', line)));
            marked
                .filter(|(_, line)| !noisy.contains(&masked(line)))
                .filter_map(|(mark, line)| changed_line(mark, line))
                .collect()
        }
    }
}

/// Compares the masked lines, and returns them as they were.
fn by_masked_lines(before: &[&str], after: &[&str]) -> Vec<ChangedLine> {
    let mask = |lines: &[&str]| lines.iter().map(|line| masked(line)).collect::<Vec<_>>();
    let (old, new) = (mask(before), mask(after));
    let (old, new): (Vec<&str>, Vec<&str>) = (
        old.iter().map(String::as_str).collect(),
        new.iter().map(String::as_str).collect(),
    );
    let (mut at_old, mut at_new) = (0, 0);
    let mut changed = Vec::new();
    for (mark, _) in edits(&old, &new) {
        match mark {
            '-' => {
                changed.extend(changed_line('-', before[at_old]));
                at_old += 1;
            }
            '+' => {
                changed.extend(changed_line('+', after[at_new]));
                at_new += 1;
            }
            _ => {
                at_old += 1;
                at_new += 1;
            }
        }
    }
    changed
}

fn changed_line(mark: char, line: &str) -> Option<ChangedLine> {
    // Of a file that only one version has, no second boot shows what is a time.
    let line = without_dates(line);
    let mut text: String = line.chars().take(LONGEST_LINE).collect();
    if text.len() < line.len() {
        text.push_str(" ...");
    }
    match mark {
        '-' => Some(ChangedLine::Old(text)),
        '+' => Some(ChangedLine::New(text)),
        _ => None,
    }
}

/// The line with `#` for each word that contains a digit.
fn masked(line: &str) -> String {
    let mut text = String::new();
    let mut word = String::new();
    let end = |word: &mut String, text: &mut String| {
        match word.contains(|c: char| c.is_ascii_digit()) {
            true => text.push('#'),
            false => text.push_str(word),
        }
        word.clear();
    };
    for c in line.chars() {
        if c.is_ascii_alphanumeric() {
            word.push(c);
        } else {
            end(&mut word, &mut text);
            text.push(c);
        }
    }
    end(&mut word, &mut text);
    text
}
