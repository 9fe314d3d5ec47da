//! Runs one plan as a probe: a real boot, with real user data, up to the start of the kubelet. Nothing joins.

use std::sync::Arc;
use std::time::SystemTime;

use nodejoin_core::compare::MachineState;
use nodejoin_core::judge::verdict::Outcome;
use nodejoin_core::plan::Plan;
use nodejoin_docker::ImageRef;
use nodejoin_fake_aws::SharedAccount;
use tokio_util::sync::CancellationToken;

use crate::context::RunContext;
use crate::environment::Environment;
use crate::error::EngineError;
use crate::node_driver::{ContainerNode, CurrentNode, NodeDriver as _, NodeEvents};
use crate::observer::Observer;
use crate::reboots::watch_boots;
use crate::registry;
use crate::scenario::{Preparation, prepare, without_cloud_init};
use crate::session::ScenarioSession;

/// The result of a probe.
#[derive(Debug)]
pub enum ProbeEnd {
    /// What user data left on the machine.
    State(Box<MachineState>),
    /// Why there is no state.
    NotRun(String),
    Cancelled,
}

/// Runs a plan of [`Plan::probe`]. Returns everything that it acquired, also if it is cancelled.
pub(crate) async fn probe(context: &RunContext, plan: &Plan, cancel: &CancellationToken) -> ProbeEnd {
    let run = async {
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
        let machine = ProbedMachine {
            context,
            environment: &environment,
            image: &image,
            plan,
        };
        let state = tokio::select! {
            state = machine.state(&mut session, events, Arc::clone(&current)) => state.map(Some),
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
        Ok::<_, EngineError>(state?.map_or(ProbeEnd::Cancelled, |state| ProbeEnd::State(Box::new(state))))
    };
    run.await
        .unwrap_or_else(|error| ProbeEnd::NotRun(error.with_hint()))
}

struct ProbedMachine<'a> {
    context: &'a RunContext,
    environment: &'a Environment,
    image: &'a ImageRef,
    plan: &'a Plan,
}

impl ProbedMachine<'_> {
    async fn state(
        &self,
        session: &mut ScenarioSession<'_>,
        session_events: futures::stream::BoxStream<'static, crate::observer::Incoming>,
        current: CurrentNode,
    ) -> Result<MachineState, EngineError> {
        let values = session.values();
        let driver = ContainerNode::boot(&self.context.run, self.image, session, current).await?;
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
        let parts = match seen.exit() {
            Some(_) => Default::default(),
            None => {
                seen.collected = Some(driver.collect(self.plan, &seen).await?);
                self.context.traces.note(&self.plan.id, &seen);
                driver.node().state().await?
            }
        };
        Ok(MachineState::of_machine(parts)
            .with_observation(&seen)
            .named(&values)
            .with_interface_named(&self.plan.instance))
    }
}
