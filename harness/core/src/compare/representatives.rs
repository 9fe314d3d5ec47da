//! Which scenario of a folder runs in other worlds.

use std::collections::BTreeMap;

use super::traits::flags;
use crate::plan::Plan;
use crate::vocabulary::ids::ScenarioId;
use crate::vocabulary::phase::Phase;
use crate::vocabulary::region::Region;

/// Words of flags with values that a script otherwise requests.
const OF_THE_CLUSTER: [&str; 5] = ["endpoint", "-ca", "cidr", "dns", "ip-family"];

/// One scenario of each folder: among those that join, one in the default region that becomes ready, with the fewest
/// flags in its user data. What a script is not told, it has to find.
#[must_use]
pub fn representatives<'p>(plans: impl IntoIterator<Item = &'p Plan>) -> Vec<ScenarioId> {
    let mut chosen: BTreeMap<&str, &Plan> = BTreeMap::new();
    for plan in plans {
        let joins = plan.expect.diagnosis.is_none()
            && plan.faults.is_empty()
            && plan.dns_faults.is_empty()
            && plan.user_data.is_some();
        if !joins {
            continue;
        }
        let folder = plan.id.as_str().rsplit_once('/').map_or("", |(folder, _)| folder);
        let known = chosen.entry(folder).or_insert(plan);
        if peculiarity(plan) < peculiarity(known) {
            *known = plan;
        }
    }
    chosen.into_values().map(|plan| plan.id.clone()).collect()
}

/// The plainest of several plans.
#[must_use]
pub fn plainest<'p>(plans: impl IntoIterator<Item = &'p Plan>) -> Option<&'p Plan> {
    plans.into_iter().min_by_key(|plan| peculiarity(plan))
}

/// How far a scenario is from the plain join of its folder.
fn peculiarity(plan: &Plan) -> (bool, bool, usize, usize) {
    let is_elsewhere = plan.region.as_str() != Region::DEFAULT;
    let is_unready = plan.expect.phase != Some(Phase::Ready);
    let flags = flags(plan);
    let is_told = |flag: &&String| OF_THE_CLUSTER.iter().any(|word| flag.contains(word));
    (
        is_elsewhere,
        is_unready,
        flags.iter().filter(is_told).count(),
        flags.len(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{plan, user_data_of};

    #[test]
    fn a_folder_is_represented_by_its_plainest_join() {
        let one = |id: &str, region: &str, arguments: &str| {
            let mut plan = Plan {
                id: id.parse().unwrap(),
                region: region.parse().unwrap(),
                user_data: Some(user_data_of(&format!("#!/bin/sh\njoin {arguments}\n"))),
                ..plan()
            };
            plan.expect.phase = Some(Phase::Ready);
            plan
        };
        let mut fails = one("a/a", Region::DEFAULT, "");
        fails.dns_faults = vec![serde_json::from_value(serde_json::json!({ "effect": "servfail" })).unwrap()];
        let mut registers = one("a/b", Region::DEFAULT, "");
        registers.expect.phase = Some(Phase::Registered);
        let plans = [
            fails,
            registers,
            one("a/china", "cn-north-1", ""),
            one("a/first", Region::DEFAULT, "--endpoint x"),
            one("a/second", Region::DEFAULT, "--labels a=b --taints c"),
            one("a/third", Region::DEFAULT, "--labels a=b --taints c"),
            one("b/iso", "us-iso-east-1", ""),
            one("b/gov", "us-gov-west-1", ""),
        ];
        assert_eq!(plainest(&plans[1..7]).unwrap().id.as_str(), "a/second");
        let found = representatives(&plans);
        let found: Vec<&str> = found.iter().map(ScenarioId::as_str).collect();
        assert_eq!(found, ["a/second", "b/iso"]);
    }
}
