//! Which scenarios take the unusual branches around a statement.

/// Statements before and after a changed one that tell which of its branches a scenario takes.
const NEARBY: usize = 8;

/// How much of what few scenarios run near a statement runs in a scenario, in thousandths: such a scenario takes the
/// branch that the others do not take.
pub(super) fn of(counts: &[Vec<u64>], scenario: usize, statement: usize) -> u64 {
    let nearby = statement.saturating_sub(NEARBY)..=statement + NEARBY;
    let runs = |scenario: &Vec<u64>, index: usize| scenario.get(index).is_some_and(|count| *count > 0);
    nearby
        .filter(|index| runs(&counts[scenario], *index))
        .map(|index| counts.iter().filter(|other| runs(other, index)).count() as u64)
        .map(|scenarios| 1000 / scenarios.max(1))
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
        let all: Vec<u64> = (0..4).map(|scenario| of(&counts, scenario, 1)).collect();
        assert_eq!(all, [333 + 333 + 500, 333 + 333 + 1000, 333 + 333 + 500, 0]);
    }
}
