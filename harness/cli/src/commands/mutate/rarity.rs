//! Which scenarios take the unusual branches around a statement.

/// Statements before and after a changed one that tell which of its branches a scenario takes.
const NEARBY: usize = 8;

/// How unusual the branches near a statement are that a scenario takes, in thousandths: the fewer scenarios run the
/// same statements there, and the fewer leave out the same ones, the more. Nothing behind its end is left out.
pub(super) fn of(counts: &[Vec<u64>], scenario: usize, statement: usize) -> u64 {
    let runs = |scenario: &Vec<u64>, index: usize| scenario.get(index).is_some_and(|count| *count > 0);
    let own = &counts[scenario];
    let end = own.iter().rposition(|count| *count > 0).unwrap_or_default();
    let nearby = statement.saturating_sub(NEARBY)..=(statement + NEARBY).min(end);
    nearby
        .map(|index| {
            let is_run = runs(own, index);
            let same = counts.iter().filter(|other| runs(other, index) == is_run);
            1000 / (same.count() as u64).max(1)
        })
        .sum()
}

/// The items of two orders of the same list in turns. A scenario that ends early has rare statements, and says nothing
/// about the rest of the script: the widest ones take turns with it.
pub(super) fn in_turns(first: &[usize], second: &[usize]) -> Vec<usize> {
    let mut all: Vec<usize> = Vec::with_capacity(first.len());
    for (one, other) in first.iter().zip(second) {
        for scenario in [one, other] {
            if !all.contains(scenario) {
                all.push(*scenario);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_orders_take_turns() {
        assert_eq!(in_turns(&[1, 2, 3, 4], &[4, 2, 1, 3]), [1, 4, 2, 3]);
        assert!(in_turns(&[], &[]).is_empty());
    }

    #[test]
    fn a_scenario_with_the_unusual_branch_comes_first() {
        // Statement 1 is the condition, 2 and 3 its branches.
        let counts = [
            vec![1, 1, 0, 1],
            vec![1, 1, 1, 0],
            vec![1, 1, 0, 1],
            vec![0, 0, 0, 0],
        ];
        let all: Vec<u64> = (0..3).map(|scenario| of(&counts, scenario, 1)).collect();
        assert_eq!(
            all,
            [333 + 333 + 333 + 500, 333 + 333 + 1000, 333 + 333 + 333 + 500]
        );
        // A default that all others replace.
        let counts = [vec![1, 1, 1], vec![1, 0, 1], vec![1, 1, 1], vec![1, 0, 0]];
        let all: Vec<u64> = (0..4).map(|scenario| of(&counts, scenario, 0)).collect();
        assert_eq!(all, [250 + 500 + 333, 250 + 500 + 333, 250 + 500 + 333, 250]);
    }
}
