//! The runs of mutants: which scenarios a mutant runs, in which order, and when its result is known.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::atomic::Ordering;
use std::time::Instant;

use nodejoin_core::compare::{MachineDifference, MachineState, differences};
use nodejoin_core::judge::MACHINE_SNAPSHOT;
use nodejoin_core::judge::verdict::Outcome;
use nodejoin_core::mutation::{MutantResult, Noticed, noticed, together};
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::expect::Expect;
use nodejoin_core::scenario::with_own_instance;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::end::{JoinEnd, MutantRun, without_kubelet};
use super::{BaseScenario, KillingExpectation, MutantCase, MutantOutcome, MutationSettings, ReplaceScript};
use crate::comparison::cause_of;
use crate::machine_snapshot;
use crate::plan_runner::PlanRunner;
use crate::probe::ProbeEnd;

/// A scenario with a mutant may take this many times as long as with the script as it is, and this many seconds more.
const SLOWER: (f64, f64) = (2.0, 15.0);
/// Further boots of the script as it is that tell what differs from boot to boot: one before a scenario joins with a
/// mutant, and a second one before a mutant counts as survived.
const BOOTS_BEFORE_JOIN: usize = 1;
const BOOTS_OF_SURVIVOR: usize = 2;

pub(super) struct MutantRuns<'a> {
    runner: &'a PlanRunner,
    base: &'a [BaseScenario],
    replace: &'a ReplaceScript<'a>,
    settings: &'a MutationSettings,
    cancel: &'a CancellationToken,
    /// Mutants that each scenario killed.
    kills: Mutex<BTreeMap<usize, usize>>,
    /// How joins of changed machines ended.
    joined: Mutex<Vec<(usize, MachineState, JoinEnd)>>,
    /// Addresses of instances.
    taken: Mutex<BTreeSet<Ipv4Addr>>,
}

/// A scenario that passes with a mutant, and the machine that it leaves.
struct Survival {
    index: usize,
    state: Box<MachineState>,
    differences: Vec<MachineDifference>,
}

impl<'a> MutantRuns<'a> {
    pub(super) fn new(
        runner: &'a PlanRunner,
        base: &'a [BaseScenario],
        replace: &'a ReplaceScript<'a>,
        settings: &'a MutationSettings,
        cancel: &'a CancellationToken,
    ) -> Self {
        Self {
            runner,
            base,
            replace,
            settings,
            cancel,
            kills: Mutex::default(),
            joined: Mutex::default(),
            taken: Mutex::default(),
        }
    }

    pub(super) async fn outcome(&self, mutant: &MutantCase) -> MutantOutcome {
        let mut survivals = Vec::new();
        let result = self.result(mutant, &mut survivals).await;
        let mut killer = None;
        if self.settings.searches_killers && matches!(result, MutantResult::Survived { .. }) {
            for survival in &survivals {
                killer = self.killer(mutant, survival).await;
                if killer.is_some() {
                    break;
                }
            }
        }
        MutantOutcome { result, killer }
    }

    /// The values of the machine that a scenario can check and that tell the script from the mutant, each of which held
    /// in a join with the script and did not in one with the mutant.
    async fn killer(&self, mutant: &MutantCase, survival: &Survival) -> Option<KillingExpectation> {
        let base = &self.base[survival.index];
        let values = noticed(&base.state, &survival.state, &survival.differences);
        if values.is_empty() {
            return None;
        }
        let expecting = |plan: &Plan, values: &[Noticed]| Plan {
            expect: Expect {
                phase: plan.expect.phase,
                diagnosis: plan.expect.diagnosis,
                ..together(values)
            },
            golden: None,
            then: Vec::new(),
            ..plan.clone()
        };
        let original = self
            .runner
            .run(&expecting(&base.plan, &values), self.cancel)
            .await;
        let held: Vec<Noticed> = values
            .into_iter()
            .filter(|value| value.held(&original) == Some(true))
            .collect();
        if held.is_empty() {
            return None;
        }
        let changed = expecting(&self.plan(&base.plan, mutant), &held);
        let changed = self.runner.run(&changed, self.cancel).await;
        let broken: Vec<Noticed> = held
            .into_iter()
            .filter(|value| value.held(&changed) == Some(false))
            .collect();
        (!broken.is_empty()).then(|| KillingExpectation {
            scenario: survival.index,
            expect: expecting(&base.plan, &broken).expect,
        })
    }

