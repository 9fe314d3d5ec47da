//! Nodes that boot ahead of their scenarios: up to a gate before user data, which opens when the scenario registers
//! the node's address. Up to there, a boot depends on nothing that a scenario does.
//!
//! ```text
//! announce -> queue -- a node has booted: fill --> booting -- its scenario boots its node: take --> the gate opens
//!                                                     +------ its scenario ends without: discard --> removed
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use nodejoin_core::plan::{OverlayFile, Plan, UserDataEngine};
use nodejoin_docker::{Images, Run};
use nodejoin_node::{Node, refuses_connections};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use crate::environment::Ground;
use crate::image_user_data::without_cloud_init;

/// Number of nodes that wait for their scenarios, whatever the number of jobs.
const MOST: usize = 4;

/// What a unit needs to start before the gate opens.
const EARLY_UNIT: &str = "DefaultDependencies";

/// The nodes of a run that boot ahead, if the run wants any.
#[derive(Default)]
pub(crate) struct NodesAhead {
    is_on: bool,
    state: Mutex<AheadQueue>,
    tasks: TaskTracker,
}

#[derive(Default)]
struct AheadQueue {
    /// Plans that have not started, in their order.
    queue: VecDeque<Plan>,
    booting: Vec<(Plan, NodeAhead)>,
    /// Number of nodes that may wait.
    limit: usize,
    is_closed: bool,
}

/// A node that boots, or waits at its gate. Dropping it ends a boot and removes its container; one that has booted
/// stays until the end of its run.
pub(crate) struct NodeAhead(AbortOnDropHandle<Option<Node>>);

/// Where a node boots ahead.
pub(crate) struct AheadStart {
    pub(crate) run: Run,
    pub(crate) images: Images,
    /// Becomes known when nodes can start.
    pub(crate) ground: watch::Receiver<Option<Arc<Ground>>>,
}

impl NodeAhead {
    /// The node at its gate; `None` if it did not start: its scenario boots it then, and reports why it does not start.
    pub(crate) async fn node(self) -> Option<Node> {
        self.0.await.ok().flatten()
    }

    async fn remove(self) {
        self.0.abort();
        if let Some(node) = self.node().await
            && let Err(error) = node.remove().await
        {
            tracing::warn!(%error, "could not remove a node that was not used");
        }
    }
}

impl NodesAhead {
    pub(crate) fn new(is_on: bool) -> Self {
        Self {
            is_on,
            ..Self::default()
        }
    }

    /// Sets the plans that will run, in their order, and how many of their nodes may wait. Nodes of earlier plans are
    /// removed.
    pub(crate) fn announce(&self, plans: Vec<Plan>, limit: usize) {
        if !self.is_on {
            return;
        }
        let shared = shared_addresses(&plans);
        let queue = plans.into_iter().filter(|plan| {
            let mut addresses = plan.instances().map(|instance| instance.private_ip);
            can_wait(plan) && !addresses.any(|address| shared.contains(&address))
        });
        let before = {
            let mut state = self.state.lock();
            state.queue = queue.collect();
            state.limit = limit.min(MOST);
            std::mem::take(&mut state.booting)
        };
        for (_, node) in before {
            self.remove_later(node);
        }
    }

    /// Boots the node of a scenario that starts, while its control plane starts.
    pub(crate) fn boot(&self, plan: &Plan, start: AheadStart) {
        let mut state = self.state.lock();
        if self.is_on
            && can_wait(plan)
            && !state.is_closed
            && !state.booting.iter().any(|(known, _)| known == plan)
        {
            state
                .booting
                .push((plan.clone(), self.spawn(plan.clone(), start)));
        }
    }

    /// Boots the nodes of the next plans, as many as may wait.
    pub(crate) fn fill(&self, start: impl Fn(&Plan) -> Option<AheadStart>) {
        let mut state = self.state.lock();
        while !state.is_closed && state.booting.len() < state.limit {
            let Some(plan) = state.queue.pop_front() else {
                return;
            };
            if let Some(start) = start(&plan) {
                let node = self.spawn(plan.clone(), start);
                state.booting.push((plan, node));
            }
        }
    }

    fn spawn(&self, plan: Plan, start: AheadStart) -> NodeAhead {
        NodeAhead(AbortOnDropHandle::new(self.tasks.spawn(boot(plan, start))))
    }

    /// Notes that a plan starts: from now on its node is booted by its scenario.
    pub(crate) fn started(&self, plan: &Plan) {
        self.state.lock().queue.retain(|waiting| waiting != plan);
    }

    /// The node of a plan that boots ahead.
    pub(crate) fn take(&self, plan: &Plan) -> Option<NodeAhead> {
        let mut state = self.state.lock();
        let index = state.booting.iter().position(|(known, _)| known == plan)?;
        Some(state.booting.swap_remove(index).1)
    }

    /// Removes the node of a plan that has ended without it.
    pub(crate) fn discard(&self, plan: &Plan) {
        if let Some(node) = self.take(plan) {
            self.remove_later(node);
        }
    }

    fn remove_later(&self, node: NodeAhead) {
        self.tasks.spawn(node.remove());
    }

