//! Small values of a plan: network, recorded answers, user data, pod, timeouts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kubernetes::quantity::amount;

/// Networks that a node reaches in addition to the control plane and the harness.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// No other network. Names outside lead to the fakes, which answer the URLs of `outside` and refuse all other
    /// requests; connections to addresses outside are refused, too.
    #[default]
    Isolated,
    /// All networks that the container engine reaches. Only the hosts of `outside` lead to the fakes.
    Open,
}

/// The files of `outside`, by URL as the scenario has it.
pub type OutsideFiles = BTreeMap<String, String>;

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
    /// `yum`, `dnf`, `rpm` and `amazon-linux-extras` record the packages and install nothing, and the units
    /// `amazon-ssm-agent`, `chronyd`, `sshd` and other services of an AMI do nothing. `update-ca-trust`,
    /// `ec2-metadata`, `udevadm`, `chronyc`, `setenforce` and others are programs of the harness. `modprobe` records
    /// modules of Amazon Linux and loads none. `cfn-init`, `cfn-signal` and `cfn-get-metadata` in /opt/aws/bin use
    /// `aws.stacks`. What the image has stays. On an instance with an instance store or `volumes`, `mkfs`, `mdadm`,
    /// `blkid`, `file`, `wipefs`, `lsblk`, `mount` and LVM use a folder in place of each of these disks.
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
    /// `registerWithTaints` becomes a flag; newer flags and feature gates are removed. The report lists each.
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

/// Timeouts in seconds, and what a node can use of its host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// Timeout of the join, from the start of the node to its expected outcome (default: 90).
    pub join_seconds: f64,
    /// Seconds that an expected failure must persist before the verdict passes (default: 3).
    pub settle_seconds: f64,
    /// Disk space that a node can use, as a Kubernetes quantity (default: `20Gi`). What its programs have written since
    /// its start counts. One that uses more loses its programs, and the join stops with `disk-full`.
    pub disk: String,
    /// Processes and threads that a node can have (default: 4096). One that has more loses its programs, and the join
    /// stops with `too-many-processes`.
    pub processes: u32,
    /// Lines that the journal of a node can have before the join ends (default: 200000). A script that prints without
    /// end would fill the memory and the disk of the host until its timeout.
    pub journal_lines: u32,
}

impl Timeouts {
    /// Disk space of a node in KiB; `None` if it is not a quantity.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a size of a disk has no sign, and its fraction of a KiB means nothing"
    )]
    pub fn disk_kib(&self) -> Option<u64> {
        let bytes = amount(&self.disk).filter(|bytes| bytes.is_finite() && *bytes >= 0.0)?;
        Some((bytes / 1024.0) as u64)
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            join_seconds: 90.0,
            settle_seconds: 3.0,
            disk: "20Gi".to_owned(),
            processes: 4096,
            journal_lines: 200_000,
        }
    }
}
