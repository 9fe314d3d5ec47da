//! The operations on a node under test that its join and steps consist of.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use futures::stream::{BoxStream, Stream, StreamExt as _, select};
use nodejoin_core::observation::{Collected, Deviation, Observation, UserDataResult};
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::step::{Action, StepPlan};
use nodejoin_docker::{ImageRef, Run};
use nodejoin_node::{Node, NodeLog, refuses_connections};
use parking_lot::Mutex;

use crate::collect::node_name;
use crate::error::EngineError;
use crate::nodes_ahead::NodeAhead;
use crate::observer::Incoming;
use crate::session::ScenarioSession;
use crate::sources;

/// The start of a step.
pub(crate) struct StepStart {
    /// Zero of the step's times.
    pub(crate) at: SystemTime,
    /// The result of user data, for a step that runs it again.
    pub(crate) user_data: Option<UserDataResult>,
}

/// A node under test.
pub(crate) trait NodeDriver {
    /// When the node's container started.
    fn started(&self) -> SystemTime;
    /// Changes that the harness made to what the AMI would have.
    fn deviations(&self) -> Vec<Deviation>;
    /// The plan with values in place of the templates in its expectations.
    fn with_values(&self, plan: Plan) -> Plan;
    /// Grants the rights that come late.
    async fn grant_late_rights(&self) -> Result<(), EngineError>;
    /// Reads facts that no event reports.
    async fn collect(&self, plan: &Plan, seen: &Observation) -> Result<Collected, EngineError>;
    /// Lines of the journal that the events of its container lack.
    async fn missed(&self) -> Result<Vec<Incoming>, EngineError>;
    fn faults_fired(&self) -> BTreeMap<usize, u32>;
    /// Renders the node's snapshot into the collected facts when its scenario has a `golden` file.
    fn render_snapshot(&self, seen: &mut Observation);
    /// Boots the node again after its user data rebooted it, and returns when. Replaces the streams of `events` that
    /// ended.
    async fn boot_again(&self, events: &mut NodeEvents) -> Result<SystemTime, EngineError>;
    /// Performs the action of a step. Replaces the streams of `events` that the action ends.
    async fn start_step(
        &mut self,
        step: &StepPlan,
        plan: &Plan,
        seen: &Observation,
        events: &mut NodeEvents,
    ) -> Result<StepStart, EngineError>;
}

/// Events about a node under test.
pub(crate) struct NodeEvents {
    /// Those of its container.
    pub(crate) node: BoxStream<'static, Incoming>,
    /// Those of the fakes and the control plane.
    pub(crate) session: BoxStream<'static, Incoming>,
}

impl NodeEvents {
    /// Events of all sources. What the stream has not yielded when it is dropped stays for the next one.
    pub(crate) fn stream(&mut self) -> impl Stream<Item = Incoming> + Unpin + Send {
        select(self.node.by_ref(), self.session.by_ref())
    }
}

/// The container of a node as it is now: a step can replace it. The end of an errored scenario reads it.
pub(crate) type CurrentNode = Arc<Mutex<Option<Node>>>;

/// A node in a container, with its session.
pub(crate) struct ContainerNode<'a, 's> {
    run: &'a Run,
    image: &'a ImageRef,
    session: &'a mut ScenarioSession<'s>,
    current: CurrentNode,
    node: Mutex<Node>,
    /// The output since the current boot.
    log: Mutex<NodeLog>,
}

impl<'a, 's> ContainerNode<'a, 's> {
    /// Boots the node of a session, or starts the join of one that booted ahead.
    pub(crate) async fn boot(
        run: &'a Run,
        image: &'a ImageRef,
        session: &'a mut ScenarioSession<'s>,
        current: CurrentNode,
        ahead: Option<NodeAhead>,
    ) -> Result<Self, EngineError> {
        let waiting = match ahead {
            Some(ahead) => ahead.node().await,
            None => None,
        };
        let node = match waiting {
            Some(waiting) => session.open_gate(waiting).await?,
            None => session.boot(run, image).await?,
        };
        *current.lock() = Some(node.clone());
        Ok(Self {
            run,
            image,
            session,
            current,
            log: Mutex::new(node.log()),
            node: Mutex::new(node),
        })
    }

