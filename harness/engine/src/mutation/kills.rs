//! Which scenarios killed mutants, and which one is worth the first run of another mutant.

use parking_lot::Mutex;

/// The mutants that were killed so far.
#[derive(Debug, Default)]
pub(super) struct Kills(Mutex<Vec<Kill>>);

#[derive(Debug)]
struct Kill {
    /// Line of the mutant.
    line: u64,
    /// Index of the scenario.
    scenario: usize,
}

impl Kills {
    pub(super) fn add(&self, line: u64, scenario: usize) {
        self.0.lock().push(Kill { line, scenario });
    }

    /// The scenarios of a mutant: the one that killed most, where a near line counts more than a far one, then the
    /// others in their order.
    pub(super) fn order(&self, line: u64, reached_by: &[usize]) -> Vec<usize> {
        let kills = self.0.lock();
        let mut scored: Vec<(usize, f64)> = reached_by
            .iter()
            .map(|scenario| (*scenario, score(&kills, line, *scenario)))
            .filter(|(_, score)| *score > 0.0)
            .collect();
        // Of equal ones, the first of their order.
        scored.reverse();
        let best = scored.into_iter().max_by(|one, other| one.1.total_cmp(&other.1));
        let first = best.map(|(scenario, _)| scenario);
        let others = reached_by.iter().copied().filter(|index| Some(*index) != first);
        first.into_iter().chain(others).collect()
    }
}

fn score(kills: &[Kill], line: u64, scenario: usize) -> f64 {
    let of_scenario = kills.iter().filter(|kill| kill.scenario == scenario);
    of_scenario
        .map(|kill| 1.0 / (1 + kill.line.abs_diff(line)) as f64)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scenario_that_killed_near_a_mutant_comes_first() {
        let kills = Kills::default();
        assert_eq!(kills.order(10, &[3, 1, 2]), [3, 1, 2]);
        for line in [100, 101, 102] {
            kills.add(line, 1);
        }
        kills.add(12, 2);
        assert_eq!(kills.order(10, &[3, 1, 2]), [2, 3, 1]);
        assert_eq!(kills.order(99, &[3, 1, 2]), [1, 3, 2]);
        assert_eq!(kills.order(10, &[3]), [3]);
    }

    #[test]
    fn of_scenarios_that_killed_alike_the_first_of_their_order_stays_first() {
        let kills = Kills::default();
        for scenario in [1, 2] {
            kills.add(10, scenario);
        }
        assert_eq!(kills.order(10, &[3, 2, 1]), [2, 3, 1]);
    }
}
