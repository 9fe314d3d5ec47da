//! A scenario's share of a control plane, and the events that it receives.

use std::time::SystemTime;

use nodejoin_core::observation::{Audit, Authentication, Certificate, MappingWrite, NodeChange};
use nodejoin_core::plan::ids::AccountId;
use nodejoin_core::plan::region::Region;
use nodejoin_core::plan::{ClusterPlan, InstancePlan};
use tokio::sync::mpsc;

/// A scenario's share of a control plane: one instance of one EKS cluster.
#[derive(Debug, Clone)]
pub struct Tenant {
    pub cluster: ClusterPlan,
    pub instance: InstancePlan,
    pub account: AccountId,
    pub region: Region,
    /// The range of pod addresses, if the harness writes the CNI configuration.
    pub pod_cidr: Option<String>,
    /// Receives everything that concerns the instance. The control plane never waits for the receiver and ignores a
    /// closed channel.
    pub events: mpsc::UnboundedSender<ClusterEvent>,
}

/// A fact about one tenant, with its time at the source.
#[derive(Debug, Clone)]
pub struct ClusterEvent {
    pub at: SystemTime,
    pub what: ClusterFact,
}

/// What a control plane observes of a tenant.
#[derive(Debug, Clone)]
pub enum ClusterFact {
    /// The authenticator decided on a token.
    Authentication(Authentication),
    /// The audit log has a request of the node, or about it.
    Audit(Audit),
    /// The Node was created, changed or deleted.
    Node {
        change: NodeChange,
        /// The object without its managed fields; `None` once it is deleted.
        object: Option<serde_json::Value>,
    },
    /// A certificate signing request of the node was created or changed.
    Certificate(Certificate),
    /// Rows of the tenant were added to `aws-auth`.
    Mapping(MappingWrite),
}