    /// Ends all boots. The run removes the containers.
    pub(crate) async fn close(&self) {
        let booting = {
            let mut state = self.state.lock();
            state.is_closed = true;
            std::mem::take(&mut state.booting)
        };
        drop(booting);
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Boots a node up to its gate.
async fn boot(plan: Plan, mut start: AheadStart) -> Option<Node> {
    let image = start.images.of_plan(&plan.image).await.ok()?;
    if !is_by_cloud_init(&without_cloud_init(&plan, &image)) {
        return None;
    }
    let ground = start.ground.wait_for(Option::is_some).await.ok()?.clone()?;
    let request = ground.node_request(&image, &plan, None, true);
    let booted = nodejoin_node::boot(&start.run, &request).await;
    booted
        .inspect_err(|error| tracing::warn!(%error, "a node did not boot ahead of its scenario"))
        .ok()
}

/// Addresses that several plans use: their nodes cannot be on one network at the same time.
fn shared_addresses(plans: &[Plan]) -> Vec<std::net::Ipv4Addr> {
    let mut counts: BTreeMap<_, usize> = BTreeMap::new();
    for instance in plans.iter().flat_map(Plan::instances) {
        *counts.entry(instance.private_ip).or_default() += 1;
    }
    let several = counts.into_iter().filter(|(_, count)| *count > 1);
    several.map(|(address, _)| address).collect()
}

/// Whether the node of a plan boots in the same way with a gate: nothing that the scenario sets is needed before the
/// gate, and nothing that it tests happens there.
fn can_wait(plan: &Plan) -> bool {
    plan.others.is_empty()
        && !plan.is_exclusive()
        && is_by_cloud_init(plan)
        // Their rules apply before systemd starts, also to the address at which the node waits.
        && !refuses_connections(&plan.faults)
        && !plan.image.added().any(is_early_unit)
}

/// Whether the node gets its user data from the metadata service, not with its files.
fn is_by_cloud_init(plan: &Plan) -> bool {
    let engine = plan.user_data.as_ref().map(|data| data.engine);
    engine.is_none_or(|engine| engine == UserDataEngine::CloudInit)
}

/// Whether an added file is a unit that can start before the gate opens.
fn is_early_unit(file: &OverlayFile) -> bool {
    if !file.to.contains("/systemd/") {
        return false;
    }
    let text = match &file.patched {
        Some(patched) => Ok(patched.content.clone()),
        None => std::fs::read_to_string(&file.from),
    };
    text.map_or(true, |text| text.contains(EARLY_UNIT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan;

    fn with_address(name: &str, address: &str) -> Plan {
        plan(&format!("name: {name}\ninstance: {{ private_ip: {address} }}\n"))
    }

    #[test]
    fn nodes_with_one_address_do_not_wait_at_the_same_time() {
        let ahead = NodesAhead::new(true);
        let (one, two) = (with_address("a", "192.168.9.1"), with_address("b", "192.168.9.1"));
        let three = with_address("c", "192.168.9.3");
        ahead.announce(vec![one, two, three.clone()], 2);
        assert!(ahead.state.lock().queue.iter().eq([&three]));
        ahead.started(&three);
        assert!(ahead.state.lock().queue.is_empty());
    }

    #[test]
    fn no_node_boots_ahead_unless_the_run_wants_it() {
        let ahead = NodesAhead::default();
        ahead.announce(vec![with_address("a", "192.168.9.1")], 2);
        assert!(ahead.state.lock().queue.is_empty());
    }

    #[test]
    fn the_limit_has_a_bound() {
        let ahead = NodesAhead::new(true);
        ahead.announce(Vec::new(), 100);
        assert_eq!(ahead.state.lock().limit, MOST);
    }

    #[test]
    fn a_node_waits_only_if_its_boot_is_the_same() {
        assert!(can_wait(&plan("name: x\n")));
        let mut direct = plan("name: x\nuser_data: { engine: direct, inline: '#!/bin/sh' }\n");
        assert!(!can_wait(&direct));
        direct.user_data = None;
        assert!(can_wait(&direct));
        let mut several = plan("name: x\n");
        several.others = vec![several.instance.clone()];
        assert!(!can_wait(&several));
        let mut restarts = plan("name: x\n");
        restarts.cluster.restart_api_server_after = Some(1);
        assert!(!can_wait(&restarts));
    }

    #[test]
    fn a_unit_that_starts_early_does_not_meet_the_gate() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("x.service");
        let file = OverlayFile {
            from: from.display().to_string(),
            to: "/etc/systemd/system/x.service".to_owned(),
            mode: 0o644,
            removed: false,
            may_be_missing: false,
            patched: None,
        };
        assert!(is_early_unit(&file), "unreadable");
        std::fs::write(&from, "[Unit]\n").unwrap();
        assert!(!is_early_unit(&file));
        std::fs::write(&from, "[Unit]\nDefaultDependencies=no\n").unwrap();
        assert!(is_early_unit(&file));
        let to = "/opt/x.service".to_owned();
        assert!(!is_early_unit(&OverlayFile { to, ..file }));
    }
}
