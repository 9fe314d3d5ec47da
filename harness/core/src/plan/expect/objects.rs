//! The expected objects of the API server: certificate signing requests and the Node.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A certificate signing request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CertificateExpect {
    /// Signer, such as `kubernetes.io/kubelet-serving`.
    pub signer: String,
    /// User name of the requestor.
    pub requestor: Option<String>,
    /// The complete list of the requestor's groups, without `system:authenticated`.
    pub groups: Option<Vec<String>>,
    /// Common name of the subject.
    pub common_name: Option<String>,
    /// Organizations of the subject.
    pub organizations: Option<Vec<String>>,
    /// The complete list of DNS names.
    pub dns_names: Option<Vec<String>>,
    /// The complete list of IP addresses.
    pub ip_addresses: Option<Vec<String>>,
    /// The complete list of usages.
    pub usages: Option<Vec<String>>,
    /// Whether the request is approved. `false` requires that it is not.
    pub approved: Option<bool>,
    /// User name of the approver, for approval or denial.
    pub decided_by: Option<String>,
    /// Whether the certificate is issued.
    pub issued: Option<bool>,
    /// Whether port 10250 of the node serves the certificate, verified against the CA of the cluster.
    pub served: Option<bool>,
}

/// The Node object.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NodeExpect {
    /// `metadata.name`.
    pub name: Option<String>,
    /// `spec.providerID`.
    pub provider_id: Option<String>,
    /// Whether the Node must not have a `spec.providerID`.
    pub provider_id_absent: bool,
    /// `status.addresses` by type. Other types may exist.
    pub addresses: BTreeMap<String, String>,
    /// `status.capacity` by resource. Other resources may exist.
    pub capacity: BTreeMap<String, Quantity>,
    /// Kubelet version, such as `v1.20.2`.
    pub kubelet_version: Option<String>,
    /// Required labels with their values.
    pub labels: BTreeMap<String, String>,
    /// The complete set of labels.
    pub labels_exactly: Option<BTreeMap<String, String>>,
    /// Keys of labels that the Node must not have.
    pub labels_absent: Vec<String>,
    /// Required labels at the creation of the Node.
    pub labels_at_creation: BTreeMap<String, String>,
    /// Required annotations with their values.
    pub annotations: BTreeMap<String, String>,
    /// Keys of annotations that the Node must not have.
    pub annotations_absent: Vec<String>,
    /// The complete list of taints, `key=value:Effect`, in any order; without `node.kubernetes.io/not-ready` once the
    /// node is ready.
    pub taints: Option<Vec<String>>,
    /// Required taints.
    pub taints_include: Vec<String>,
    /// Taints that the Node must not have.
    pub taints_absent: Vec<String>,
    /// Required taints at the creation of the Node.
    pub taints_at_creation: Vec<String>,
    /// Who set each label, by key, from the audit log of the API server: `kubelet` for the defaults of the kubelet,
    /// `node-labels` for its flag `--node-labels`, else the user name, such as `eks:cloud-controller-manager`.
    pub labels_set_by: BTreeMap<String, String>,
    /// Who set each taint, by `key=value:Effect`: `kubelet`, `register-with-taints` for that flag of the kubelet,
    /// else the user name.
    pub taints_set_by: BTreeMap<String, String>,
    /// Whether the condition `Ready` is true.
    pub ready: Option<bool>,
    /// After a step of `then`: whether the Node has the same UID as before.
    pub same: Option<bool>,
    /// After a step of `then`: whether the kubelet reports a new boot id.
    pub booted_again: Option<bool>,
}

/// A quantity as a number or as text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Quantity {
    /// A whole number, such as `29`.
    Number(i64),
    /// A Kubernetes quantity, such as `7836Mi`.
    Text(String),
}
