//! Combinations of changes in which every pair of changes occurs at least once.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Rows of a covering array: each row has at most one change of each dimension, and every pair of changes of two
/// dimensions is in some row. `dimensions` has the dimension of each change; a row lists changes by their index. Equal
/// seeds give equal rows.
#[must_use]
pub fn covering<D: PartialEq + Ord + Copy>(dimensions: &[D], seed: u64) -> Vec<Vec<usize>> {
    let mut open: BTreeSet<(usize, usize)> = BTreeSet::new();
    for second in 0..dimensions.len() {
        let others = (0..second).filter(|first| dimensions[*first] != dimensions[second]);
        open.extend(others.map(|first| (first, second)));
    }
    let mut rows = Vec::new();
    while let Some(&(first, second)) = chosen(&open, seed, rows.len()) {
        let mut row = vec![first, second];
        // Greedy: the change that covers most open pairs, until nothing is gained.
        loop {
            let gain = |change: usize| {
                let is_open = |other: &&usize| open.contains(&pair(**other, change));
                row.iter().filter(is_open).count()
            };
            let fits = |change: &usize| row.iter().all(|other| dimensions[*other] != dimensions[*change]);
            let next = (0..dimensions.len())
                .filter(fits)
                .max_by_key(|change| (gain(*change), shuffled(*change, seed)));
            match next {
                Some(next) if gain(next) > 0 => row.push(next),
                _ => break,
            }
        }
        row.sort_unstable();
        for (at, second) in row.iter().enumerate() {
            for first in &row[..at] {
                open.remove(&pair(*first, *second));
            }
        }
        rows.push(row);
    }
    rows
}

fn pair(one: usize, other: usize) -> (usize, usize) {
    (one.min(other), one.max(other))
}

/// The pair that the next row starts with.
fn chosen(open: &BTreeSet<(usize, usize)>, seed: u64, row: usize) -> Option<&(usize, usize)> {
    open.iter().min_by_key(|pair| shuffled((**pair, row), seed))
}

/// A number that depends on the seed.
fn shuffled(value: impl std::hash::Hash, seed: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    (seed, value).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIMENSIONS: [u8; 9] = [0, 0, 0, 1, 1, 2, 2, 2, 3];

    #[test]
    fn every_pair_of_two_dimensions_is_in_a_row() {
        let rows = covering(&DIMENSIONS, 7);
        for (second, of_second) in DIMENSIONS.iter().enumerate() {
            for (first, of_first) in DIMENSIONS.iter().enumerate().take(second) {
                let is_in = rows
                    .iter()
                    .any(|row| row.contains(&first) && row.contains(&second));
                assert_eq!(is_in, of_first != of_second, "{first} {second}: {rows:?}");
            }
        }
        // Three by three values need nine rows.
        assert!((9..=14).contains(&rows.len()), "{rows:?}");
    }

    #[test]
    fn the_seed_decides_the_rows() {
        assert_eq!(covering(&DIMENSIONS, 1), covering(&DIMENSIONS, 1));
        assert_ne!(covering(&DIMENSIONS, 1), covering(&DIMENSIONS, 2));
        assert!(covering::<u8>(&[], 1).is_empty() && covering(&[0, 0], 1).is_empty());
    }
}
