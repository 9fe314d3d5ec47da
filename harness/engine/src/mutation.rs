//! Runs the scenarios of a script with changed versions of it: a probe of each, and a join where the machine differs.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _};
use nodejoin_core::compare::{MachineState, differences};
use nodejoin_core::judge::verdict::Outcome;
use nodejoin_core::mutation::MutantResult;
use nodejoin_core::observation::ScriptTrace;
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::ids::ScenarioId;
use nodejoin_core::scenario::with_own_instance;
use parking_lot::Mutex;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::comparison::cause_of;
use crate::probe::ProbeEnd;
use crate::runner::Runner;
use crate::trace_log::TraceLog;

/// How mutants run.
#[derive(Debug, Clone)]
pub struct MutationSettings {
    /// Scenarios that run at the same time.
    pub jobs: usize,
    /// Time after which no further mutant starts; `None`: all run.
    pub budget: Option<Duration>,
    /// Scenarios that a mutant runs at most.
    pub most: usize,
}

/// A scenario with the script as it is.
pub struct BaseScenario {
    pub plan: Plan,
    /// What its node ran.
    pub trace: ScriptTrace,
    state: MachineState,
    /// How long its probe took.
    seconds: f64,
    /// A second probe, for what differs between two boots.
    again: OnceCell<Option<MachineState>>,
    /// Why the scenario does not pass with the script as it is; `None` if it passes.
    fails: OnceCell<Option<String>>,
    joined_seconds: Mutex<f64>,
}

/// A changed script.
pub struct MutantCase {
    /// Part of the ids of its scenarios.
    pub id: String,
    /// The whole script.
    pub text: String,
    /// Indexes of the scenarios that run the changed statement.
    pub reached_by: Vec<usize>,
}

/// Puts a script in place of the original one.
pub type ReplaceScript<'a> = dyn Fn(&Plan, &str) -> Plan + Sync + 'a;

/// A probe of each scenario with the script as it is. The second part are those that did not run, and why.
pub async fn base_scenarios(
    runner: &Runner,
    traces: &TraceLog,
    plans: &[Plan],
    jobs: usize,
    cancel: &CancellationToken,
) -> (Vec<BaseScenario>, Vec<(ScenarioId, String)>) {
    let one = async |(index, plan): (usize, &Plan)| {
        let started = Instant::now();
        let traced = Plan {
            is_traced: true,
            ..plan.probe()
        };
        let end = runner.probe(&traced, cancel).await;
        (index, end, started.elapsed().as_secs_f64())
    };
    let mut ends: Vec<_> = stream::iter(plans.iter().enumerate())
        .map(one)
        .buffer_unordered(jobs.max(1))
        .collect()
        .await;
    ends.sort_by_key(|(index, ..)| *index);
    let mut traces: BTreeMap<ScenarioId, ScriptTrace> = traces.take().into_iter().collect();
    let (mut base, mut not_run) = (Vec::new(), Vec::new());
    for (index, end, seconds) in ends {
        let plan = &plans[index];
        match end {
            ProbeEnd::State(state) => base.push(BaseScenario {
                plan: plan.clone(),
                trace: traces.remove(&plan.id).unwrap_or_default(),
                state: *state,
                seconds,
                again: OnceCell::new(),
                fails: OnceCell::new(),
                joined_seconds: Mutex::default(),
            }),
            ProbeEnd::NotRun(why) => not_run.push((plan.id.clone(), why)),
            ProbeEnd::Cancelled => {}
        }
    }
    (base, not_run)
}

/// Runs all mutants, several at a time, and returns their results in order.
pub async fn mutate(
    runner: &Runner,
    base: &[BaseScenario],
    mutants: &[MutantCase],
    replace: &ReplaceScript<'_>,
    settings: &MutationSettings,
    report: &(dyn Fn(&MutantCase, &MutantResult) + Sync),
    cancel: &CancellationToken,
) -> Vec<MutantResult> {
    let until = settings.budget.map(|budget| Instant::now() + budget);
    let runs = MutantRuns {
        runner,
        base,
        replace,
        most: settings.most,
        cancel,
        kills: Mutex::default(),
        joined: Mutex::default(),
        taken: Mutex::default(),
    };
    let one = async |(index, mutant): (usize, &MutantCase)| {
        let is_late = until.is_some_and(|until| Instant::now() >= until) || cancel.is_cancelled();
        let result = match is_late {
            true => MutantResult::LeftOut,
            false => runs.result(mutant).await,
        };
        report(mutant, &result);
        (index, result)
    };
    let mut results: Vec<_> = stream::iter(mutants.iter().enumerate())
        .map(one)
        .buffer_unordered(settings.jobs.max(1))
        .collect()
        .await;
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// A probe of a mutant may take this many times as long as that of the script as it is, and this many seconds more.
const SLOWER: (f64, f64) = (2.0, 15.0);

struct MutantRuns<'a> {
    runner: &'a Runner,
    base: &'a [BaseScenario],
    replace: &'a ReplaceScript<'a>,
    most: usize,
    cancel: &'a CancellationToken,
    /// Mutants that each scenario killed: the next mutant begins with the one that killed most.
    kills: Mutex<BTreeMap<usize, usize>>,
    /// How joins of changed machines ended: `None` if they passed.
    joined: Mutex<Vec<(usize, MachineState, Option<String>)>>,
    /// Addresses of instances.
    taken: Mutex<BTreeSet<Ipv4Addr>>,
}

