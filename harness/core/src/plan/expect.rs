//! What a scenario wants to see.

mod filled;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::diagnosis::Cause;
use crate::observation::phase::Phase;

/// Everything a scenario may ask for. What is absent is not checked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// The phase at which the join ends. Without `diagnosis`: at least this one.
    pub phase: Option<Phase>,
    /// The join must fail at `phase`, for this cause.
    pub diagnosis: Option<Cause>,
    /// Who the node was to the IAM authenticator and to the API server.
    pub authentication: Option<AuthenticationExpect>,
    /// Who wrote rows of the scenario into `aws-auth`, as the API server's audit log has it; each entry must match one write.
    pub aws_auth: Vec<MappingExpect>,
    /// Certificate signing requests; each entry must match one request, and `certificates: []` wants none.
    pub certificates: Option<Vec<CertificateExpect>>,
    /// The Node object.
    pub node: Option<NodeExpect>,
    /// Requests in the API server's audit log, of the node or about it; each entry must match one, or as many as it says.
    pub audit: Vec<AuditExpect>,
    /// Calls by `service.Operation`.
    pub aws: BTreeMap<String, CountExpect>,
    /// Calls that must come in this order, others may stand between.
    pub aws_order: Vec<String>,
    /// Files of the node, by absolute path.
    pub files: BTreeMap<String, FileExpect>,
    /// The running kubelet.
    pub kubelet: Option<KubeletExpect>,
    /// User data as a whole and in its parts.
    pub user_data: Option<UserDataExpect>,
    /// States of systemd units: `active`, `inactive`, `failed`, `activating`.
    pub units: BTreeMap<String, String>,
    /// Whether the scenario's pod answered.
    pub pod: Option<PodExpect>,
    /// What the API server's authorizers let the node do, by a SubjectAccessReview for the user and groups that its token gave.
    pub access: Vec<AccessExpect>,
}

/// One thing that a node may or may not do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccessExpect {
    /// Verb, such as `list`.
    pub verb: String,
    /// Resource in plural, such as `services`, with a subresource as `pods/log`.
    pub resource: String,
    /// API group, such as `discovery.k8s.io`; the core group where absent.
    #[serde(default)]
    pub group: String,
    /// Namespace; all of them where absent.
    #[serde(default)]
    pub namespace: Option<String>,
    /// Whether it is allowed.
    pub allowed: bool,
}

impl AccessExpect {
    /// As `kubectl auth can-i` would be asked: `list endpointslices.discovery.k8s.io`.
    #[must_use]
    pub fn question(&self) -> String {
        let group = if self.group.is_empty() {
            String::new()
        } else {
            format!(".{}", self.group)
        };
        let namespace = self
            .namespace
            .as_deref()
            .map(|name| format!(" in {name}"))
            .unwrap_or_default();
        format!("{} {}{group}{namespace}", self.verb, self.resource)
    }
}

/// Who the node was.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AuthenticationExpect {
    /// Whether the authenticator accepted a token of the instance.
    pub accepted: Option<bool>,
    /// Role name in the ARN that STS told.
    pub role: Option<String>,
    /// User name, as the API server's audit log has it too.
    pub username: Option<String>,
    /// Groups that were given, all of them and no other; `system:authenticated` goes without saying.
    pub groups: Option<Vec<String>>,
    /// How many tokens of the instance were refused.
    pub refused: Option<CountExpect>,
}

/// A write of `aws-auth` that added a row.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MappingExpect {
    /// Name of the role that the row maps; the instance's own where absent.
    pub role: Option<String>,
    /// User name of who wrote it, such as `eks:node-manager`.
    pub added_by: Option<String>,
    /// Verb of the request, such as `patch` or `update`.
    pub verb: Option<String>,
}

/// A request in the audit log.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AuditExpect {
    /// Verb, such as `patch`.
    pub verb: Option<String>,
    /// Resource with its subresource, such as `nodes` or `nodes/status`.
    pub resource: Option<String>,
    /// User name; that of the node where it is `node`.
    pub username: Option<String>,
    /// HTTP status of the answer.
    pub code: Option<u16>,
    /// Text that stands in the message of a refusal.
    pub message: Option<String>,
    /// How many requests are such; at least one where absent.
    pub times: Option<CountExpect>,
}