    async fn result(&self, mutant: &MutantCase, survivals: &mut Vec<Survival>) -> MutantResult {
        if mutant.reached_by.is_empty() {
            return MutantResult::Uncovered;
        }
        let (mut same, mut passed, mut differs, mut problem) =
            (Vec::new(), Vec::new(), BTreeSet::new(), None);
        for index in self.order(&mutant.reached_by) {
            let scenario = self.base[index].plan.id.clone();
            if self.cancel.is_cancelled() {
                return MutantResult::LeftOut;
            }
            match self.run(index, mutant).await {
                MutantRun::Same => same.push(scenario),
                MutantRun::Passed(state, differences) => {
                    differs.extend(differences.iter().map(|difference| difference.part.clone()));
                    passed.push(scenario);
                    survivals.push(Survival {
                        index,
                        state,
                        differences,
                    });
                }
                MutantRun::Killed(how) => {
                    *self.kills.lock().entry(index).or_default() += 1;
                    return MutantResult::Killed { scenario, how };
                }
                MutantRun::TimedOut => return MutantResult::TimedOut { scenario },
                MutantRun::NotRun(why) => problem = Some(format!("{scenario}: {why}")),
            }
        }
        // Another scenario could have killed it.
        if self.cancel.is_cancelled() {
            return MutantResult::LeftOut;
        }
        match (passed.is_empty(), same.is_empty(), problem) {
            (false, ..) => MutantResult::Survived {
                scenarios: passed,
                differs: differs.into_iter().collect(),
            },
            (true, false, _) => MutantResult::Equivalent { scenarios: same },
            (true, true, why) => MutantResult::NotRun {
                why: why.unwrap_or_else(|| "no scenario ran".to_owned()),
            },
        }
    }

    /// The scenarios of a mutant: the one that killed most, then the others in their order.
    fn order(&self, reached_by: &[usize]) -> Vec<usize> {
        let kills = self.kills.lock();
        let kills = |index: &usize| kills.get(index).copied().unwrap_or_default();
        let mut order = reached_by.to_vec();
        if let Some(most) = order.iter().copied().max_by_key(kills)
            && kills(&most) > 0
        {
            order.retain(|index| *index != most);
            order.insert(0, most);
        }
        order.truncate(self.settings.most.max(1));
        order
    }

    async fn run(&self, index: usize, mutant: &MutantCase) -> MutantRun {
        let base = &self.base[index];
        let plan = self.plan(&base.plan, mutant);
        let mut probe = plan.probe();
        probe.limits.join_seconds = self.limit(&plan, base.seconds);
        let probed = match self.runner.probe(&probe, self.cancel).await {
            ProbeEnd::Machine(probed) => *probed,
            ProbeEnd::NotRun(why) => return MutantRun::NotRun(why),
            ProbeEnd::Cancelled => return MutantRun::NotRun("cancelled".to_owned()),
        };
        if self
            .differs(base, &probed.state, BOOTS_BEFORE_JOIN)
            .await
            .is_empty()
        {
            return MutantRun::Same;
        }
        if let Some(why) = base.fails.get_or_init(|| self.fails(base)).await {
            return MutantRun::NotRun(format!("does not pass with the script as it is: {why}"));
        }
        if let Some(run) = without_kubelet(&base.plan, &probed) {
            return run;
        }
        if base.compares_machine.load(Ordering::Relaxed) {
            let found = self.differs(base, &probed.state, BOOTS_OF_SURVIVOR).await;
            if let Some(one) = machine_snapshot::first_in_snapshot(&base.plan, &found) {
                return MutantRun::Killed(format!("golden.machine: {}", one.part));
            }
        }
        let joined = self.joined(index, plan, &probed.state).await;
        match joined {
            JoinEnd::Passed => {
                let found = self.differs(base, &probed.state, BOOTS_OF_SURVIVOR).await;
                match found.is_empty() {
                    true => MutantRun::Same,
                    false => MutantRun::Passed(Box::new(probed.state), found),
                }
            }
            JoinEnd::Killed(how) => MutantRun::Killed(how),
            JoinEnd::TimedOut => MutantRun::TimedOut,
            JoinEnd::NotRun(why) => MutantRun::NotRun(why),
        }
    }

