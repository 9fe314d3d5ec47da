//! The runs of mutants: which scenarios a mutant runs, in which order, and when its result is known.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::time::Instant;

use futures::stream::{FuturesUnordered, StreamExt as _};
use nodejoin_core::compare::{MachineDifference, MachineState, differences};
use nodejoin_core::judge::verdict::{Outcome, Verdict};
use nodejoin_core::mutation::{MutantResult, Noticed, noticed, together};
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::expect::Expect;
use nodejoin_core::plan::ids::ScenarioId;
use nodejoin_core::scenario::with_own_instance;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::base::{BaseScenario, FurtherBoot};
use super::broken::broken_check;
use super::end::{JoinEnd, MutantRun, retain_repeated, without_kubelet};
use super::kills::Kills;
use super::mutant::{KillingExpectation, MutantCase, MutantOutcome};
use super::progress::{MutantProgress, Survival};
use super::script::{MutatedScript, ReplaceScript};
use super::settings::MutationSettings;
use super::together::merged;
use crate::comparison::{cause_of, words_of};
use crate::machine_snapshot;
use crate::plan_runner::PlanRunner;
use crate::probe::{ProbeEnd, Probed};

/// A scenario with a mutant may take this many times as long as with the script as it is, and this many seconds more.
const SLOWER: (f64, f64) = (2.0, 15.0);
/// Further boots of the script as it is that tell what differs from boot to boot: one before a scenario joins with a
/// mutant, and a second one before a mutant counts as survived.
const BOOTS_BEFORE_JOIN: usize = 1;
const BOOTS_OF_SURVIVOR: usize = 2;

pub(super) struct MutantRuns<'a> {
    runner: &'a PlanRunner,
    base: &'a [BaseScenario],
    /// The script as it is.
    original: &'a str,
    replace: &'a ReplaceScript<'a>,
    settings: &'a MutationSettings,
    /// Time after which no further scenario starts.
    until: Option<Instant>,
    cancel: &'a CancellationToken,
    kills: Kills,
    /// How joins of changed machines ended.
    joined: Mutex<Vec<(usize, MachineState, JoinEnd)>>,
    /// Addresses of instances.
    taken: Mutex<BTreeSet<Ipv4Addr>>,
    /// One permit for each node at a time.
    slots: Semaphore,
}

impl<'a> MutantRuns<'a> {
    pub(super) fn new(
        runner: &'a PlanRunner,
        base: &'a [BaseScenario],
        script: &'a MutatedScript<'a>,
        settings: &'a MutationSettings,
        cancel: &'a CancellationToken,
    ) -> Self {
        Self {
            runner,
            base,
            original: script.original,
            replace: script.replace,
            settings,
            until: settings.budget.map(|budget| Instant::now() + budget),
            cancel,
            kills: Kills::default(),
            joined: Mutex::default(),
            taken: Mutex::default(),
            slots: Semaphore::new(settings.jobs.max(1)),
        }
    }

    async fn probed(&self, plan: &Plan, cancel: &CancellationToken) -> ProbeEnd {
        let _slot = self.slots.acquire().await;
        self.runner.probe(plan, cancel).await
    }

    async fn verdict(&self, plan: &Plan, cancel: &CancellationToken) -> Verdict {
        let _slot = self.slots.acquire().await;
        self.runner.run(plan, cancel).await
    }

