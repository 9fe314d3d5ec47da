//! The pairs of scenarios in other worlds.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use nodejoin_core::compare::{
    ChangedWords, ComparedWorld, ScriptInputs, plainest, representatives, worlds, worlds_of_kubelet,
};
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::ids::ScenarioId;
use nodejoin_core::scenario::with_own_instance;

use super::compared::Compared;
use super::pair::Pair;

/// The most worlds that are related to a change, besides a reboot and a second run of the user data.
const MOST_RELATED: usize = 16;

/// In which other worlds versions are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorldsWhen {
    Never,
    /// One scenario runs in the worlds that the changed lines are about: one for all scenarios with the same changes.
    Related,
    /// The representative of each folder runs in all worlds, those that the changed lines are about first.
    Always,
    /// It runs in the worlds of these names, and no other scenario runs.
    Only(Vec<String>),
}

impl WorldsWhen {
    /// The scenarios to compare as they are.
    pub(super) fn chosen(&self, pairs: &[Pair]) -> Vec<Pair> {
        let Self::Only(_) = self else {
            return pairs.to_vec();
        };
        let different = pairs.iter().filter(|pair| pair.can_differ());
        let representatives = representatives(different.filter_map(|pair| pair.new.as_ref()));
        let chosen = pairs.iter().filter(|pair| representatives.contains(&pair.id));
        chosen.cloned().collect()
    }

    fn has(&self, world: &str) -> bool {
        match self {
            Self::Never => false,
            Self::Related | Self::Always => true,
            Self::Only(names) => names.iter().any(|name| name == world),
        }
    }
}

