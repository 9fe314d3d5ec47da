//! Runs one plan as a probe: a real boot, with real user data, up to the start of the kubelet. Nothing joins.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use nodejoin_core::compare::{MachineRequests, MachineState};
use nodejoin_core::diagnosis::{Cause, Diagnosis, diagnose};
use nodejoin_core::judge::judge;
use nodejoin_core::judge::verdict::{Check, Outcome};
use nodejoin_core::observation::{Observation, ScriptTrace, UserDataResult};
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::expect::Expect;
use nodejoin_core::run::matrix::not_for_kubelet;
use nodejoin_core::user_data::Values;
use nodejoin_docker::ImageRef;
use nodejoin_fake_aws::SharedAccount;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::context::RunContext;
use crate::environment::Environment;
use crate::error::EngineError;
use crate::image_user_data::without_cloud_init;
use crate::node_driver::{ContainerNode, CurrentNode, NodeDriver as _, NodeEvents};
use crate::observer::Observer;
use crate::preparation::{Preparation, prepare};
use crate::reboots::watch_boots;
use crate::registry;
use crate::session::ScenarioSession;
use crate::settle::settle;

/// Minor versions of kubelets that a probe can report.
const MINORS: std::ops::RangeInclusive<u32> = 10..=60;

/// The result of a probe.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeEnd {
    Machine(Box<Probed>),
    /// Why there is no machine.
    NotRun(String),
    Cancelled,
}

/// A machine on which user data ran.
#[derive(Debug, Serialize, Deserialize)]
pub struct Probed {
    /// What user data left on it, after the steps of the plan.
    pub state: MachineState,
    /// What the user data requested.
    pub requests: MachineRequests,
    /// Why it has no kubelet.
    pub diagnosis: Option<Diagnosis>,
    /// The result of a second run of the user data, if the last step of the plan is one.
    pub again: Option<UserDataResult>,
    /// What its scripts ran until then, if the plan is traced.
    pub trace: ScriptTrace,
    /// How many steps ran: none if the machine had no kubelet before.
    pub steps: usize,
    /// The expectations of the plan, compared with the machine. Those that need a join do not hold.
    pub checks: Vec<Check>,
    /// Version of the machine's kubelet.
    pub kubelet: String,
}

impl Probed {
    /// What nodejoin or its host lacks, if the machine has no kubelet for that reason: it says nothing about the user
    /// data.
    #[must_use]
    pub fn limit(&self) -> Option<String> {
        let found = self.diagnosis.as_ref()?;
        matches!(found.cause, Cause::HarnessLimit | Cause::HostLimit)
            .then(|| format!("{}: {}", found.cause.word(), found.because))
    }

    /// Why the machine has no kubelet, in one sentence; `None` if it has one.
    #[must_use]
    pub fn without_kubelet(&self) -> Option<String> {
        if self.state.has_kubelet() {
            return None;
        }
        let found = self.diagnosis.as_ref();
        let because = found.map(|found| format!("{}: {}", found.cause.word(), found.because));
        Some(because.unwrap_or_else(|| "its user data did not start it".to_owned()))
    }

    /// Whether the user data was still running when the time was over.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        let found = self.diagnosis.as_ref();
        found.is_some_and(|found| found.cause == Cause::UserDataNotDone)
    }
}

/// Runs a plan of [`Plan::probe`]. Returns everything that it acquired, also if it is cancelled.
pub(crate) async fn probe(context: &RunContext, plan: &Plan, cancel: &CancellationToken) -> ProbeEnd {
    let run = async {
        let plan = &with_kubelet_in_range(context, plan).await?;
        let (environment, image) = match prepare(context, plan).await? {
            Preparation::Ready(environment, image) => (environment, image),
            Preparation::Ended(Outcome::Skipped(reason) | Outcome::Errored(reason)) => {
                return Ok(ProbeEnd::NotRun(reason));
            }
            Preparation::Ended(Outcome::Passed | Outcome::Failed | Outcome::Cancelled) => {
                return Ok(ProbeEnd::Cancelled);
            }
        };
        if let Some(reason) = environment.control_plane.not_for(plan).await {
            return Ok(ProbeEnd::NotRun(reason));
        }
        let plan = &*without_cloud_init(plan, &image);
        let images = registry::listed(plan, Some(context.run.engine())).await?;
        let factor = context.run.engine().time_factor();
        let account = SharedAccount::default();
        let (mut session, events) =
            ScenarioSession::begin(&environment, plan, &images, &account, factor).await?;
        let current = CurrentNode::default();
        let probing = Probing {
            context,
            environment: &environment,
            image: &image,
            plan,
        };
        let probed = tokio::select! {
            probed = probing.run(&mut session, events, Arc::clone(&current)) => probed.map(Some),
            () = cancel.cancelled() => Ok(None),
        };
        // The end of the run removes a node that stays.
        let node = current.lock().take();
        let removed = match node {
            Some(node) => node.remove().await,
            None => Ok(()),
        };
        session.end(false).await?;
        removed?;
        Ok::<_, EngineError>(
            probed?.map_or(ProbeEnd::Cancelled, |probed| ProbeEnd::Machine(Box::new(probed))),
        )
    };
    run.await
        .unwrap_or_else(|error| ProbeEnd::NotRun(error.with_hint()))
}