    /// How long a scenario may take that takes this many seconds with the script as it is.
    fn limit(&self, plan: &Plan, seconds: f64) -> f64 {
        let slower = seconds * SLOWER.0 + SLOWER.1;
        let limit = self
            .settings
            .timeout
            .map_or(slower, |timeout| timeout.as_secs_f64());
        plan.limits.join_seconds.min(limit)
    }

    /// What differs from the script as it is, and from none of its further boots.
    async fn differs(
        &self,
        base: &BaseScenario,
        state: &MachineState,
        boots: usize,
    ) -> Vec<MachineDifference> {
        let mut found = differences(&base.state, state, None);
        let mut known = base.boots.lock().await;
        for boot in 0..boots {
            if found.is_empty() {
                break;
            }
            if known.len() <= boot {
                known.push(self.again(base).await);
            }
            let settled = differences(&base.state, state, known[boot].as_ref());
            found.retain(|one| settled.iter().any(|other| other.part == one.part));
        }
        found
    }

    /// The scenario with the changed script, on an instance of its own.
    fn plan(&self, plan: &Plan, mutant: &MutantCase) -> Plan {
        let mut plan = (self.replace)(plan, &mutant.text);
        if let Ok(id) = format!("{}@{}", plan.id, mutant.id).parse() {
            plan.id = id;
        }
        let id = plan.id.clone();
        with_own_instance(&plan, &id, &mut self.taken.lock())
    }

    async fn again(&self, base: &BaseScenario) -> Option<MachineState> {
        match self.runner.probe(&base.plan.probe(), self.cancel).await {
            ProbeEnd::Machine(probed) => Some(probed.state),
            ProbeEnd::NotRun(_) | ProbeEnd::Cancelled => None,
        }
    }

    async fn fails(&self, base: &BaseScenario) -> Option<String> {
        let started = Instant::now();
        let verdict = self.runner.run(&base.plan, self.cancel).await;
        *base.joined_seconds.lock() = started.elapsed().as_secs_f64();
        let is_compared = verdict
            .checks
            .iter()
            .any(|check| check.key == MACHINE_SNAPSHOT && check.held);
        base.compares_machine.store(is_compared, Ordering::Relaxed);
        match verdict.outcome {
            Outcome::Passed => None,
            _ => Some(cause_of(&verdict).unwrap_or_else(|| "no cause is known".to_owned())),
        }
    }

    /// How the join of a changed machine ends. Equal machines join once.
    async fn joined(&self, index: usize, mut plan: Plan, state: &MachineState) -> JoinEnd {
        let known =
            self.joined.lock().iter().find_map(|(scenario, known, end)| {
                (*scenario == index && known == state).then(|| end.clone())
            });
        if let Some(end) = known {
            return end;
        }
        let limit = self.limit(&plan, *self.base[index].joined_seconds.lock());
        let is_shortened = limit < plan.limits.join_seconds;
        plan.limits.join_seconds = limit;
        let verdict = self.runner.run(&plan, self.cancel).await;
        let end = JoinEnd::of(&verdict, is_shortened);
        if !matches!(end, JoinEnd::NotRun(_)) {
            self.joined.lock().push((index, state.clone(), end.clone()));
        }
        end
    }
}
