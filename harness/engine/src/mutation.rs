//! Runs the scenarios of a script with changed versions of it: a probe of each, and a join where the machine differs.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _};
use nodejoin_core::compare::{MachineDifference, MachineState, differences};
use nodejoin_core::diagnosis::Cause;
use nodejoin_core::judge::verdict::{Outcome, Verdict};
use nodejoin_core::mutation::{MutantResult, Noticed, noticed, together};
use nodejoin_core::observation::ScriptTrace;
use nodejoin_core::observation::phase::Phase;
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::expect::Expect;
use nodejoin_core::plan::ids::ScenarioId;
use nodejoin_core::scenario::with_own_instance;
use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, OnceCell};
use tokio_util::sync::CancellationToken;

use crate::comparison::cause_of;
use crate::probe::{ProbeEnd, Probed};
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
    /// How long its probe took.
    seconds: f64,
    /// Further boots, for what differs between two of them.
    boots: AsyncMutex<Vec<Option<MachineState>>>,
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
    /// Indexes of the scenarios that run the changed statement, the one that tells most first.
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
            ProbeEnd::Machine(probed) => match probed.limit() {
                Some(limit) => not_run.push((plan.id.clone(), limit)),
                None => base.push(BaseScenario {
                    plan: plan.clone(),
                    trace: traces.remove(&plan.id).unwrap_or_default(),
                    state: probed.state,
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

/// Runs all mutants, several at a time, and returns their results in order.
pub async fn mutate(
    runner: &Runner,
    base: &[BaseScenario],
    mutants: &[MutantCase],
    replace: &ReplaceScript<'_>,
    settings: &MutationSettings,
    report: &(dyn Fn(&MutantCase, &MutantOutcome) + Sync),
    cancel: &CancellationToken,
) -> Vec<MutantOutcome> {
    let until = settings.budget.map(|budget| Instant::now() + budget);
    let runs = MutantRuns {
        runner,
        base,
        replace,
        settings,
        cancel,
        kills: Mutex::default(),
        joined: Mutex::default(),
        taken: Mutex::default(),
    };
    let one = async |(index, mutant): (usize, &MutantCase)| {
        let is_late = until.is_some_and(|until| Instant::now() >= until) || cancel.is_cancelled();
        let outcome = match is_late {
            true => MutantOutcome::from(MutantResult::LeftOut),
            false => runs.outcome(mutant).await,
        };
        report(mutant, &outcome);
        (index, outcome)
    };
    let mut results: Vec<_> = stream::iter(mutants.iter().enumerate())
        .map(one)
        .buffer_unordered(settings.jobs.max(1))
        .collect()
        .await;
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// A scenario with a mutant may take this many times as long as with the script as it is, and this many seconds more.
const SLOWER: (f64, f64) = (2.0, 15.0);
/// Further boots of the script as it is that tell what differs from boot to boot: one before a scenario joins with a
/// mutant, and a second one before a mutant counts as survived.
const BOOTS_BEFORE_JOIN: usize = 1;
const BOOTS_OF_SURVIVOR: usize = 2;

struct MutantRuns<'a> {
    runner: &'a Runner,
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

/// One scenario with a mutant.
enum MutantRun {
    Same,
    /// Passed, with these differing parts.
    Passed(Box<MachineState>, Vec<MachineDifference>),
    Killed(String),
    TimedOut,
    NotRun(String),
}

/// How a scenario with a mutant ended.
#[derive(Debug, Clone, PartialEq, Eq)]
enum JoinEnd {
    Passed,
    /// Why it does not pass.
    Killed(String),
    TimedOut,
    /// It says nothing about the mutant.
    NotRun(String),
}

impl JoinEnd {
    /// A join with a shortened timeout that stopped without a cause could have passed later.
    fn of(verdict: &Verdict, is_shortened: bool) -> Self {
        let cause = verdict.diagnosis.as_ref().map(|found| found.cause);
        match (&verdict.outcome, cause) {
            (Outcome::Passed, _) => Self::Passed,
            (Outcome::Failed, Some(Cause::HarnessLimit)) => {
                Self::NotRun(cause_of(verdict).unwrap_or_default())
            }
            (Outcome::Failed, Some(Cause::Unknown | Cause::UserDataNotDone)) if is_shortened => {
                Self::TimedOut
            }
            (Outcome::Failed, _) => {
                Self::Killed(cause_of(verdict).unwrap_or_else(|| "the scenario fails".to_owned()))
            }
            (Outcome::Errored(why) | Outcome::Skipped(why), _) => Self::NotRun(why.clone()),
            (Outcome::Cancelled, _) => Self::NotRun("cancelled".to_owned()),
        }
    }
}

/// What a machine without a kubelet says about a mutant before its scenario joins; `None` if only a join can tell.
fn without_kubelet(plan: &Plan, probed: &Probed) -> Option<MutantRun> {
    if probed.state.has_kubelet() {
        return None;
    }
    if let Some(limit) = probed.limit() {
        return Some(MutantRun::NotRun(limit));
    }
    let expect = &plan.expect;
    let needs_kubelet =
        expect.diagnosis.is_none() && expect.phase.is_none_or(|phase| phase >= Phase::KubeletStarted);
    needs_kubelet.then(|| match &probed.diagnosis {
        Some(_) if probed.is_unfinished() => MutantRun::TimedOut,
        Some(found) => MutantRun::Killed(format!(
            "no kubelet starts: {}: {}",
            found.cause.word(),
            found.because
        )),
        None => MutantRun::Killed("no kubelet starts".to_owned()),
    })
}

/// A scenario that passes with a mutant, and the machine that it leaves.
struct Survival {
    index: usize,
    state: Box<MachineState>,
    differences: Vec<MachineDifference>,
}

impl From<MutantResult> for MutantOutcome {
    fn from(result: MutantResult) -> Self {
        Self { result, killer: None }
    }
}

impl MutantRuns<'_> {
    async fn outcome(&self, mutant: &MutantCase) -> MutantOutcome {
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use nodejoin_core::compare::MachineRequests;
    use nodejoin_core::diagnosis::Diagnosis;

    use super::*;
    use crate::testing::plan;
    use crate::verdict::verdict_without_observation;

    fn diagnosis(cause: Cause) -> Diagnosis {
        Diagnosis {
            phase: None,
            cause,
            because: "why".to_owned(),
            seen: String::new(),
            remedy: String::new(),
            script: None,
        }
    }

    #[test]
    fn limits_of_nodejoin_and_of_a_shortened_time_are_no_kills() {
        let end = |cause: Option<Cause>, is_shortened| {
            let mut verdict = verdict_without_observation(Outcome::Failed);
            verdict.diagnosis = cause.map(diagnosis);
            JoinEnd::of(&verdict, is_shortened)
        };
        let script_failed = JoinEnd::Killed("script-failed: why".to_owned());
        assert_eq!(end(Some(Cause::ScriptFailed), true), script_failed);
        assert_eq!(
            end(Some(Cause::HarnessLimit), false),
            JoinEnd::NotRun("harness-limit: why".to_owned())
        );
        assert_eq!(end(Some(Cause::Unknown), true), JoinEnd::TimedOut);
        assert_eq!(
            end(Some(Cause::Unknown), false),
            JoinEnd::Killed("unknown: why".to_owned())
        );
        assert_eq!(end(None, true), JoinEnd::Killed("the scenario fails".to_owned()));
        let passed = verdict_without_observation(Outcome::Passed);
        assert_eq!(JoinEnd::of(&passed, true), JoinEnd::Passed);
    }

    #[test]
    fn a_machine_without_a_kubelet_kills_only_where_a_kubelet_is_expected() {
        let result = |text: &str, cause: Option<Cause>| {
            let probed = Probed {
                state: MachineState::default(),
                requests: MachineRequests::default(),
                diagnosis: cause.map(diagnosis),
                again: None,
                trace: ScriptTrace::default(),
                steps: 0,
            };
            without_kubelet(&plan(text), &probed).map(|run| match run {
                MutantRun::Killed(how) => how,
                MutantRun::TimedOut => "timed out".to_owned(),
                MutantRun::NotRun(why) => format!("not run: {why}"),
                MutantRun::Same | MutantRun::Passed(..) => "passed".to_owned(),
            })
        };
        let failed = Some(Cause::ScriptFailed);
        let joins = "name: x\nexpect: { phase: registered }\n";
        let described = "name: x\nexpect: { phase: described }\n";
        let fails = "name: x\nexpect: { phase: booted, diagnosis: script-failed }\n";
        assert_eq!(
            result(joins, failed).as_deref(),
            Some("no kubelet starts: script-failed: why")
        );
        assert_eq!(
            result("name: x\n", Some(Cause::UserDataNotDone)).as_deref(),
            Some("timed out")
        );
        assert_eq!(
            result(joins, Some(Cause::HarnessLimit)).as_deref(),
            Some("not run: harness-limit: why")
        );
        assert_eq!(result(described, failed), None);
        assert_eq!(result(fails, failed), None);
        let with_kubelet = Probed {
            state: MachineState::of_machine(BTreeMap::from([(
                "kubelet arguments".to_owned(),
                "--x\n".to_owned(),
            )])),
            requests: MachineRequests::default(),
            diagnosis: None,
            again: None,
            trace: ScriptTrace::default(),
            steps: 0,
        };
        assert!(without_kubelet(&plan(joins), &with_kubelet).is_none());
    }
}