/// The worlds of the representative of each folder, of the scenarios whose versions have different files. Those that
/// have most to do with the change come first.
pub(super) fn worlds_of(compared: &[(Pair, Compared)], when: &WorldsWhen) -> Vec<Pair> {
    let booted = compared
        .iter()
        .filter(|(_, result)| matches!(result, Compared::States { .. }));
    let mut chosen = representatives(booted.filter_map(|(pair, _)| pair.new.as_ref()));
    if *when == WorldsWhen::Related {
        chosen = one_of_each_change(compared, &chosen);
    }
    let (mut found, mut taken) = (Vec::new(), BTreeSet::new());
    for (pair, result) in compared {
        let Compared::States { requests, .. } = result else {
            continue;
        };
        let (Some(old), Some(new)) = (&pair.old, &pair.new) else {
            continue;
        };
        if !chosen.contains(&pair.id) {
            continue;
        }
        let places = pair.changed_places();
        let changed = ChangedWords::of(&places);
        let inputs = pair.inputs.clone().with(ScriptInputs::named_in(&places));
        let of_new = worlds(new, requests, &inputs, &changed);
        let of_new: BTreeMap<String, Plan> = of_new.into_iter().map(|one| (one.name, one.plan)).collect();
        let mut of_old = worlds(old, requests, &inputs, &changed);
        of_old.retain(|world| when.has(&world.name));
        if *when == WorldsWhen::Related {
            of_old = related(of_old);
        }
        for ComparedWorld {
            name,
            plan,
            relevance,
        } in of_old
        {
            let Some(new) = of_new.get(&name).cloned() else {
                continue;
            };
            let in_world = in_world(pair, name, plan, new, &mut taken);
            found.extend(in_world.map(|pair| (relevance, pair)));
        }
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    found.into_iter().map(|(_, pair)| pair).collect()
}

/// The worlds that a change is about, and those of what happens later.
fn related(mut worlds: Vec<ComparedWorld>) -> Vec<ComparedWorld> {
    worlds.retain(|world| world.relevance > 0.0);
    worlds.sort_by(|one, other| other.relevance.total_cmp(&one.relevance));
    let mut others = 0;
    worlds.retain(|world| {
        let is_later = !world.plan.then.is_empty();
        others += usize::from(!is_later);
        is_later || others <= MOST_RELATED
    });
    worlds
}

/// Of these scenarios, the plainest one for each set of changes.
fn one_of_each_change(compared: &[(Pair, Compared)], chosen: &[ScenarioId]) -> Vec<ScenarioId> {
    let mut by_change: BTreeMap<BTreeSet<String>, Vec<&Plan>> = BTreeMap::new();
    let pairs = compared.iter().map(|(pair, _)| pair);
    for pair in pairs.filter(|pair| chosen.contains(&pair.id)) {
        let places = pair
            .changed_places()
            .into_iter()
            .map(|place| format!("{:?}", place.source));
        by_change.entry(places.collect()).or_default().extend(&pair.new);
    }
    let plainest = by_change.into_values().filter_map(plainest);
    plainest.map(|plan| plan.id.clone()).collect()
}

/// Worlds of the newest kubelet that scripts tell apart, if a script makes other requests with it. `compared` are
/// scenarios and their worlds.
pub(super) fn worlds_of_newest_kubelet(compared: &[(Pair, Compared)], when: &WorldsWhen) -> Vec<Pair> {
    let requests = |id: &ScenarioId| {
        let found = compared.iter().find(|(pair, _)| pair.id == *id);
        match found.map(|(_, result)| result) {
            Some(Compared::States { requests, .. }) => Some(requests),
            _ => None,
        }
    };
    let mut newest: BTreeMap<ScenarioId, &Pair> = BTreeMap::new();
    let with_kubelet = compared.iter().map(|(pair, _)| pair);
    let with_kubelet = with_kubelet.filter(|pair| {
        pair.new
            .as_ref()
            .is_some_and(|plan| plan.probed_kubelet.is_some())
    });
    for (base, pair) in with_kubelet.filter_map(|pair| Some((pair.base()?, pair))) {
        newest.insert(base, pair);
    }
    let (mut pairs, mut taken) = (Vec::new(), BTreeSet::new());
    for (base, pair) in newest {
        let (Some(before), Some(after)) = (requests(&base), requests(&pair.id)) else {
            continue;
        };
        let (Some(old), Some(new), Some(kubelet)) = (&pair.old, &pair.new, &pair.world) else {
            continue;
        };
        let of_new = worlds_of_kubelet(new, before, after);
        let both = worlds_of_kubelet(old, before, after).into_iter().zip(of_new);
        for ((world, old), (_, new)) in both {
            let world = format!("{kubelet}-{world}");
            if when.has(&world) {
                let of_base = Pair {
                    id: base.clone(),
                    ..pair.clone()
                };
                pairs.extend(in_world(&of_base, world, old, new, &mut taken));
            }
        }
    }
    pairs
}

/// A scenario in another world, of which `old` and `new` are the plans.
fn in_world(
    pair: &Pair,
    world: String,
    mut old: Plan,
    mut new: Plan,
    taken: &mut BTreeSet<Ipv4Addr>,
) -> Option<Pair> {
    let id = format!("{}@{world}", pair.id).parse::<ScenarioId>().ok()?;
    old.id = id.clone();
    new.id = id.clone();
    // Worlds of one scenario run side by side. Both versions of a world have the same instance.
    let own_old = with_own_instance(&old, &id, &mut taken.clone());
    let own_new = with_own_instance(&new, &id, taken);
    if own_old.instance.id == own_new.instance.id {
        (old, new) = (own_old, own_new);
    }
    Some(Pair {
        id,
        world: Some(world),
        old: Some(old),
        new: Some(new),
        inputs: ScriptInputs::default(),
        blessed: pair.blessed.clone(),
    })
}

#[cfg(test)]
mod tests {
    use nodejoin_core::compare::MachineRequests;
    use nodejoin_core::testing::{plan, user_data_of};

    use super::*;

    #[test]
    fn related_worlds_are_the_most_relevant_ones_and_those_of_later() {
        let mut plan = plan();
        plan.user_data = Some(user_data_of("#!/bin/sh\n"));
        let mut worlds = worlds(
            &plan,
            &MachineRequests::default(),
            &ScriptInputs::default(),
            &ChangedWords::default(),
        );
        let names =
            |worlds: &[ComparedWorld]| worlds.iter().map(|world| world.name.clone()).collect::<Vec<_>>();
        // Without a change, only what every change can break is related.
        assert_eq!(names(&related(worlds.clone())), ["reboot", "user-data-twice"]);
        let all = worlds.len();
        assert!(all > MOST_RELATED + 2, "{all}");
        for (index, world) in worlds.iter_mut().enumerate() {
            world.relevance += (all - index) as f64;
        }
        let found = names(&related(worlds.clone()));
        assert_eq!(found.len(), MOST_RELATED + 2, "{found:?}");
        assert_eq!(found[0], worlds[0].name);
        assert_eq!(found[MOST_RELATED..], ["reboot", "user-data-twice"]);
    }
}
