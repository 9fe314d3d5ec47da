//! Runs the scenarios of a script with changed versions of it: a probe of each, and a join where the machine differs.

mod broken;
mod end;
mod kills;
mod progress;
mod runs;
mod together;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures::future::Either;
use futures::stream::{self, FuturesUnordered, StreamExt as _};
use nodejoin_core::compare::MachineState;
use nodejoin_core::judge::verdict::Check;
use nodejoin_core::mutation::MutantResult;
use nodejoin_core::observation::ScriptTrace;
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::expect::Expect;
use nodejoin_core::plan::ids::ScenarioId;
use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, OnceCell};
use tokio_util::sync::CancellationToken;

use crate::plan_runner::PlanRunner;
use crate::probe::ProbeEnd;
use crate::trace_log::TraceLog;
use progress::MutantProgress;
use runs::MutantRuns;
use together::take_group;

/// How mutants run.
#[derive(Debug, Clone)]
pub struct MutationSettings {
    /// Scenarios that run at the same time.
    pub jobs: usize,
    /// Time after which no further mutant starts; `None`: all run.
    pub budget: Option<Duration>,
    /// Runs that a mutant causes at most, until a scenario passes with another machine: as many once more then. A run
    /// of several mutants counts in part.
    pub most: usize,
    /// Time after which a scenario with a mutant has timed out; `None`: twice the time of the script as it is, and
    /// 15 s more.
    pub timeout: Option<Duration>,
    /// Whether to search an expectation for each mutant that survives.
    pub searches_killers: bool,
}

/// A mutant after its runs.
pub struct MutantOutcome {
    pub result: MutantResult,
    /// What would notice a mutant that survived; `None` if it did not, or nothing was found.
    pub killer: Option<KillingExpectation>,
}

/// An expectation that holds with the script as it is, and not with a mutant.
pub struct KillingExpectation {
    /// Index of the scenario.
    pub scenario: usize,
    pub expect: Expect,
}

/// A scenario with the script as it is.
pub struct BaseScenario {
    pub plan: Plan,
    /// What its node ran.
    pub trace: ScriptTrace,
    state: MachineState,
    /// Version of its kubelet.
    kubelet: String,
    /// What its machine says of the scenario's expectations.
    checks: Vec<Check>,
    /// How long its probe took.
    seconds: f64,
    /// Further boots, for what differs between two of them.
    boots: AsyncMutex<Vec<Option<FurtherBoot>>>,
    /// Why the scenario does not pass with the script as it is; `None` if it passes.
    fails: OnceCell<Option<String>>,
    joined_seconds: Mutex<f64>,
}

/// A further boot of a scenario with the script as it is.
struct FurtherBoot {
    state: MachineState,
    checks: Vec<Check>,
}

/// A changed script.
pub struct MutantCase {
    /// Part of the ids of its scenarios.
    pub id: String,
    /// Line of the change, from 1.
    pub line: u64,
    /// The whole script.
    pub text: String,
    /// Indexes of the scenarios that run the changed statement, the one that tells most first.
    pub reached_by: Vec<usize>,
}

/// Puts a script in place of the original one.
pub type ReplaceScript<'a> = dyn Fn(&Plan, &str) -> Plan + Sync + 'a;

/// A probe of each scenario with the script as it is, each of which is reported. The second part are those that did
/// not run, and why.
pub async fn base_scenarios(
    runner: &PlanRunner,
    traces: &TraceLog,
    plans: &[Plan],
    jobs: usize,
    report: &(dyn Fn(&ScenarioId) + Sync),
    cancel: &CancellationToken,
) -> (Vec<BaseScenario>, Vec<(ScenarioId, String)>) {
    let one = async |(index, plan): (usize, &Plan)| {
        let started = Instant::now();
        let traced = Plan {
            is_traced: true,
            ..plan.probe_with_checks()
        };
        let end = runner.probe(&traced, cancel).await;
        report(&plan.id);
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
            ProbeEnd::Machine(probed) => match probed.limit() {
                Some(limit) => not_run.push((plan.id.clone(), limit)),
                None => base.push(BaseScenario {
                    plan: plan.clone(),
                    trace: traces.remove(&plan.id).unwrap_or_default(),
                    state: probed.state,
                    kubelet: probed.kubelet,
                    checks: probed.checks,
                    seconds,
                    boots: AsyncMutex::default(),
                    fails: OnceCell::new(),
                    joined_seconds: Mutex::default(),
                }),
            },
            ProbeEnd::NotRun(why) => not_run.push((plan.id.clone(), why)),
            ProbeEnd::Cancelled => {}
        }
    }
    (base, not_run)
}

/// The script that mutants change, and what puts another one in its place.
pub struct MutatedScript<'a> {
    pub original: &'a str,
    pub replace: &'a ReplaceScript<'a>,
}

/// Runs all mutants, several at a time, and returns their results in order: each in one scenario alone, and those whose
/// machine is the same there in further scenarios together.
pub async fn mutate(
    runner: &PlanRunner,
    base: &[BaseScenario],
    mutants: &[MutantCase],
    script: &MutatedScript<'_>,
    settings: &MutationSettings,
    report: &(dyn Fn(&MutantCase, &MutantOutcome) + Sync),
    cancel: &CancellationToken,
) -> Vec<MutantOutcome> {
    let runs = MutantRuns::new(runner, base, script, settings, cancel);
    let jobs = settings.jobs.max(1);
    let conclude = async |progress: &MutantProgress<'_>, result| {
        let outcome = runs.outcome(progress, result).await;
        report(progress.mutant, &outcome);
        (progress.mutant.id.clone(), outcome)
    };
    let alone = async |index: usize| {
        let mutant = &mutants[index];
        let mut progress = runs.begin(mutant);
        let result = match mutant.reached_by.is_empty() {
            true => Some(MutantResult::Uncovered),
            false => runs.run_next(&mut progress).await,
        };
        vec![match result {
            Some(result) => (None, Some(conclude(&progress, result).await)),
            None => (Some(progress), None),
        }]
    };
    let together = async |(indexes, group)| {
        let mut ended = Vec::new();
        for (progress, result) in runs.run_together(indexes, group).await {
            ended.push(match result {
                Some(result) => (None, Some(conclude(&progress, result).await)),
                None => (Some(progress), None),
            });
        }
        ended
    };
    let (mut next, mut pending) = (0..mutants.len(), Vec::new());
    let mut outcomes = BTreeMap::new();
    let mut running = FuturesUnordered::new();
    loop {
        while running.len() < jobs {
            if let Some(index) = next.next() {
                running.push(Either::Left(alone(index)));
                continue;
            }
            runs.prefer_killers(&mut pending);
            let idle = jobs - running.len();
            let Some(group) = take_group(script.original, &mut pending, idle) else {
                break;
            };
            running.push(Either::Right(together(group)));
        }
        let Some(ended) = running.next().await else { break };
        for (progress, outcome) in ended {
            pending.extend(progress);
            outcomes.extend(outcome);
        }
    }
    drop(running);
    let outcome = |mutant: &MutantCase| outcomes.remove(&mutant.id);
    let outcomes = mutants.iter().map(outcome);
    outcomes
        .map(|outcome| outcome.unwrap_or_else(|| MutantResult::LeftOut.into()))
        .collect()
}

impl From<MutantResult> for MutantOutcome {
    fn from(result: MutantResult) -> Self {
        Self { result, killer: None }
    }
}
