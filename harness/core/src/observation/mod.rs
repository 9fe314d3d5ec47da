//! Everything that was seen of one join, each with its time in milliseconds after the start of the node's container.

pub mod phase;
pub mod phases;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::plan::fault::Service;

/// Milliseconds after the start of the node's container.
pub type Millis = u64;

/// Everything that was seen of one join.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Version of the control plane, such as `v1.20.2`.
    pub kubernetes: String,
    /// Version of the node image's kubelet, such as `v1.20.2`.
    #[serde(default)]
    pub kubelet: String,
    /// What happened, in the order it became known.
    pub timeline: Vec<TimelineEntry>,
    /// Changes that the harness made to what the AMI would have.
    pub deviations: Vec<Deviation>,
    /// The Node as the watch first had it after its creation.
    pub node_at_creation: Option<serde_json::Value>,
    /// The Node as it was last seen.
    pub node: Option<serde_json::Value>,
    /// The Node before the step of `then` that is looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_before: Option<serde_json::Value>,
    /// Certificate signing requests of this node's user, in order of creation, as last seen.
    pub certificates: Vec<Certificate>,
    /// Faults of the plan by their place in it, and how often each fired.
    pub faults_fired: BTreeMap<usize, u32>,
    /// What was collected from the node at the end.
    pub collected: Option<Collected>,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimelineEntry {
    /// When.
    pub at: Millis,
    /// What.
    #[serde(flatten)]
    pub what: ObservedEvent,
}

/// The kinds of things that happen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum ObservedEvent {
    /// The node's container asked the metadata address for the run's id and got this run's.
    Isolated,
    /// A request to a service of the fake AWS.
    Aws(AwsCall),
    /// A name was asked of the node's resolver.
    Dns(DnsQuery),
    /// The IAM authenticator decided on a token.
    Authentication(Authentication),
    /// The API server's audit log has a request of this node, or on its behalf.
    Audit(Audit),
    /// Rows were written into `kube-system/aws-auth`.
    Mapping(MappingWrite),
    /// A line of the node's journal.
    Journal(JournalLine),
    /// The Node object came, changed or went.
    Node(NodeChange),
    /// A certificate signing request came or changed.
    Certificate(Certificate),
    /// The node's container ended.
    ContainerExited {
        /// Its exit code.
        code: i64,
        /// Its last lines.
        lines: Vec<String>,
    },
}

/// A request to a service of the fake AWS. Holds no credential.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AwsCall {
    /// Service.
    pub service: Service,
    /// AWS' own word for the operation; for `imds` the metadata path without its version; for `registry` the kind of request.
    pub operation: String,
    /// HTTP method.
    pub method: String,
    /// Host that was asked.
    pub host: String,
    /// Path, without the query.
    pub path: String,
    /// HTTP status of the answer; 0 where the connection was closed without one.
    pub status: u16,
    /// The service's error code, where there was one.
    pub error: Option<String>,
    /// The service's message, where there was an error.
    pub message: Option<String>,
    /// What the caller asked about: the cluster's name, instance ids, a repository.
    pub subject: Option<String>,
    /// Whether the fake knows this operation.
    pub known: bool,
    /// The fault that met it, by its place in the plan.
    pub fault: Option<usize>,
    /// `v1`, `v2` or `token` for `imds`; the access key id that signed otherwise.
    pub authorization: Option<String>,
    /// How long the answer took, in milliseconds.
    pub took_ms: u64,
}

/// A name was asked of the node's resolver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DnsQuery {
    /// The name, without its final dot.
    pub name: String,
    /// Record type, such as `A`.
    pub record: String,
    /// Whether the name exists here.
    pub answered: bool,
}

/// The IAM authenticator decided on a token.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Authentication {
    /// Whether it was accepted.
    pub accepted: bool,
    /// ARN as STS tells it: `arn:aws:sts::...:assumed-role/ROLE/SESSION`.
    pub arn: Option<String>,
    /// ARN that was looked up: `arn:aws:iam::...:role/ROLE`.
    pub canonical_arn: Option<String>,
    /// User name that was given.
    pub username: Option<String>,
    /// Groups that were given.
    pub groups: Vec<String>,
    /// Why it was refused.
    pub refusal: Option<Refusal>,
    /// The reason in the authenticator's words.
    pub reason: Option<String>,
}

/// What stands in a reason between the ARN that is not mapped and what the authenticator could not read of `aws-auth`.
pub const UNREADABLE: &str = "; aws-auth cannot be read whole: ";

/// In the reason of a refusal: the role has an access entry, that of another role which had the same ARN.
pub const OTHER_PRINCIPAL: &str = "ARN does not match User ID";

/// Why a token was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// It is not a token of the right form.
    Malformed,
    /// It has expired.
    Expired,
    /// STS did not accept its signature: another cluster's name was signed, or the credentials are wrong.
    Signature,
    /// STS accepted it, and the role is not mapped.
    NotMapped,
    /// The mapping could not be filled in.
    Template,
    /// STS was throttled.
    Throttled,
    /// The authenticator itself is down.
    Down,
}