/// A certificate signing request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CertificateExpect {
    /// Signer, such as `kubernetes.io/kubelet-serving`.
    pub signer: String,
    /// Who asked for it.
    pub requestor: Option<String>,
    /// Common name of the subject.
    pub common_name: Option<String>,
    /// Organizations of the subject.
    pub organizations: Option<Vec<String>>,
    /// DNS names, all of them.
    pub dns_names: Option<Vec<String>>,
    /// IP addresses, all of them.
    pub ip_addresses: Option<Vec<String>>,
    /// Usages, all of them.
    pub usages: Option<Vec<String>>,
    /// Whether it was approved; `false` wants it not approved.
    pub approved: Option<bool>,
    /// Who approved or denied it.
    pub decided_by: Option<String>,
    /// Whether it was issued.
    pub issued: Option<bool>,
    /// Whether port 10250 of the node really serves it, verified against the cluster's CA.
    pub served: Option<bool>,
}

/// The Node object.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NodeExpect {
    /// Its name.
    pub name: Option<String>,
    /// `spec.providerID`.
    pub provider_id: Option<String>,
    /// `status.addresses`, by type; those named must be there.
    pub addresses: BTreeMap<String, String>,
    /// `status.capacity`; those named must have this value.
    pub capacity: BTreeMap<String, Quantity>,
    /// Kubelet version, such as `v1.20.2`.
    pub kubelet_version: Option<String>,
    /// Labels that must be there, with these values.
    pub labels: BTreeMap<String, String>,
    /// All labels, and no other.
    pub labels_exactly: Option<BTreeMap<String, String>>,
    /// Keys of labels that must not be there.
    pub labels_absent: Vec<String>,
    /// Labels that must have been there when the Node was created.
    pub labels_at_creation: BTreeMap<String, String>,
    /// All taints, `key=value:Effect`, in any order; `node.kubernetes.io/not-ready` is left out once the node is ready.
    pub taints: Option<Vec<String>>,
    /// Taints that must be there.
    pub taints_include: Vec<String>,
    /// Taints that must not be there.
    pub taints_absent: Vec<String>,
    /// Taints that must have been there when the Node was created.
    pub taints_at_creation: Vec<String>,
    /// Who set labels, by their keys, from the API server's audit log: `kubelet` where the kubelet did so by itself, `node-labels`
    /// where it was told to by `--node-labels`, else the user name, such as `eks:cloud-controller-manager`.
    pub labels_set_by: BTreeMap<String, String>,
    /// Who set taints, by `key=value:Effect`: `kubelet`, `register-with-taints` where it was told to by that flag, else the user name.
    pub taints_set_by: BTreeMap<String, String>,
    /// The Ready condition.
    pub ready: Option<bool>,
    /// After a step of `then`: whether it is the Node that was there before, by its UID.
    pub same: Option<bool>,
    /// After a step of `then`: whether the kubelet told of another boot than before.
    pub booted_again: Option<bool>,
}

/// A quantity as a number or as text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Quantity {
    /// A whole number, such as `29`.
    Number(i64),
    /// Kubernetes' own text, such as `7836Mi`.
    Text(String),
}

/// How often a call may come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CountExpect {
    /// Exactly so often.
    Count(u32),
    /// Between bounds.
    Range(CallRange),
}

/// Bounds of a count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CallRange {
    /// At least so often.
    pub min: Option<u32>,
    /// At most so often.
    pub max: Option<u32>,
    /// Counts only the calls whose subject contains this text: what the caller asked about, such as a cluster's name, or
    /// `STACK/RESOURCE STATUS UNIQUE-ID` of a signal to CloudFormation.
    pub subject: Option<String>,
}

/// A file of the node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FileExpect {
    /// Whether it is there; `true` where any other key is given.
    pub exists: Option<bool>,
    /// Texts that stand in it.
    pub contains: Vec<String>,
    /// Texts that do not.
    pub lacks: Vec<String>,
    /// Permission bits in octal, such as `"0644"`.
    pub mode: Option<String>,
}

/// The running kubelet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KubeletExpect {
    /// Arguments of the running process that must be there, each as one whole argument or `--flag value`.
    pub argv: Vec<String>,
    /// Arguments, or starts of arguments, that must not be there.
    pub argv_absent: Vec<String>,
    /// Values of `/configz`, by dotted path such as `evictionHard.memory.available` (a key with dots is tried whole first).
    pub config: BTreeMap<String, serde_json::Value>,
    /// How often systemd started it.
    pub starts: Option<u32>,
}

/// User data as a whole and in its parts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UserDataExpect {
    /// Whether all of it succeeded.
    pub succeeded: Option<bool>,
    /// Exit code by part (`part-001`), or of `user-data` itself where it has no parts.
    pub exit_codes: BTreeMap<String, i32>,
    /// Texts that stand in its output.
    pub output_contains: Vec<String>,
}

/// The scenario's pod.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PodExpect {
    /// Whether it answered through the API server.
    pub answers: Option<bool>,
}
