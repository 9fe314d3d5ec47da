//! The scenarios of a script as it is: what a mutant is compared with.

use std::collections::BTreeMap;
use std::time::Instant;

use futures::stream::{self, StreamExt as _};
use nodejoin_core::compare::MachineState;
use nodejoin_core::judge::verdict::Check;
use nodejoin_core::observation::ScriptTrace;
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::ids::ScenarioId;
use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, OnceCell};
use tokio_util::sync::CancellationToken;

use crate::plan_runner::PlanRunner;
use crate::probe::ProbeEnd;
use crate::trace_log::TraceLog;

/// A scenario with the script as it is.
pub struct BaseScenario {
    pub plan: Plan,
    /// What its node ran.
    pub trace: ScriptTrace,
    pub(super) state: MachineState,
    /// Version of its kubelet.
    pub(super) kubelet: String,
    /// What its machine says of the scenario's expectations.
    pub(super) checks: Vec<Check>,
    /// How long its probe took.
    pub(super) seconds: f64,
    /// Further boots, for what differs between two of them.
    pub(super) boots: AsyncMutex<Vec<Option<FurtherBoot>>>,
    /// Why the scenario does not pass with the script as it is; `None` if it passes.
    pub(super) fails: OnceCell<Option<String>>,
    pub(super) joined_seconds: Mutex<f64>,
}

impl BaseScenario {
    #[cfg(test)]
    pub(super) fn of_test(plan: Plan, checks: Vec<Check>) -> Self {
        Self {
            plan,
            trace: ScriptTrace::default(),
            state: MachineState::default(),
            kubelet: String::new(),
            checks,
            seconds: 0.0,
            boots: AsyncMutex::default(),
            fails: OnceCell::new(),
            joined_seconds: Mutex::default(),
        }
    }

    /// Adds another boot of the same scenario as a further one.
    pub fn add_boot(&mut self, other: Self) {
        self.boots.get_mut().push(Some(FurtherBoot {
            state: other.state,
            checks: other.checks,
        }));
    }
}

/// A further boot of a scenario with the script as it is.
pub(super) struct FurtherBoot {
    pub(super) state: MachineState,
    pub(super) checks: Vec<Check>,
}

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
