//! What the API server reports: its audit log, `aws-auth`, the Node, certificate signing requests, its authorizers.

use serde::{Deserialize, Serialize};

/// A request in the API server's audit log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    pub verb: String,
    /// Resource with its subresource, such as `nodes/status`.
    pub resource: String,
    pub namespace: Option<String>,
    /// Name of the object.
    pub name: Option<String>,
    /// User name of the request.
    pub username: String,
    /// Groups of the request.
    pub groups: Vec<String>,
    /// HTTP status of the response.
    pub code: u16,
    /// Message of a response that is an error.
    pub message: Option<String>,
    /// The object of a create, patch or update of a Node or a certificate signing request.
    pub object: Option<serde_json::Value>,
}

/// A request in the audit log that added rows of the scenario to `kube-system/aws-auth`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappingWrite {
    pub verb: String,
    /// User name of the request.
    pub username: String,
    /// ARNs of the new rows.
    pub added: Vec<String>,
}

/// The Node object was created, changed or deleted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeChange {
    pub name: String,
    /// `false` after its deletion.
    pub exists: bool,
    /// Whether its Ready condition is true.
    pub ready: bool,
}

/// A certificate signing request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// Name of the object.
    pub name: String,
    pub signer: String,
    /// User name of the requestor.
    pub requestor: String,
    /// Groups of the requestor.
    pub groups: Vec<String>,
    /// Common name of the subject.
    pub common_name: Option<String>,
    /// Organizations of the subject.
    pub organizations: Vec<String>,
    pub dns_names: Vec<String>,
    pub ip_addresses: Vec<String>,
    pub usages: Vec<String>,
    /// `Some(true)` approved, `Some(false)` denied, `None` undecided.
    pub approved: Option<bool>,
    /// User who approved or denied it, from the audit log.
    pub decided_by: Option<String>,
    /// Reason and message of the decision.
    pub decision: Option<String>,
    /// Whether `status.certificate` is set.
    pub issued: bool,
    /// SHA-256 of the issued certificate, in hexadecimal.
    pub fingerprint: Option<String>,
}

/// The response of the API server's authorizers to a SubjectAccessReview.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AccessResult {
    pub allowed: bool,
    /// The authorizers' reason, such as the binding that allows the request.
    pub reason: String,
}