    /// A mutant before its runs.
    pub(super) fn begin<'m>(&self, mutant: &'m MutantCase) -> MutantProgress<'m> {
        let scenarios = self.kills.order(mutant.line, &mutant.reached_by);
        MutantProgress::new(mutant, scenarios, self.settings.most)
    }

    /// Orders the scenarios of mutants anew: others were killed since they began.
    pub(super) fn prefer_killers(&self, pending: &mut [MutantProgress<'_>]) {
        for progress in pending {
            let line = progress.mutant.line;
            progress.order(|left| self.kills.order(line, left));
        }
    }

    /// Ids and expectations of all scenarios.
    fn scenarios(&self) -> Vec<(&'a ScenarioId, &'a Expect)> {
        let of_plan = |base: &'a BaseScenario| (&base.plan.id, &base.plan.expect);
        self.base.iter().map(of_plan).collect()
    }

    /// Runs the next scenario of a mutant alone, and all others if its machine is not the same there. Returns the
    /// result once it is known.
    pub(super) async fn run_next(&self, progress: &mut MutantProgress<'_>) -> Option<MutantResult> {
        while progress.has_next() {
            if self.is_over() {
                return Some(MutantResult::LeftOut);
            }
            // The first scenario often decides. Further ones use what is idle otherwise.
            let idle = self.slots.available_permits();
            let count = if progress.has_run() { idle.max(1) } else { 1 };
            if let Some(result) = self.run_at_once(progress, count).await {
                return Some(result);
            }
            if progress.is_same_everywhere() && progress.has_next() {
                return None;
            }
        }
        // Another scenario could have killed it.
        Some(match self.cancel.is_cancelled() {
            true => MutantResult::LeftOut,
            false => progress.result(),
        })
    }

    /// Runs the next scenarios of a mutant, this many at most, until one decides it. The others end then.
    async fn run_at_once(&self, progress: &mut MutantProgress<'_>, count: usize) -> Option<MutantResult> {
        let mutant = progress.mutant;
        let indexes: Vec<usize> = std::iter::from_fn(|| progress.next()).take(count).collect();
        let decided = self.cancel.child_token();
        let mut running: FuturesUnordered<_> = indexes
            .into_iter()
            .map(async |index| (index, self.run(index, mutant, &decided).await))
            .collect();
        let (scenarios, mut result) = (self.scenarios(), None);
        while let Some((index, run)) = running.next().await {
            if result.is_some() {
                continue;
            }
            if matches!(run, MutantRun::Killed(_)) {
                self.kills.add(mutant.line, index);
            }
            result = progress.note(index, &scenarios, run);
            if result.is_some() {
                decided.cancel();
            }
        }
        result
    }

    /// Runs mutants in scenarios. Each mutant left the machine of the script as it is in all scenarios so far. If the
    /// machine is the same with all of them at once, it is with each; otherwise each half runs by itself.
    pub(super) async fn run_together<'m>(
        &self,
        mut indexes: Vec<usize>,
        mut group: Vec<MutantProgress<'m>>,
    ) -> Vec<(MutantProgress<'m>, Option<MutantResult>)> {
        if group.len() > 1 && !self.is_over() {
            let probes = indexes.iter().map(|index| self.is_same_with_all(*index, &group));
            let found = futures::future::join_all(probes).await;
            let (scenarios, mutants) = (self.scenarios(), group.len());
            for progress in &mut group {
                for (index, is_same) in indexes.iter().zip(&found) {
                    progress.add_run(mutants);
                    if *is_same {
                        progress.take(*index);
                        progress.note(*index, &scenarios, MutantRun::Same);
                    }
                }
            }
            let mut found = found.into_iter();
            indexes.retain(|_| found.next() == Some(false));
        }
        if indexes.is_empty() {
            let ended = group.into_iter().map(|progress| {
                let ended = (!progress.has_next()).then(|| progress.result());
                (progress, ended)
            });
            return ended.collect();
        }
        if group.len() > 1 {
            let second = group.split_off(group.len() / 2);
            let (first, second) = tokio::join!(
                Box::pin(self.run_together(indexes.clone(), group)),
                Box::pin(self.run_together(indexes, second)),
            );
            return first.into_iter().chain(second).collect();
        }
        let mut ended = Vec::new();
        for mut progress in group {
            progress.put_first(&indexes);
            let result = self.run_next(&mut progress).await;
            ended.push((progress, result));
        }
        ended
    }

    /// Whether the machine is that of the script as it is, with all changes of a group at once.
    async fn is_same_with_all(&self, index: usize, group: &[MutantProgress<'_>]) -> bool {
        let mutants: Vec<&MutantCase> = group.iter().map(|progress| progress.mutant).collect();
        let texts: Vec<&str> = mutants.iter().map(|mutant| mutant.text.as_str()).collect();
        let (Some(text), Some(first)) = (merged(self.original, &texts), mutants.first()) else {
            return false;
        };
        let all = MutantCase {
            id: format!("{}-and-{}", first.id, mutants.len() - 1),
            line: first.line,
            text,
            reached_by: Vec::new(),
        };
        let probe = self.run_probe(index, &all, self.cancel).await;
        matches!(probe, Ok((_, found)) if found.is_empty())
    }

    /// Whether no further scenario starts.
    pub(super) fn is_over(&self) -> bool {
        self.cancel.is_cancelled() || self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// The outcome of a mutant whose result is known.
    pub(super) async fn outcome(&self, progress: &MutantProgress<'_>, result: MutantResult) -> MutantOutcome {
        let mut killer = None;
        if self.settings.searches_killers && matches!(result, MutantResult::Survived { .. }) {
            for survival in &progress.survivals {
                killer = self.killer(progress.mutant, survival).await;
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
        let original = self.verdict(&expecting(&base.plan, &values), self.cancel).await;
        let held: Vec<Noticed> = values
            .into_iter()
            .filter(|value| value.held(&original) == Some(true))
            .collect();
        if held.is_empty() {
            return None;
        }
        let changed = expecting(&self.plan(&base.plan, mutant), &held);
        let changed = self.verdict(&changed, self.cancel).await;
        let broken: Vec<Noticed> = held
            .into_iter()
            .filter(|value| value.held(&changed) == Some(false))
            .collect();
        (!broken.is_empty()).then(|| KillingExpectation {
            scenario: survival.index,
            expect: expecting(&base.plan, &broken).expect,
        })
    }

    /// A probe of a scenario with a mutant, and what differs on its machine.
    async fn run_probe(
        &self,
        index: usize,
        mutant: &MutantCase,
        cancel: &CancellationToken,
    ) -> Result<(Probed, Vec<MachineDifference>), String> {
        let base = &self.base[index];
        let plan = self.plan(&base.plan, mutant);
        let mut probe = plan.probe_with_checks();
        probe.limits.join_seconds = self.limit(&plan, base.seconds);
        match self.probed(&probe, cancel).await {
            ProbeEnd::Machine(probed) => {
                let found = self.differs(base, &probed.state, BOOTS_BEFORE_JOIN).await;
                Ok((*probed, found))
            }
            ProbeEnd::NotRun(why) => Err(why),
            ProbeEnd::Cancelled => Err("cancelled".to_owned()),
        }
    }

    async fn run(&self, index: usize, mutant: &MutantCase, cancel: &CancellationToken) -> MutantRun {
        let base = &self.base[index];
        let probed = match self.run_probe(index, mutant, cancel).await {
            Ok((_, found)) if found.is_empty() => return MutantRun::Same,
            Ok((probed, _)) => probed,
            Err(why) => return MutantRun::NotRun(why),
        };
        let stopped = without_kubelet(&base.plan, &probed);
        let is_decided = !matches!(stopped, Some(MutantRun::TimedOut | MutantRun::NotRun(_)));
        if is_decided && let Some(check) = broken_check(base, &probed.checks).await {
            return stopped.unwrap_or_else(|| MutantRun::Killed(words_of(&check)));
        }
        if is_decided && self.is_equal_to_snapshot(base) {
            let found = self.differs(base, &probed.state, BOOTS_OF_SURVIVOR).await;
            if let Some(one) = machine_snapshot::first_in_snapshot(&base.plan, &found) {
                return MutantRun::Killed(format!("golden.machine: {}", one.part));
            }
        }
        if let Some(why) = base.fails.get_or_init(|| self.fails(base)).await {
            return MutantRun::NotRun(format!("does not pass with the script as it is: {why}"));
        }
        if let Some(run) = stopped {
            return run;
        }
        let plan = self.plan(&base.plan, mutant);
        let joined = self.joined(index, plan, &probed.state, cancel).await;
        match joined {
            JoinEnd::Passed => {
                let mut found = self.differs(base, &probed.state, BOOTS_OF_SURVIVOR).await;
                if !found.is_empty()
                    && let Ok((_, again)) = self.run_probe(index, mutant, cancel).await
                {
                    retain_repeated(&mut found, &again);
                }
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
            let further = known[boot].as_ref().map(|boot| &boot.state);
            let settled = differences(&base.state, state, further);
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

    /// Whether the machine of the script as it is equals the snapshot of the scenario, which a run compares then.
    fn is_equal_to_snapshot(&self, base: &BaseScenario) -> bool {
        machine_snapshot::is_equal(&base.plan, &base.kubelet, &base.state)
    }

    async fn again(&self, base: &BaseScenario) -> Option<FurtherBoot> {
        match self.probed(&base.plan.probe_with_checks(), self.cancel).await {
            ProbeEnd::Machine(probed) => Some(FurtherBoot {
                state: probed.state,
                checks: probed.checks,
            }),
            ProbeEnd::NotRun(_) | ProbeEnd::Cancelled => None,
        }
    }

    async fn fails(&self, base: &BaseScenario) -> Option<String> {
        let slot = self.slots.acquire().await;
        let started = Instant::now();
        let verdict = self.runner.run(&base.plan, self.cancel).await;
        drop(slot);
        *base.joined_seconds.lock() = started.elapsed().as_secs_f64();
        match verdict.outcome {
            Outcome::Passed => None,
            _ => Some(cause_of(&verdict).unwrap_or_else(|| "no cause is known".to_owned())),
        }
    }

    /// How the join of a changed machine ends. Equal machines join once.
    async fn joined(
        &self,
        index: usize,
        mut plan: Plan,
        state: &MachineState,
        cancel: &CancellationToken,
    ) -> JoinEnd {
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
        let verdict = self.verdict(&plan, cancel).await;
        let end = JoinEnd::of(&verdict, is_shortened);
        if !matches!(end, JoinEnd::NotRun(_)) {
            self.joined.lock().push((index, state.clone(), end.clone()));
        }
        end
    }
}
