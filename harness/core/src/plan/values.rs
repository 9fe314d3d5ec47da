//! Small values of a plan: network, user data, pod, timeouts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Networks that a node reaches in addition to the control plane and the harness.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// No other network.
    #[default]
    Isolated,
    /// All networks that the container engine reaches.
    Open,
}

/// User data, and the program that runs it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UserDataPlan {
    /// Program that runs the user data.
    pub engine: UserDataEngine,
    /// The bytes in base64, before `{{ cluster.* }}` and `{{ instance.* }}` are filled in and before compression.
    pub base64: String,
    /// Whether the metadata service returns the bytes compressed with gzip.
    #[serde(default)]
    pub gzip: bool,
    /// What a run replaces in the bytes; `None`: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace: Option<Replacement>,
    /// Whether the bytes are a NodeConfig in place of settings of Bottlerocket.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_translated: bool,
}

/// What a run replaces in user data that was written for another cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Replacement {
    /// The certificate authority, and the bootstrap token and CA hash of kubeadm: those of the run's cluster, also
    /// within gzip and base64.
    Cluster,
}

/// Program that runs user data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UserDataEngine {
    /// cloud-init of the image.
    #[default]
    CloudInit,
    /// The harness, which reads the formats of cloud-init, for images without cloud-init.
    Direct,
}

/// Container networking of the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Cni {
    /// The harness writes a bridge configuration, as the pod of the VPC CNI does.
    #[default]
    Bridge,
    /// No configuration: the node registers but never becomes ready.
    None,
}

/// Programs of Amazon Linux that a node image lacks and user data calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stubs {
    /// `yum`, `dnf`, `rpm` and `amazon-linux-extras` record the packages and install nothing, and the unit
    /// `amazon-ssm-agent` does nothing. What the image has stays.
    #[default]
    Packages,
    /// None: a script that calls them fails.
    None,
}

impl Stubs {
    pub(crate) fn are_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What happens to settings of the kubelet that it is too old for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NewerSettings {
    /// Nothing: the kubelet ignores an unknown field, and exits at an unknown flag or feature gate.
    #[default]
    Keep,
    /// `registerWithTaints` becomes a flag; unknown flags and feature gates are removed. The report lists each.
    Translate,
}

impl NewerSettings {
    pub(crate) fn are_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A pod that must answer over HTTP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PodPlan {
    /// Repository in the account's registry, such as `nodejoin/echo`.
    pub image: String,
}

/// Timeouts in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// Timeout of the join, from the start of the node to its expected outcome (default: 90).
    pub join_seconds: f64,
    /// Seconds that an expected failure must persist before the verdict passes (default: 3).
    pub settle_seconds: f64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            join_seconds: 90.0,
            settle_seconds: 3.0,
        }
    }
}