/// One scenario with a mutant.
enum MutantRun {
    Same,
    /// Passed, with these differing parts.
    Passed(Vec<String>),
    Killed(String),
    NotRun(String),
}

impl MutantRuns<'_> {
    async fn result(&self, mutant: &MutantCase) -> MutantResult {
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
                MutantRun::Passed(parts) => {
                    differs.extend(parts);
                    passed.push(scenario);
                }
                MutantRun::Killed(how) => {
                    *self.kills.lock().entry(index).or_default() += 1;
                    return MutantResult::Killed { scenario, how };
                }
                MutantRun::NotRun(why) => problem = Some(format!("{scenario}: {why}")),
            }
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

    /// The scenarios of a mutant: those that killed most first.
    fn order(&self, reached_by: &[usize]) -> Vec<usize> {
        let kills = self.kills.lock();
        let mut order = reached_by.to_vec();
        order.sort_by_key(|index| std::cmp::Reverse(kills.get(index).copied().unwrap_or_default()));
        order.truncate(self.most.max(1));
        order
    }

    async fn run(&self, index: usize, mutant: &MutantCase) -> MutantRun {
        let base = &self.base[index];
        let plan = self.plan(&base.plan, mutant);
        let mut probe = plan.probe();
        probe.limits.join_seconds = probe.limits.join_seconds.min(base.seconds * SLOWER.0 + SLOWER.1);
        let state = match self.runner.probe(&probe, self.cancel).await {
            ProbeEnd::State(state) => *state,
            ProbeEnd::NotRun(why) => return MutantRun::NotRun(why),
            ProbeEnd::Cancelled => return MutantRun::NotRun("cancelled".to_owned()),
        };
        if differences(&base.state, &state, None).is_empty() {
            return MutantRun::Same;
        }
        let again = base.again.get_or_init(|| self.again(base)).await;
        let found = differences(&base.state, &state, again.as_ref());
        if found.is_empty() {
            return MutantRun::Same;
        }
        if let Some(why) = base.fails.get_or_init(|| self.fails(base)).await {
            return MutantRun::NotRun(format!("does not pass with the script as it is: {why}"));
        }
        // A scenario whose node joins cannot pass without a kubelet.
        if base.plan.expect.diagnosis.is_none() && base.state.has_kubelet() && !state.has_kubelet() {
            return MutantRun::Killed("no kubelet starts".to_owned());
        }
        let parts = found.into_iter().map(|difference| difference.part).collect();
        match self.joined(index, plan, state).await {
            Ok(None) => MutantRun::Passed(parts),
            Ok(Some(how)) => MutantRun::Killed(how),
            Err(why) => MutantRun::NotRun(why),
        }
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
            ProbeEnd::State(state) => Some(*state),
            ProbeEnd::NotRun(_) | ProbeEnd::Cancelled => None,
        }
    }

    async fn fails(&self, base: &BaseScenario) -> Option<String> {
        let started = Instant::now();
        let verdict = self.runner.run(&base.plan, self.cancel).await;
        *base.joined_seconds.lock() = started.elapsed().as_secs_f64();
        match verdict.outcome {
            Outcome::Passed => None,
            _ => Some(cause_of(&verdict).unwrap_or_else(|| "no cause is known".to_owned())),
        }
    }

    /// Why the join of a changed machine does not pass; `None` if it passes. Equal machines join once.
    async fn joined(
        &self,
        index: usize,
        mut plan: Plan,
        state: MachineState,
    ) -> Result<Option<String>, String> {
        let known =
            self.joined.lock().iter().find_map(|(scenario, known, end)| {
                (*scenario == index && *known == state).then(|| end.clone())
            });
        if let Some(end) = known {
            return Ok(end);
        }
        let limit = *self.base[index].joined_seconds.lock() * SLOWER.0 + SLOWER.1;
        plan.limits.join_seconds = plan.limits.join_seconds.min(limit);
        let verdict = self.runner.run(&plan, self.cancel).await;
        let end = match &verdict.outcome {
            Outcome::Passed => None,
            Outcome::Failed => Some(cause_of(&verdict).unwrap_or_else(|| "the scenario fails".to_owned())),
            Outcome::Errored(why) | Outcome::Skipped(why) => return Err(why.clone()),
            Outcome::Cancelled => return Err("cancelled".to_owned()),
        };
        self.joined.lock().push((index, state, end.clone()));
        Ok(end)
    }
}
