//! Shards that take about equally long, from the times of earlier runs.
//!
//! Scenarios are dealt longest first, each to the shard with the least time so far. The result depends only on the ids
//! and the times, so machines that have the same ones agree without talking to each other.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use crate::run::shard::Shard;

/// How long scenarios took in earlier runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedTimes {
    /// By scenario id. Whole numbers: sums do not depend on the order.
    millis: BTreeMap<String, u64>,
}

impl RecordedTimes {
    /// Times in seconds by scenario id. A scenario with several times gets their mean.
    pub fn new(recorded: impl IntoIterator<Item = (String, f64)>) -> Self {
        let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for (id, seconds) in recorded {
            let (sum, count) = sums.entry(id).or_default();
            *sum = sum.saturating_add(millis(seconds));
            *count += 1;
        }
        let means = sums.into_iter().map(|(id, (sum, count))| (id, sum / count));
        Self {
            millis: means.collect(),
        }
    }

    /// Whether the scenario has a recorded time.
    #[must_use]
    pub fn has(&self, id: &str) -> bool {
        self.millis.contains_key(id)
    }

    /// The ids of this shard. Each id is in exactly one shard of a count.
    fn deal<'a>(&self, shard: Shard, ids: impl IntoIterator<Item = &'a str>) -> BTreeSet<&'a str> {
        let ids: BTreeSet<&str> = ids.into_iter().collect();
        let unknown = self.median(&ids);
        let time = |id: &str| self.millis.get(id).copied().unwrap_or(unknown);
        let mut longest_first: Vec<(Reverse<u64>, &str)> =
            ids.iter().map(|id| (Reverse(time(id)), *id)).collect();
        longest_first.sort_unstable();
        // More shards than scenarios remain empty.
        let shards = u32::try_from(ids.len()).map_or(shard.count(), |scenarios| shard.count().min(scenarios));
        // Of shards with the same time, the one with the fewest scenarios is next: times can be zero.
        let mut least: BinaryHeap<Reverse<(u64, usize, u32)>> =
            (1..=shards).map(|index| Reverse((0, 0, index))).collect();
        let mut dealt = BTreeSet::new();
        for (Reverse(millis), id) in longest_first {
            let Some(Reverse((sum, scenarios, index))) = least.pop() else {
                break;
            };
            if index == shard.index() {
                dealt.insert(id);
            }
            least.push(Reverse((sum.saturating_add(millis), scenarios + 1, index)));
        }
        dealt
    }

    /// The median of the times of these scenarios, for those without one.
    fn median(&self, ids: &BTreeSet<&str>) -> u64 {
        let mut known: Vec<u64> = ids
            .iter()
            .filter_map(|id| self.millis.get(*id).copied())
            .collect();
        known.sort_unstable();
        known.get(known.len() / 2).copied().unwrap_or_default()
    }
}

/// A shard, and what determines its scenarios.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardSelection {
    pub shard: Shard,
    /// Without times, the hash of an id determines its shard.
    pub times: Option<RecordedTimes>,
}

impl ShardSelection {
    /// The ids of the shard. All shards must select from the same ids.
    pub fn select<'a>(&self, ids: impl IntoIterator<Item = &'a str>) -> BTreeSet<&'a str> {
        match &self.times {
            Some(times) => times.deal(self.shard, ids),
            None => ids.into_iter().filter(|id| self.shard.holds(id)).collect(),
        }
    }
}

