//! Which scenarios killed mutants, and in which order another mutant runs them.

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

    /// The scenarios of a mutant: those that killed, where a near line counts more than a far one, then the others in
    /// their order.
    pub(super) fn order(&self, line: u64, scenarios: &[usize]) -> Vec<usize> {
        let kills = self.0.lock();
        let mut scored: Vec<(usize, f64)> = scenarios
            .iter()
            .map(|scenario| (*scenario, score(&kills, line, *scenario)))
            .collect();
        scored.sort_by(|one, other| other.1.total_cmp(&one.1));
        scored.into_iter().map(|(scenario, _)| scenario).collect()
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
    fn scenarios_that_killed_near_a_mutant_come_first() {
        let kills = Kills::default();
        assert_eq!(kills.order(10, &[3, 1, 2]), [3, 1, 2]);
        for line in [100, 101, 102] {
            kills.add(line, 1);
        }
        kills.add(12, 2);
        assert_eq!(kills.order(10, &[3, 1, 2]), [2, 1, 3]);
        assert_eq!(kills.order(99, &[3, 1, 2]), [1, 2, 3]);
        assert_eq!(kills.order(10, &[4, 3, 1]), [1, 4, 3]);
    }

    #[test]
    fn of_scenarios_that_killed_alike_the_first_of_their_order_stays_first() {
        let kills = Kills::default();
        for scenario in [1, 2] {
            kills.add(10, scenario);
        }
        assert_eq!(kills.order(10, &[3, 2, 1]), [2, 1, 3]);
    }
}
