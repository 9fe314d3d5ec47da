//! Explores other worlds for the user data of scenarios: a probe of each world, and a join of each distinct machine.

mod findings;
mod queue;
mod slots;
mod subject;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures::future::join_all;
use futures::stream::{self, StreamExt as _};
use nodejoin_core::compare::{
    Dimension, MachineState, WorldChange, settled_differences, step_changes, world_changes,
};
use nodejoin_core::explore::{
    Exploration, ExploreFinding, ExploredWorld, FindingKind, Reproduction, covering,
};
use nodejoin_core::judge::verdict::Outcome;
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::ids::ScenarioId;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::plan_runner::PlanRunner;
use crate::probe::ProbeEnd;
use crate::report::text::outcome_word;
use findings::{Explored, Findings, Joins, WorldEnd, WorldJoin, WorldMachine, shows};
use queue::Queue;
use slots::{Slot, Slots};
use subject::{changed, joining, on_own_instance};

pub use subject::Subject;

/// How worlds are explored.
#[derive(Debug, Clone)]
pub struct ExploreSettings {
    /// Worlds that run at the same time.
    pub jobs: usize,
    /// Time after which no further world starts.
    pub budget: Duration,
    /// Decides which changes are combined.
    pub seed: u64,
    /// Whether one world of each distinct machine joins.
    pub joins: bool,
    /// Whether bash reports the commands that scripts run, for the order of combinations.
    pub traces: bool,
    /// Names of the only changes; all changes if empty.
    pub changes: Vec<String>,
}

/// What an exploration reports while it runs.
#[derive(Debug)]
pub enum ExploreStep<'a> {
    /// A world ran up to the start of its kubelet.
    Probed { world: &'a ScenarioId, result: String },
    /// A world joined, or did not.
    Joined { world: &'a ScenarioId, result: String },
}

/// Probes start in this part of the time; the rest belongs to joins.
const SHARE_OF_PROBES: f64 = 0.7;

/// Explores all subjects. If it is cancelled, the exploration has what ended before.
pub async fn explore(
    runner: &PlanRunner,
    subjects: &[Subject],
    settings: ExploreSettings,
    report: &(dyn Fn(ExploreStep<'_>) + Sync),
    cancel: &CancellationToken,
) -> Exploration {
    let started = Instant::now();
    let explorer = Explorer {
        runner,
        slots: Slots::new(settings.jobs),
        settings: settings.clone(),
        probes_until: started
            + settings
                .budget
                .mul_f64(if settings.joins { SHARE_OF_PROBES } else { 1.0 }),
        joins_until: started + settings.budget,
        report,
        cancel,
    };
    let mut exploration = Exploration {
        seed: settings.seed,
        ..Exploration::default()
    };
    for subject in subjects {
        explorer.subject(subject, &mut exploration).await;
    }
    let findings = std::mem::take(&mut exploration.findings);
    exploration.findings = findings.into_iter().map(ExploreFinding::with_id).collect();
    exploration
        .findings
        .sort_by_key(|finding| (finding.kind, finding.only_with.len()));
    exploration.cancelled = cancel.is_cancelled();
    exploration.seconds = started.elapsed().as_secs_f64();
    exploration
}

struct Explorer<'a> {
    runner: &'a PlanRunner,
    slots: Slots,
    settings: ExploreSettings,
    probes_until: Instant,
    joins_until: Instant,
    report: &'a (dyn Fn(ExploreStep<'_>) + Sync),
    cancel: &'a CancellationToken,
}