/// A file can hold any number: negative ones and those that are not numbers count as 0.
fn millis(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1000.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shards(count: u32) -> Vec<Shard> {
        (1..=count)
            .map(|index| format!("{index}/{count}").parse().unwrap())
            .collect()
    }

    fn times(recorded: &[(&str, f64)]) -> RecordedTimes {
        RecordedTimes::new(recorded.iter().map(|(id, seconds)| ((*id).to_owned(), *seconds)))
    }

    fn dealt<'a>(times: &RecordedTimes, count: u32, ids: &[&'a str]) -> Vec<Vec<&'a str>> {
        let ids = || ids.iter().copied();
        shards(count)
            .into_iter()
            .map(|shard| times.deal(shard, ids()).into_iter().collect())
            .collect()
    }

    #[test]
    fn the_longest_scenario_goes_to_the_shard_with_the_least_time() {
        let times = times(&[("a", 10.0), ("b", 60.0), ("c", 30.0), ("d", 25.0), ("e", 4.0)]);
        let ids = ["a", "b", "c", "d", "e"];
        assert_eq!(dealt(&times, 2, &ids), [vec!["b", "e"], vec!["a", "c", "d"]]);
        assert_eq!(
            dealt(&times, 3, &ids),
            [vec!["b"], vec!["c", "e"], vec!["a", "d"]]
        );
    }

    #[test]
    fn the_order_of_scenarios_does_not_matter() {
        let times = times(&[("a", 3.0), ("b", 3.0), ("c", 3.0), ("d", 1.0)]);
        assert_eq!(
            dealt(&times, 2, &["a", "b", "c", "d"]),
            dealt(&times, 2, &["d", "b", "c", "a"])
        );
    }

    #[test]
    fn each_scenario_is_in_exactly_one_shard_for_any_times() {
        let ids: Vec<String> = (0..50).map(|number| format!("area/scenario-{number}")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let recorded = |seconds: fn(usize) -> f64| {
            RecordedTimes::new(
                ids.iter()
                    .enumerate()
                    .map(|(number, id)| ((*id).to_owned(), seconds(number))),
            )
        };
        for times in [
            RecordedTimes::default(),
            times(&[("area/removed", 7.0)]),
            recorded(|_| 0.0),
            recorded(|number| number as f64),
            recorded(|_| -1.0),
            recorded(|_| f64::NAN),
            recorded(|_| f64::INFINITY),
            recorded(|number| if number == 0 { f64::MAX } else { 0.1 }),
        ] {
            for count in [1, 2, 3, 7, 50, 51, 200] {
                let mut all = dealt(&times, count, &ids).concat();
                all.sort_unstable();
                let mut expected = ids.clone();
                expected.sort_unstable();
                assert_eq!(all, expected, "{count} shards of {times:?}");
            }
        }
    }

    #[test]
    fn a_scenario_without_a_time_counts_as_the_median() {
        // With 0 s, `new` would be in the shard of `c`; with the mean of 43 s, it would come before `b`.
        let times = times(&[("a", 100.0), ("b", 20.0), ("c", 10.0), ("elsewhere", 900.0)]);
        let ids = ["a", "b", "c", "new"];
        assert_eq!(dealt(&times, 2, &ids), [vec!["a"], vec!["b", "c", "new"]]);
        assert_eq!(dealt(&times, 3, &ids), [vec!["a"], vec!["b", "c"], vec!["new"]]);
        let all_unknown = dealt(&RecordedTimes::default(), 2, &ids);
        assert_eq!(all_unknown, [vec!["a", "c"], vec!["b", "new"]]);
    }

    #[test]
    fn several_times_of_a_scenario_are_their_mean() {
        let several = times(&[("a", 1.0), ("a", 9.0), ("b", 4.0), ("c", 2.0)]);
        assert_eq!(several, times(&[("a", 5.0), ("b", 4.0), ("c", 2.0)]));
        assert!(several.has("a") && !several.has("d"));
    }

    #[test]
    fn balanced_shards_are_more_even_than_those_by_hash() {
        let ids: Vec<String> = (0..60).map(|number| format!("area/scenario-{number}")).collect();
        let seconds = |number: usize| 5.0 + (number * number % 47) as f64;
        let recorded = ids
            .iter()
            .enumerate()
            .map(|(number, id)| (id.clone(), seconds(number)));
        let times = RecordedTimes::new(recorded);
        let spread = |times: Option<RecordedTimes>| {
            let sums: Vec<f64> = shards(4)
                .into_iter()
                .map(|shard| {
                    let selection = ShardSelection {
                        shard,
                        times: times.clone(),
                    };
                    let held = selection.select(ids.iter().map(String::as_str));
                    let is_held = |number: &usize| held.contains(ids[*number].as_str());
                    (0..ids.len()).filter(is_held).map(seconds).sum()
                })
                .collect();
            let longest = sums.iter().copied().fold(f64::MIN, f64::max);
            longest - sums.iter().copied().fold(f64::MAX, f64::min)
        };
        assert!(
            spread(Some(times.clone())) < 10.0,
            "{}",
            spread(Some(times.clone()))
        );
        assert!(spread(None) > 5.0 * spread(Some(times)), "{}", spread(None));
    }

    #[test]
    fn a_huge_count_of_shards_is_dealt_at_once() {
        let last = format!("{0}/{0}", u32::MAX).parse().unwrap();
        assert!(RecordedTimes::default().deal(last, ["a", "b"]).is_empty());
    }
}