/// A request that the API server's audit log has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// Verb.
    pub verb: String,
    /// Resource with its subresource, such as `nodes/status`.
    pub resource: String,
    /// Namespace.
    pub namespace: Option<String>,
    /// Name of the object.
    pub name: Option<String>,
    /// User name of the request.
    pub username: String,
    /// Groups of the request.
    pub groups: Vec<String>,
    /// HTTP status of the answer.
    pub code: u16,
    /// Message of a refusal.
    pub message: Option<String>,
    /// The object of a create, patch or update of a Node or a certificate signing request.
    pub object: Option<serde_json::Value>,
}

/// A write of `kube-system/aws-auth` that added rows of the scenario, from the audit log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappingWrite {
    /// Verb.
    pub verb: String,
    /// User name of the request.
    pub username: String,
    /// ARNs of the rows that were not there before.
    pub added: Vec<String>,
}

/// A line of the node's journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalLine {
    /// The unit that wrote it, or that systemd wrote it about.
    pub unit: Option<String>,
    /// The command that wrote it.
    pub command: Option<String>,
    /// Whether systemd itself wrote it.
    pub by_systemd: bool,
    /// The text.
    pub message: String,
}

/// The Node object came, changed or went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeChange {
    /// Its name.
    pub name: String,
    /// Whether it exists now.
    pub exists: bool,
    /// Whether it is ready now.
    pub ready: bool,
}

/// A certificate signing request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// Name of the object.
    pub name: String,
    /// Signer.
    pub signer: String,
    /// Who asked.
    pub requestor: String,
    /// Groups of who asked.
    pub groups: Vec<String>,
    /// Common name of the subject.
    pub common_name: Option<String>,
    /// Organizations of the subject.
    pub organizations: Vec<String>,
    /// DNS names.
    pub dns_names: Vec<String>,
    /// IP addresses.
    pub ip_addresses: Vec<String>,
    /// Usages.
    pub usages: Vec<String>,
    /// `Some(true)` approved, `Some(false)` denied, `None` undecided.
    pub approved: Option<bool>,
    /// User who approved or denied it, from the audit log.
    pub decided_by: Option<String>,
    /// Reason and message of the decision.
    pub decision: Option<String>,
    /// Whether `status.certificate` is there.
    pub issued: bool,
    /// SHA-256 of the issued certificate, in hexadecimal.
    pub fingerprint: Option<String>,
}

/// What was collected from the node at the end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Collected {
    /// Arguments of the running kubelet, program first; `None` where none ran.
    pub kubelet_argv: Option<Vec<String>>,
    /// `/configz` of the kubelet, through the API server.
    pub configz: Option<serde_json::Value>,
    /// Files that were asked for.
    pub files: BTreeMap<String, CollectedFile>,
    /// systemd units: `ActiveState`.
    pub units: BTreeMap<String, String>,
    /// What port 10250 serves.
    pub served: Option<Served>,
    /// How user data went.
    pub user_data: Option<UserDataResult>,
    /// Whether the scenario's pod answered, and what was seen instead.
    pub pod: Option<PodResult>,
    /// The node's snapshot, where the scenario keeps one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub golden: Option<String>,
    /// What the node may do, in the order of the scenario's questions; `None` where it never had an identity.
    pub access: Option<Vec<AccessResult>>,
}

/// An answer of the API server's authorizers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AccessResult {
    /// Whether it is allowed.
    pub allowed: bool,
    /// What the authorizers say of it: the binding that allows it, for example.
    pub reason: String,
}

/// A file of the node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CollectedFile {
    /// Whether it is there.
    pub exists: bool,
    /// Permission bits.
    pub mode: u32,
    /// Its text, with what is not UTF-8 replaced.
    pub text: String,
}

/// What port 10250 serves.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Served {
    /// SHA-256 of the certificate, in hexadecimal; `None` where no handshake succeeded.
    pub fingerprint: Option<String>,
    /// Whether it verifies against the cluster's CA for the node's address.
    pub verified: bool,
    /// Why it does not.
    pub error: Option<String>,
}

/// How user data went.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UserDataResult {
    /// Whether it ran at all.
    pub ran: bool,
    /// The data source cloud-init ended with, such as `DataSourceEc2` or `DataSourceNone`.
    pub data_source: Option<String>,
    /// cloud-init's own word: `done`, `error`, `running`.
    pub status: Option<String>,
    /// Errors that cloud-init tells.
    pub errors: Vec<String>,
    /// Exit code by part.
    pub exit_codes: BTreeMap<String, i32>,
    /// What it printed.
    pub output: String,
}

/// Whether the scenario's pod answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PodResult {
    /// Whether it answered through the API server.
    pub answered: bool,
    /// Its last phase, and what was seen instead of an answer.
    pub detail: String,
}

/// A change that the harness made to what the AMI would have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Deviation {
    /// A short name, such as `runc-clamp`.
    pub name: String,
    /// What was changed.
    pub what: String,
    /// Why.
    pub why: String,
}