    pub(crate) fn node(&self) -> Node {
        self.node.lock().clone()
    }

    async fn change_unit(&self, verb: &'static str, step: &StepPlan) -> Result<(), EngineError> {
        let unit = step.unit.as_deref().unwrap_or_default();
        Ok(self.node().change_unit(verb, unit).await?)
    }

    /// Events of the container.
    pub(crate) fn node_events(&self) -> BoxStream<'static, Incoming> {
        sources::of_node(&self.node(), &self.log.lock(), self.session.refusals())
    }

    async fn replace_instance(
        &mut self,
        plan: &Plan,
        events: &mut NodeEvents,
    ) -> Result<SystemTime, EngineError> {
        self.node().remove().await?;
        *self.current.lock() = None;
        events.session = self.session.replace_instance(plan).await?;
        let node = self.session.boot(self.run, self.image).await?;
        Ok(self.set_node(node, events))
    }

    /// Returns when the container started.
    async fn set_rebooted(&self, node: Node, events: &mut NodeEvents) -> Result<SystemTime, EngineError> {
        self.session.register_address(&node).await?;
        Ok(self.set_node(node, events))
    }

    /// Returns when the container started.
    fn set_node(&self, node: Node, events: &mut NodeEvents) -> SystemTime {
        let started = node.started;
        *self.current.lock() = Some(node.clone());
        let log = node.log();
        events.node = sources::of_node(&node, &log, self.session.refusals());
        *self.log.lock() = log;
        *self.node.lock() = node;
        started
    }
}

impl NodeDriver for ContainerNode<'_, '_> {
    fn started(&self) -> SystemTime {
        self.node.lock().started
    }

    fn deviations(&self) -> Vec<Deviation> {
        self.node.lock().deviations.clone()
    }

    fn with_values(&self, plan: Plan) -> Plan {
        self.session.with_values(plan)
    }

    async fn grant_late_rights(&self) -> Result<(), EngineError> {
        self.session.grant_late_rights(self.started()).await
    }

    async fn collect(&self, plan: &Plan, seen: &Observation) -> Result<Collected, EngineError> {
        let collected = self.session.collect(&self.node(), plan, seen).await?;
        if seen.exit().is_none() && refuses_connections(&plan.faults) {
            // The output reports them, too, but not at once.
            for refused in self.node().refused().await? {
                let now = SystemTime::now();
                self.session
                    .refusals()
                    .record(now, refused.service, refused.total);
            }
        }
        Ok(collected)
    }

    async fn missed(&self) -> Result<Vec<Incoming>, EngineError> {
        let log = self.log.lock().clone();
        Ok(sources::missed(&log).await?)
    }

    fn faults_fired(&self) -> BTreeMap<usize, u32> {
        self.session.faults_fired()
    }

    fn render_snapshot(&self, seen: &mut Observation) {
        self.session.render_snapshot(seen);
    }

    async fn boot_again(&self, events: &mut NodeEvents) -> Result<SystemTime, EngineError> {
        let node = self.node().boot_again().await?;
        self.set_rebooted(node, events).await
    }

    async fn start_step(
        &mut self,
        step: &StepPlan,
        plan: &Plan,
        seen: &Observation,
        events: &mut NodeEvents,
    ) -> Result<StepStart, EngineError> {
        let mut start = StepStart {
            at: SystemTime::now(),
            user_data: None,
        };
        match step.action {
            Action::Reboot => {
                let node = self.node().reboot().await?;
                start.at = self.set_rebooted(node, events).await?;
            }
            Action::RunUserDataAgain => {
                let without = step.without.as_ref().map(|words| self.session.filled(words));
                start.user_data = Some(self.node().run_user_data_again(without.as_deref()).await?);
            }
            Action::ReplaceInstance => start.at = self.replace_instance(plan, events).await?,
            Action::DeleteNode => {
                if let Some(name) = node_name(seen) {
                    self.session.delete_node(&name).await?;
                }
            }
            Action::RestartKubelet => self.node().restart_kubelet().await?,
            Action::RestartUnit => self.change_unit("restart", step).await?,
            Action::StopUnit => self.change_unit("stop", step).await?,
        }
        Ok(start)
    }
}
