//! One tenant and what became known about it at run time.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::{Duration, SystemTime};

use k8s_openapi::api::certificates::v1::CertificateSigningRequestSpec;
use nodejoin_core::observation::phase::Phase;
use nodejoin_core::plan::ids::InstanceId;
use nodejoin_core::plan::{Approval, InstancePlan};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::tenant::{ClusterEvent, ClusterFact, Tenant};

/// The prefix of every node's user name.
pub(crate) const NODE_USER: &str = "system:node:";

/// An admitted tenant.
#[derive(Debug)]
pub(crate) struct TenantState {
    pub(crate) tenant: Tenant,
    runtime: Mutex<Runtime>,
    /// Whether its kubelet has begun to follow its pods.
    follows_pods: watch::Sender<bool>,
}

/// What became known since the admission.
#[derive(Debug, Default)]
struct Runtime {
    /// User names that the authenticator gave this instance.
    users: BTreeSet<String>,
    container_ip: Option<Ipv4Addr>,
    /// Private DNS names that EC2 returned to the authenticator.
    ec2_names: BTreeMap<InstanceId, String>,
    /// The furthest phase of its Node, among those that a control plane sees.
    phase: Option<Phase>,
    /// Whether the late approval of serving certificates has begun.
    approves_serving: bool,
}

impl TenantState {
    pub(crate) fn new(tenant: Tenant) -> Self {
        Self {
            tenant,
            runtime: Mutex::default(),
            follows_pods: watch::Sender::new(false),
        }
    }

    /// Its kubelet follows its pods from now on.
    pub(crate) fn note_pods(&self) {
        self.follows_pods.send_replace(true);
    }

    /// Waits until its kubelet follows its pods, or for this time.
    pub(crate) async fn pods_followed(&self, most: Duration) {
        let mut follows = self.follows_pods.subscribe();
        let _ = tokio::time::timeout(most, follows.wait_for(|follows| *follows)).await;
    }

    pub(crate) fn instance(&self) -> &InstancePlan {
        &self.tenant.instance
    }

    /// Whether its serving certificates are approved now.
    pub(crate) fn approves_serving(&self) -> bool {
        self.tenant.cluster.approve_serving == Approval::Always(true) || self.runtime.lock().approves_serving
    }

    /// Approves its serving certificates from now on.
    pub(crate) fn approve_serving(&self) {
        self.runtime.lock().approves_serving = true;
    }

    /// Sends an event to the scenario.
    pub(crate) fn send(&self, at: SystemTime, what: ClusterFact) {
        if let ClusterFact::Node { change, .. } = &what
            && change.exists
        {
            let phase = if change.ready {
                Phase::Ready
            } else {
                Phase::Registered
            };
            let mut runtime = self.runtime.lock();
            runtime.phase = runtime.phase.max(Some(phase));
        }
        // A finished scenario has dropped its receiver.
        let _ = self.tenant.events.send(ClusterEvent { at, what });
    }

    /// The private DNS name of an instance for the authenticator, which asks EC2 once. While EC2 returns an empty name,
    /// the first request fails; the authenticator keeps the empty name and returns it from then on.
    pub(crate) fn ec2_name(
        &self,
        instance: &InstanceId,
        describe: impl FnOnce() -> Option<String>,
    ) -> Option<String> {
        let mut runtime = self.runtime.lock();
        if let Some(known) = runtime.ec2_names.get(instance) {
            return Some(known.clone());
        }
        let name = describe()?;
        runtime.ec2_names.insert(instance.clone(), name.clone());
        Some(name).filter(|name| !name.is_empty())
    }

    pub(crate) fn add_user(&self, user: &str) {
        self.runtime.lock().users.insert(user.to_owned());
    }

    /// Records the address of the node's container and returns the previous one.
    pub(crate) fn replace_container_ip(&self, address: Ipv4Addr) -> Option<Ipv4Addr> {
        self.runtime.lock().container_ip.replace(address)
    }

    pub(crate) fn container_ip(&self) -> Option<Ipv4Addr> {
        self.runtime.lock().container_ip
    }

    /// Whether the Node has reached the phase from which the scenario lets the authenticator be down.
    pub(crate) fn is_authenticator_down(&self) -> bool {
        let until = self.tenant.cluster.authenticator_until;
        until.is_some() && self.runtime.lock().phase >= until
    }

    /// The tenant's own `rolearn`s, as written in its rows, among these lower-case ARNs.
    pub(crate) fn own_rows(&self, arns: &[String]) -> Vec<String> {
        let own = self.tenant.cluster.aws_auth.iter().map(|row| &row.rolearn);
        own.filter(|own| arns.contains(&own.to_lowercase()))
            .cloned()
            .collect()
    }

    /// Whether this instance created the certificate signing request.
    pub(crate) fn is_requestor(&self, spec: &CertificateSigningRequestSpec) -> bool {
        let session = spec
            .extra
            .as_ref()
            .and_then(|extra| extra.get("sessionName")?.first());
        let user = spec.username.as_deref().unwrap_or_default();
        match session {
            Some(session) => session == self.instance().id.as_str(),
            None => self.is_user(user),
        }
    }

    pub(crate) fn is_user(&self, user: &str) -> bool {
        let is_node = user
            .strip_prefix(NODE_USER)
            .is_some_and(|node| self.is_named(node));
        is_node || self.runtime.lock().users.contains(user)
    }

    /// Whether a Node of this name belongs to the tenant: it has one of the instance's names, or its user may register
    /// it.
    pub(crate) fn is_node(&self, name: &str) -> bool {
        self.is_named(name) || self.runtime.lock().users.contains(&format!("{NODE_USER}{name}"))
    }

    /// The possible names of the instance's Node: its private DNS name, its host name, its id (the host name of
    /// instances with resource names), and the names of its users.
    pub(crate) fn node_names(&self) -> BTreeSet<String> {
        let instance = self.instance();
        let own = [
            instance.private_dns_name.clone(),
            instance.host_name.clone(),
            instance.id.to_string(),
        ];
        let users = self.runtime.lock().users.clone();
        let of_users = users
            .into_iter()
            .filter_map(|user| user.strip_prefix(NODE_USER).map(str::to_owned));
        own.into_iter()
            .chain(of_users)
            .filter(|name| !name.is_empty())
            .collect()
    }

    fn is_named(&self, name: &str) -> bool {
        let instance = self.instance();
        name == instance.private_dns_name || name == instance.host_name || name == instance.id.as_str()
    }
}

#[cfg(test)]
mod tests {
    use nodejoin_core::observation::NodeChange;

    use super::*;
    use crate::testing;

    #[test]
    fn the_authenticator_stays_down_after_the_phase() {
        let (mut tenant, _events) = testing::tenant();
        tenant.cluster.authenticator_until = Some(Phase::Ready);
        let state = TenantState::new(tenant);
        let mut seen = Vec::new();
        for ready in [false, true, false] {
            let change = NodeChange {
                name: "a".to_owned(),
                exists: true,
                ready,
            };
            state.send(SystemTime::now(), ClusterFact::Node { change, object: None });
            seen.push(state.is_authenticator_down());
        }
        assert_eq!(seen, [false, true, true]);
    }
}