impl Explorer<'_> {
    async fn subject(&self, subject: &Subject, exploration: &mut Exploration) {
        // Steps that follow are those of worlds.
        let subject = &Subject {
            plan: Plan {
                then: Vec::new(),
                ..subject.plan.clone()
            },
            inputs: subject.inputs.clone(),
        };
        let base = match self.probe(&subject.plan).await {
            WorldEnd::Machine(machine) => machine,
            WorldEnd::NotRun(why) => {
                exploration.worlds.push(ExploredWorld {
                    scenario: subject.plan.id.clone(),
                    changes: Vec::new(),
                    new_commands: 0,
                    not_run: Some(why),
                    same_machine_as: None,
                    join: None,
                });
                return;
            }
            WorldEnd::LeftOut => return,
        };
        self.tell_probed(&subject.plan.id, &base);
        let mut changes = world_changes(&subject.plan, &base.requests, &subject.inputs);
        if base.state.has_kubelet() {
            changes.extend(step_changes(
                &subject.plan,
                &base.state,
                &subject.inputs.arguments,
            ));
        }
        let only = &self.settings.changes;
        changes.retain(|change| only.is_empty() || only.contains(&change.name));
        let boots = async {
            let second = self.second_boot(subject).await;
            let race = match second.as_deref() {
                Some(second) => self.race(subject, &base, second).await,
                None => None,
            };
            (second, race)
        };
        let ((second, race), mut worlds) = tokio::join!(boots, self.worlds(subject, &changes, &base));
        exploration.findings.extend(race);
        let base = Explored {
            plan: subject.plan.clone(),
            changes: Vec::new(),
            end: WorldEnd::Machine(base),
        };
        worlds.insert(0, base);
        let joins = self.join_distinct(&worlds).await;
        let found = Findings {
            subject,
            changes: &changes,
            worlds: &worlds,
            joins: &joins,
            second: second.as_deref(),
        };
        let mut findings = found.all();
        for finding in &mut findings {
            self.minimize(&found, finding).await;
        }
        exploration.findings.extend(findings);
        exploration.machines += joins.machines;
        found.list(exploration);
    }

    fn is_over(&self, deadline: Instant) -> bool {
        self.cancel.is_cancelled() || Instant::now() >= deadline
    }

    fn probe_of(&self, plan: &Plan) -> Plan {
        Plan {
            then: plan.then.clone(),
            is_traced: self.settings.traces,
            ..plan.probe()
        }
    }

    async fn probe(&self, plan: &Plan) -> WorldEnd {
        self.probe_until(plan, self.cancel).await
    }

    async fn probe_until(&self, plan: &Plan, cancel: &CancellationToken) -> WorldEnd {
        match self.runner.probe(&self.probe_of(plan), cancel).await {
            ProbeEnd::Machine(probed) => WorldEnd::of(*probed, plan),
            ProbeEnd::NotRun(why) => WorldEnd::NotRun(why),
            ProbeEnd::Cancelled => WorldEnd::LeftOut,
        }
    }

    /// Probes a plan in a slot. The time does not suffice for one that still waits for something at its end.
    async fn probe_in(&self, slot: Slot<'_>, plan: &Plan) -> WorldEnd {
        let cancel = self.cancel.child_token();
        let probe = self.probe_until(plan, &cancel);
        slot.run(probe, self.joins_until.into(), &cancel).await
    }

    fn tell_probed(&self, world: &ScenarioId, machine: &WorldMachine) {
        let result = match machine.state.has_kubelet() {
            true => "the kubelet starts",
            false => "no kubelet starts",
        };
        (self.report)(ExploreStep::Probed {
            world,
            result: result.to_owned(),
        });
    }

    async fn second_boot(&self, subject: &Subject) -> Option<Box<WorldMachine>> {
        if self.is_over(self.probes_until) {
            return None;
        }
        let slot = self.slots.wait().await;
        match self.probe_in(slot, &subject.plan).await {
            WorldEnd::Machine(second) => Some(second),
            WorldEnd::NotRun(_) | WorldEnd::LeftOut => None,
        }
    }

    /// Whether two boots of the same world leave different machines. A third boot tells values that are new each time.
    async fn race(
        &self,
        subject: &Subject,
        first: &WorldMachine,
        second: &WorldMachine,
    ) -> Option<ExploreFinding> {
        if racing_parts(&first.alone, &second.alone, None).is_empty() {
            return None;
        }
        let third = self.second_boot(subject).await;
        let third = third.as_deref().map(|third| &third.alone);
        let parts = racing_parts(&first.alone, &second.alone, third);
        (!parts.is_empty()).then(|| ExploreFinding {
            id: String::new(),
            kind: FindingKind::Race,
            worlds: vec![subject.plan.id.clone()],
            only_with: Vec::new(),
            what: "two boots of the same world leave different machines".to_owned(),
            details: parts.into_iter().map(|part| format!("differs: {part}")).collect(),
            reproduction: None,
            expect: None,
        })
    }

    /// Runs each change alone, and combinations of changes, several worlds at a time.
    async fn worlds(&self, subject: &Subject, changes: &[WorldChange], base: &WorldMachine) -> Vec<Explored> {
        let combined: Vec<usize> = (0..changes.len())
            .filter(|index| changes[*index].is_combined())
            .collect();
        let dimensions: Vec<Dimension> = combined.iter().map(|index| changes[*index].dimension).collect();
        let combinations = covering(&dimensions, self.settings.seed)
            .into_iter()
            .map(|row| row.into_iter().map(|at| combined[at]).collect())
            .filter(|row: &Vec<usize>| row.len() > 1);
        let mut taken = BTreeSet::new();
        let worlds = (0..changes.len())
            .map(|index| vec![index])
            .chain(combinations)
            .map(|row| {
                let plan = on_own_instance(changed(subject, changes, &row), &mut taken);
                (row, plan)
            });
        let queue = Mutex::new(Queue::new(base, worlds));
        let take_turns = async |_| {
            loop {
                let slot = self.slots.wait().await;
                let Some(world) = queue.lock().next() else { return };
                let end = match self.is_over(self.probes_until) {
                    true => WorldEnd::LeftOut,
                    false => self.probe_in(slot, &world.plan).await,
                };
                if let WorldEnd::Machine(machine) = &end {
                    self.tell_probed(&world.plan.id, machine);
                }
                queue.lock().end(world, end);
            }
        };
        join_all((0..self.slots.most()).map(take_turns)).await;
        queue.into_inner().into_explored()
    }

    /// Joins the first world of each distinct machine with a kubelet. The first machine always joins; the others while
    /// there is time.
    async fn join_distinct(&self, worlds: &[Explored]) -> Joins {
        let mut joins = Joins {
            machines: 0,
            same_as: vec![None; worlds.len()],
            verdicts: Vec::new(),
        };
        let mut firsts: Vec<usize> = Vec::new();
        for (index, world) in worlds.iter().enumerate() {
            let Some(machine) = world.machine() else { continue };
            let is_same = |first: &&usize| {
                worlds[**first].plan.then == world.plan.then
                    && worlds[**first]
                        .machine()
                        .is_some_and(|other| other.alone == machine.alone)
            };
            match firsts.iter().find(is_same) {
                Some(first) => joins.same_as[index] = Some(*first),
                None => firsts.push(index),
            }
        }
        joins.machines = firsts
            .iter()
            .filter(|index| worlds[**index].plan.then.is_empty())
            .count();
        if !self.settings.joins {
            return joins;
        }
        let joins_alone = |index: &usize| {
            let world = &worlds[*index];
            let starts_kubelet = world.machine().is_some_and(|machine| machine.state.has_kubelet());
            // Whether values of an earlier run stay is seen on the machine.
            starts_kubelet && world.plan.then.iter().all(|step| step.without.is_none())
        };
        let one = async |index: usize| {
            if self.cancel.is_cancelled() || (index > 0 && self.is_over(self.joins_until)) {
                return None;
            }
            let plan = joining(&worlds[index].plan);
            let verdict = self.runner.run(&plan, self.cancel).await;
            if verdict.outcome == Outcome::Cancelled {
                return None;
            }
            (self.report)(ExploreStep::Joined {
                world: &plan.id,
                result: outcome_word(&verdict.outcome).to_owned(),
            });
            let evidence = self.runner.evidence_folder(&plan);
            let evidence = evidence.is_dir().then(|| evidence.display().to_string());
            Some((index, WorldJoin { verdict, evidence }))
        };
        let verdicts: Vec<_> = stream::iter(firsts.into_iter().filter(joins_alone))
            .map(one)
            .buffer_unordered(self.settings.jobs.max(1))
            .collect()
            .await;
        joins.verdicts = verdicts.into_iter().flatten().collect();
        joins.verdicts.sort_by_key(|(index, _)| *index);
        joins
    }

    /// Leaves out each change without which a finding of combined changes stays.
    async fn minimize(&self, found: &Findings<'_>, finding: &mut ExploreFinding) {
        let needed = self.needed(found, finding).await;
        finding.only_with = found.names(&needed);
        finding.reproduction = Some(Box::new(Reproduction {
            scenario: found.subject.plan.clone(),
            world: changed(found.subject, found.changes, &needed),
        }));
    }

    /// The changes that a finding needs.
    async fn needed(&self, found: &Findings<'_>, finding: &ExploreFinding) -> Vec<usize> {
        let Some(world) = found
            .worlds
            .iter()
            .find(|world| finding.worlds.first() == Some(&world.plan.id))
        else {
            return Vec::new();
        };
        let mut needed = world.changes.clone();
        if needed.len() < 2 || finding.kind == FindingKind::NoJoin {
            return needed;
        }
        for change in world.changes.clone() {
            let fewer: Vec<usize> = needed.iter().copied().filter(|one| *one != change).collect();
            if fewer.is_empty() || self.is_over(self.joins_until) {
                break;
            }
            let plan = changed(found.subject, found.changes, &fewer);
            let WorldEnd::Machine(machine) = self.probe(&plan).await else {
                continue;
            };
            if shows(&machine, finding) {
                needed = fewer;
            }
        }
        needed
    }
}

/// The parts by which two boots differ, without those that are new at each boot, such as generated keys: a race has few
/// ends.
fn racing_parts(first: &MachineState, second: &MachineState, third: Option<&MachineState>) -> Vec<String> {
    let mut parts = settled_differences(first, second);
    if let Some(third) = third {
        let (of_first, of_second) = (
            settled_differences(first, third),
            settled_differences(second, third),
        );
        parts.retain(|part| !(of_first.contains(part) && of_second.contains(part)));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_each_boot_makes_anew_is_no_race() {
        let machine = |key: &str, label: &str| {
            let parts = [("file /etc/docker/key.json", key), ("file /etc/pool", label)];
            MachineState::of_machine(
                parts
                    .map(|(part, text)| (part.to_owned(), text.to_owned()))
                    .into(),
            )
        };
        let (first, second) = (machine("kid: ABC", "blue"), machine("kid: XYZ", "green"));
        let third = machine("kid: JKL", "blue");
        assert_eq!(racing_parts(&first, &second, None).len(), 2);
        assert_eq!(racing_parts(&first, &second, Some(&third)), ["file /etc/pool"]);
    }
}
