//! What the harness observed of one join, each event with its time.
//!
//! | file | content |
//! | --- | --- |
//! | `aws.rs` | requests to the fake AWS, DNS queries |
//! | `authentication.rs` | decisions of the IAM authenticator |
//! | `api_server.rs` | audit log, `aws-auth`, Node, certificate signing requests |
//! | `node.rs` | journal, and what is collected from the node at the end |
//! | `image.rs` | what a node image has that the harness did not build |
//! | `phases.rs` | how far the join got |
//! | `power.rs` | reboots, and the end of the container |
//! | `queries.rs` | which queries reached the DNS resolver |
//! | `redirected.rs` | output that scripts send to files of their own |
//! | `script_trace.rs` | which commands of shell scripts ran |
//! | `translated.rs` | what the harness changed of a kubelet's settings |

mod api_server;
mod authentication;
mod aws;
mod image;
mod node;
pub mod phases;
mod power;
mod queries;
mod redirected;
mod script_trace;
mod translated;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::vocabulary::phase;
pub use api_server::{AccessResult, Audit, Certificate, MappingWrite, NodeChange};
pub use authentication::{
    Authentication, AuthenticationOutcome, MappingProblem, RejectionKind, TokenRejection,
};
pub use aws::{AwsCall, CalledService, DnsQuery, NOT_RECORDED, TLS_PROXY};
pub use image::{ImageFacts, ImagePart};
pub use node::{Collected, CollectedFile, JournalLine, PodResult, ServingCertificate, UserDataResult};
pub(crate) use power::PowerAction;
pub use power::{ContainerExit, MOST_REBOOTS};
pub use script_trace::{ScriptTrace, TracedCommand, TracedScript};
pub use translated::{low_disk_percent, translated_settings};

/// Milliseconds after the start of the node's container.
pub type Millis = u64;

/// Everything that the harness observed of one join.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Version of the control plane, such as `v1.20.2`.
    pub kubernetes: String,
    /// Version of the node image's kubelet, such as `v1.20.2`.
    #[serde(default)]
    pub kubelet: String,
    /// Events in the order in which the harness received them.
    pub timeline: Vec<TimelineEntry>,
    /// Differences between the node and the AMI that the harness caused.
    pub deviations: Vec<Deviation>,
    /// The Node as the watch first reported it after its creation.
    pub node_at_creation: Option<serde_json::Value>,
    /// The latest state of the Node.
    pub node: Option<serde_json::Value>,
    /// The Node before the current step of `then`, or before the last reboot by the user data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_before: Option<serde_json::Value>,
    /// Certificate signing requests of this node's user in order of creation, each in its latest state.
    pub certificates: Vec<Certificate>,
    /// How often each fault fired, by its index in the plan.
    pub faults_fired: BTreeMap<usize, u32>,
    /// What was collected from the node at the end.
    pub collected: Option<Collected>,
}

/// One event and its time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimelineEntry {
    pub at: Millis,
    #[serde(flatten)]
    pub what: ObservedEvent,
}

/// An event of one of the sources: AWS calls, webhooks and watches of the API server, the node's journal, its
/// container.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum ObservedEvent {
    /// The node's container requested the run id from the metadata address and received the id of this run.
    Isolated,
    /// A request to a service of the fake AWS.
    Aws(AwsCall),
    /// A query to the node's DNS resolver.
    Dns(DnsQuery),
    /// The IAM authenticator accepted or refused a token.
    Authentication(Authentication),
    /// An entry of the API server's audit log for a request of this node or about it.
    Audit(Audit),
    /// A request added rows to `kube-system/aws-auth`.
    Mapping(MappingWrite),
    /// A line of the node's journal.
    Journal(JournalLine),
    /// The Node object was created, changed or deleted.
    Node(NodeChange),
    /// A certificate signing request was created or changed.
    Certificate(Certificate),
    /// The node's container exited.
    ContainerExited {
        code: i64,
        /// The last lines of its output.
        lines: Vec<String>,
    },
    /// The container started again after the user data rebooted the system.
    Rebooted,
}

/// A difference between the node and the AMI that the harness caused.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Deviation {
    /// A short name, such as `runc-clamp`.
    pub name: String,
    /// What is different.
    pub what: String,
    /// Why the harness needs it.
    pub why: String,
    /// What it changed in this node, a sentence each. Reports show them whatever the outcome.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
}
