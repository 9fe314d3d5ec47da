//! The worlds of a subject, in the order in which they run: each change alone, then combinations.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use nodejoin_core::plan::Plan;

use super::findings::{Explored, WorldEnd, WorldMachine};

/// A world that has not started.
pub(super) struct QueuedWorld {
    /// Its place in the report.
    pub(super) index: usize,
    /// Indexes of its changes.
    pub(super) changes: Vec<usize>,
    pub(super) plan: Plan,
}

pub(super) struct Queue<'a> {
    /// What the worlds are compared with.
    base: &'a WorldMachine,
    alone: VecDeque<QueuedWorld>,
    combined: Vec<QueuedWorld>,
    /// Changes that alone leave another machine, or run further commands.
    effective: BTreeSet<usize>,
    ended: BTreeMap<usize, Explored>,
}

impl<'a> Queue<'a> {
    pub(super) fn new(base: &'a WorldMachine, worlds: impl IntoIterator<Item = (Vec<usize>, Plan)>) -> Self {
        let worlds = worlds
            .into_iter()
            .enumerate()
            .map(|(index, (changes, plan))| QueuedWorld { index, changes, plan });
        let (alone, combined): (Vec<_>, Vec<_>) = worlds.partition(|world| world.changes.len() < 2);
        Self {
            base,
            alone: alone.into(),
            combined,
            effective: BTreeSet::new(),
            ended: BTreeMap::new(),
        }
    }

    /// The next world: a change alone, then the combination with most changes that alone have an effect.
    pub(super) fn next(&mut self) -> Option<QueuedWorld> {
        if let Some(world) = self.alone.pop_front() {
            return Some(world);
        }
        let effects = |world: &QueuedWorld| {
            let effective = world
                .changes
                .iter()
                .filter(|change| self.effective.contains(*change));
            effective.count()
        };
        let most = self.combined.iter().map(effects).max()?;
        let index = self.combined.iter().position(|world| effects(world) == most)?;
        Some(self.combined.remove(index))
    }

    pub(super) fn end(&mut self, world: QueuedWorld, end: WorldEnd) {
        let QueuedWorld { index, changes, plan } = world;
        if let (WorldEnd::Machine(machine), [change]) = (&end, &changes[..])
            && (machine.alone != self.base.alone || !machine.commands.is_subset(&self.base.commands))
        {
            self.effective.insert(*change);
        }
        self.ended.insert(index, Explored { plan, changes, end });
    }

    /// What came of the worlds, in the order in which they were given.
    pub(super) fn into_explored(self) -> Vec<Explored> {
        self.ended.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use nodejoin_core::plan::Plan;

    use super::*;
    use crate::testing::{plan, probed};

    fn machine(kubelet: &str) -> WorldEnd {
        WorldEnd::of(probed(kubelet), &plan("name: x\n"))
    }

    fn changes_of(world: Option<&QueuedWorld>) -> Vec<usize> {
        world.map(|world| world.changes.clone()).unwrap_or_default()
    }

    #[test]
    fn combinations_of_changes_with_an_effect_come_first() {
        let WorldEnd::Machine(base) = machine("--v=2") else {
            panic!("no machine");
        };
        let rows = [vec![0], vec![1], vec![2], vec![0, 1], vec![0, 2], vec![1, 2]];
        let worlds = rows.map(|row| -> (Vec<usize>, Plan) { (row, plan("name: x\n")) });
        let mut queue = Queue::new(&base, worlds);
        let alone: Vec<QueuedWorld> = (0..3).filter_map(|_| queue.next()).collect();
        for world in alone {
            let arguments = if world.changes == [1] { "--v=2" } else { "--v=3" };
            queue.end(world, machine(arguments));
        }
        let first = queue.next();
        assert_eq!(changes_of(first.as_ref()), [0, 2]);
        queue.end(first.unwrap(), WorldEnd::LeftOut);
        assert_eq!(changes_of(queue.next().as_ref()), [0, 1]);
        assert_eq!(changes_of(queue.next().as_ref()), [1, 2]);
        assert!(queue.next().is_none());
        let ended: Vec<Vec<usize>> = queue.into_explored().into_iter().map(|one| one.changes).collect();
        assert_eq!(ended, [vec![0], vec![1], vec![2], vec![0, 2]]);
    }
}
