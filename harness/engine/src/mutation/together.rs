//! Several mutants in one script: most mutants that one scenario leaves the same are the same in others, too, so one
//! probe can tell that of all of them.

use std::collections::BTreeMap;
use std::ops::Range;

use super::progress::MutantProgress;

/// The script with the changes of all mutants; `None` if two of them change the same lines.
pub(super) fn merged(original: &str, mutants: &[&str]) -> Option<String> {
    let mut edits: Vec<(Range<usize>, &str)> = mutants.iter().map(|text| edit(original, text)).collect();
    edits.sort_by_key(|(lines, _)| lines.start);
    let overlaps = edits
        .windows(2)
        .any(|pair| pair[1].0.start < pair[0].0.end || pair[1].0.start == pair[0].0.start);
    if overlaps {
        return None;
    }
    let (mut text, mut at) = (String::new(), 0);
    for (lines, after) in edits {
        text.push_str(&original[at..lines.start]);
        text.push_str(after);
        at = lines.end;
    }
    text.push_str(&original[at..]);
    Some(text)
}

/// The whole lines of a script that a mutant changes, as bytes, and what it has there.
fn edit<'t>(original: &str, mutant: &'t str) -> (Range<usize>, &'t str) {
    let starts = |text: &str| -> Vec<usize> {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        std::iter::once(0)
            .chain(ends.filter(|at| *at < text.len()))
            .collect()
    };
    let (old, new) = (starts(original), starts(mutant));
    let line = |text: &'_ str, starts: &[usize], at: usize| -> String {
        let end = starts.get(at + 1).copied().unwrap_or(text.len());
        text[starts[at]..end].to_owned()
    };
    let count = old.len().min(new.len());
    let is_same = |at: &usize| line(original, &old, *at) == line(mutant, &new, *at);
    let first = (0..count).take_while(is_same).count();
    let is_same_at_end =
        |at: &usize| line(original, &old, old.len() - 1 - at) == line(mutant, &new, new.len() - 1 - at);
    let last = (0..count - first).take_while(is_same_at_end).count();
    let start = |starts: &[usize], text: &str, at: usize| starts.get(at).copied().unwrap_or(text.len());
    let lines = start(&old, original, first)..start(&old, original, old.len() - last);
    let after = start(&new, mutant, first)..start(&new, mutant, new.len() - last);
    (lines, &mutant[after])
}

/// Mutants that run together at first, and at most.
const GROUP: usize = 3;
const LARGEST_GROUP: usize = 12;

/// How many mutants run together: the more scenarios found no difference in each, the more.
fn group_size<'p>(group: impl Iterator<Item = &'p MutantProgress<'p>>) -> usize {
    let same = group.map(MutantProgress::count_same).min();
    let doublings = same.unwrap_or_default().saturating_sub(1).min(2);
    (GROUP << doublings).min(LARGEST_GROUP)
}

/// Takes the mutants out of these that run scenarios together: that which is the next one of most of them. Those of
/// which it is the next one come first, then others that have not run it. Where jobs have no work otherwise, they run
/// further scenarios at once that none of them has run. Mutants that change the same lines are left for another group.
pub(super) fn take_group<'m>(
    original: &str,
    pending: &mut Vec<MutantProgress<'m>>,
    idle_jobs: usize,
) -> Option<(Vec<usize>, Vec<MutantProgress<'m>>)> {
    let mut wanted: BTreeMap<usize, usize> = BTreeMap::new();
    for index in pending.iter().filter_map(|progress| progress.left().next()) {
        *wanted.entry(index).or_default() += 1;
    }
    let most = wanted
        .into_iter()
        .max_by_key(|(index, count)| (*count, std::cmp::Reverse(*index)));
    let (index, _) = most?;
    let mut candidates = std::mem::take(pending);
    candidates.sort_by_key(|progress| progress.left().next() != Some(index));
    let mut group: Vec<MutantProgress<'m>> = Vec::new();
    for progress in candidates {
        let joins = progress.left().any(|left| left == index)
            && group.len() < group_size(group.iter().chain([&progress]))
            && {
                let texts = group.iter().chain([&progress]);
                let texts: Vec<&str> = texts.map(|one| one.mutant.text.as_str()).collect();
                merged(original, &texts).is_some()
            };
        match joins {
            true => group.push(progress),
            false => pending.push(progress),
        }
    }
    let scenarios = if pending.is_empty() { idle_jobs.max(1) } else { 1 };
    let is_left = |index: &usize| group.iter().all(|one| one.left().any(|left| left == *index));
    let others: Vec<usize> = group.first().map(|one| one.left().collect()).unwrap_or_default();
    let others = others.into_iter().filter(|other| *other != index).filter(is_left);
    let indexes = std::iter::once(index).chain(others).take(scenarios);
    Some((indexes.collect(), group))
}

#[cfg(test)]
mod tests {
    use super::super::mutant::MutantCase;
    use super::*;

    const SCRIPT: &str = "a=1\nb=2\nif c; then\n  d\nfi\nlast";

    #[test]
    fn changes_of_different_lines_are_in_one_script() {
        let dropped = "b=2\nif c; then\n  d\nfi\nlast";
        let negated = "a=1\nb=2\nif ! c; then\n  d\nfi\nlast";
        let more = "a=1\nb=2\nif c; then\n  d\nfi\nlast\nmore";
        let in_the_block = "a=1\nb=2\nif c; then\n  true\nfi\nlast";
        assert_eq!(
            merged(SCRIPT, &[negated, dropped, more]).unwrap(),
            "b=2\nif ! c; then\n  d\nfi\nlast\nmore"
        );
        assert_eq!(
            merged(SCRIPT, &[in_the_block, negated]).unwrap(),
            "a=1\nb=2\nif ! c; then\n  true\nfi\nlast"
        );
        assert_eq!(merged(SCRIPT, &[negated]).unwrap(), negated);
        let other = "a=1\nb=2\nif true; then\n  d\nfi\nlast";
        assert_eq!(merged(SCRIPT, &[negated, other]), None);
    }

    #[test]
    fn each_mutant_is_in_one_group_with_a_scenario_that_it_has_not_run() {
        let case = |text: &str| MutantCase {
            id: text.to_owned(),
            line: 1,
            text: text.to_owned(),
            reached_by: Vec::new(),
        };
        let cases = [
            case("a=9\nb=2\nif c; then\n  d\nfi\nlast"),
            case("a=1\nb=9\nif c; then\n  d\nfi\nlast"),
            case("a=8\nb=2\nif c; then\n  d\nfi\nlast"),
            case("a=1\nb=2\nif c; then\n  d\nfi\nlost"),
        ];
        let left = [vec![6, 5, 7], vec![6], vec![5, 6], vec![6, 7]];
        let pending = cases.iter().zip(left);
        let mut pending: Vec<_> = pending
            .map(|(case, left)| MutantProgress::new(case, left, 8))
            .collect();
        let mut found = Vec::new();
        while let Some(group) = take_group(SCRIPT, &mut pending, 2) {
            found.push(group);
        }
        assert!(pending.is_empty());
        let names: Vec<(Vec<usize>, Vec<usize>)> = found
            .iter()
            .map(|(indexes, group)| {
                let at = |one: &MutantProgress<'_>| cases.iter().position(|case| case.id == one.mutant.id);
                (indexes.clone(), group.iter().filter_map(at).collect())
            })
            .collect();
        // The third one changes a line that the first one changes. As the last group, it runs two scenarios at once.
        assert_eq!(names, [(vec![6], vec![0, 1, 3]), (vec![5, 6], vec![2])]);
    }
}