/// The plan with a kubelet for which its scenario is: a probe needs the version of a kubelet alone. The oldest one, if
/// that of the image is another one.
async fn with_kubelet_in_range(context: &RunContext, plan: &Plan) -> Result<Plan, EngineError> {
    let images = context.images_of(plan.requested.of_kubelet());
    let image = images.of_plan(&plan.image).await?;
    let reporting = |version: String| Plan {
        probed_kubelet: Some(version),
        ..plan.clone()
    };
    let is_for = |plan: &Plan| not_for_kubelet(plan, &image.kubernetes).is_none();
    if is_for(plan) {
        return Ok(plan.clone());
    }
    let mut others = MINORS.map(|minor| reporting(format!("v1.{minor}.0")));
    Ok(others.find(is_for).unwrap_or_else(|| plan.clone()))
}

struct Probing<'a> {
    context: &'a RunContext,
    environment: &'a Environment,
    image: &'a ImageRef,
    plan: &'a Plan,
}

impl Probing<'_> {
    async fn run(
        &self,
        session: &mut ScenarioSession<'_>,
        session_events: futures::stream::BoxStream<'static, crate::observer::Incoming>,
        current: CurrentNode,
    ) -> Result<Probed, EngineError> {
        let values = session.values();
        let ahead = self.context.ahead.take(self.plan);
        let mut driver = ContainerNode::boot(&self.context.run, self.image, session, current, ahead).await?;
        self.context.boot_next();
        let mut events = NodeEvents {
            node: driver.node_events(),
            session: session_events,
        };
        let version = &self.environment.control_plane.version;
        let mut observer = Observer::new(version, &self.image.kubernetes, driver.started(), None);
        watch_boots(
            self.plan,
            &driver,
            &mut events,
            &mut observer,
            SystemTime::now,
            |_| {},
        )
        .await?;
        let mut seen = observer.observation;
        // There is nothing to read, and nothing to compare.
        if let Some(why) = seen.not_made() {
            return Err(EngineError::NotMade { why });
        }
        let mut probed = self.read(&driver, self.plan, &mut seen, &values).await?;
        for step in &self.plan.then {
            if !probed.state.has_kubelet() {
                break;
            }
            // No line of cloud-init tells the end of user data without a boot.
            let user_data = self.plan.user_data.clone().filter(|_| step.action.boots());
            let plan = Plan {
                user_data,
                ..self.plan.after(step)
            };
            let start = driver.start_step(step, &plan, &seen, &mut events).await?;
            let mut observer = Observer::after(&seen, start.at, None);
            if !step.action.boots() {
                observer = observer.without_boot();
            }
            settle(
                &driver,
                &mut events,
                &plan,
                &mut observer,
                SystemTime::now,
                |_| {},
            )
            .await?;
            seen = observer.observation;
            let (requests, steps) = (probed.requests, probed.steps);
            probed = self.read(&driver, &plan, &mut seen, &values).await?;
            probed.requests = requests;
            if let Some(result) = &start.user_data {
                probed.state = probed.state.with_second_run(result).named(&values);
            }
            probed.again = start.user_data;
            probed.steps = steps + 1;
        }
        Ok(probed)
    }

    /// Reads the machine as it is now.
    async fn read(
        &self,
        driver: &ContainerNode<'_, '_>,
        plan: &Plan,
        seen: &mut Observation,
        values: &Values,
    ) -> Result<Probed, EngineError> {
        let parts = match seen.exit() {
            Some(_) => Default::default(),
            None => {
                seen.collected = Some(driver.collect(plan, seen).await?);
                self.context.traces.note(&plan.id, seen);
                driver.node().state().await?
            }
        };
        let checks = checks_of(plan, seen, &parts);
        let state = MachineState::of_machine(parts)
            .with_observation(seen)
            .named(values)
            .with_interface_named(&plan.instance);
        let diagnosis = match state.has_kubelet() {
            true => None,
            false => diagnose(plan, seen),
        };
        let collected = seen.collected.as_ref();
        let trace = collected.and_then(|collected| collected.script_trace.clone());
        Ok(Probed {
            state,
            requests: MachineRequests::of(seen),
            diagnosis,
            again: None,
            trace: trace.unwrap_or_default(),
            steps: 0,
            checks,
            kubelet: seen.kubelet.clone(),
        })
    }
}

/// The checks of a plan that has expectations. The arguments are those of the kubelet whose place the probe takes.
fn checks_of(plan: &Plan, seen: &Observation, parts: &BTreeMap<String, String>) -> Vec<Check> {
    if plan.expect == Expect::default() {
        return Vec::new();
    }
    let mut judged = seen.clone();
    if let Some(collected) = &mut judged.collected {
        let arguments = parts.get("kubelet arguments");
        collected.kubelet_argv = arguments.map(|text| text.lines().map(str::to_owned).collect());
    }
    judge(plan, &judged).checks
}
