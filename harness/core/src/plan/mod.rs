//! A scenario with every default and file reference resolved: the input of the engine.

pub mod access_entry;
pub mod architecture;
pub mod aws;
pub mod bootstrap_token;
pub mod change;
pub mod expect;
pub mod fault;
pub mod golden;
pub mod instance_type;
pub mod link_local;
pub mod provider;
pub mod sources;
pub mod step;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kubernetes::RequestedVersions;
use crate::plan::access_entry::AccessEntry;
use crate::plan::aws::{AuthenticationMode, AwsPlan, EksPlan, NetworkPlan};
pub use crate::plan::aws::{MetadataPlan, Tokens};
use crate::plan::bootstrap_token::BootstrapToken;
use crate::plan::expect::Expect;
use crate::plan::fault::Fault;
use crate::plan::golden::GoldenPlan;
pub use crate::plan::provider::ProviderName;
use crate::plan::sources::{LineMap, Sources};
use crate::plan::step::StepPlan;
pub use crate::vocabulary::cluster_status::ClusterStatus;
use crate::vocabulary::ids::{AccountId, InstanceId, ScenarioId};
use crate::vocabulary::phase::Phase;
use crate::vocabulary::region::Region;
pub use crate::vocabulary::{cidr, cluster_status, ids, region};

/// The complete input of the engine for one scenario. Plain data that can cross a process boundary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub id: ScenarioId,
    /// One sentence that says what the scenario shows.
    pub name: String,
    /// Path of the scenario file, as the user gave it.
    pub file: String,
    /// Control planes that support the scenario; on others it is skipped. Empty: all.
    pub control_plane: Vec<ProviderName>,
    /// Supported Kubernetes versions of the control plane; on others the scenario is skipped.
    pub kubernetes: Option<semver::VersionReq>,
    /// Supported kubelet versions; on others the scenario is skipped.
    pub kubelet: Option<semver::VersionReq>,
    /// Unset environment variables that the scenario requires. If there are any, it is skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unset: Vec<String>,
    /// The requested Kubernetes versions.
    #[serde(default, skip_serializing_if = "RequestedVersions::is_nothing")]
    pub asked: RequestedVersions,
    /// Networks that the node reaches.
    pub network: Network,
    /// The node image and its overlay files.
    pub image: ImagePlan,
    pub account: AccountId,
    /// Region of all resources.
    pub region: Region,
    /// The first instance.
    pub instance: InstancePlan,
    /// More instances that boot at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<InstancePlan>,
    /// Role in the instance profile; `None`: an instance without a profile.
    pub role: Option<RolePlan>,
    pub cluster: ClusterPlan,
    pub user_data: Option<UserDataPlan>,
    /// Other resources of the account.
    #[serde(default)]
    pub aws: AwsPlan,
    pub faults: Vec<Fault>,
    /// Container networking of the node.
    pub cni: Cni,
    /// A pod that must answer once the node is ready.
    pub pod: Option<PodPlan>,
    /// The expected outcome of the join.
    pub expect: Expect,
    /// A snapshot to compare the node with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub golden: Option<GoldenPlan>,
    /// Steps after the join, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<StepPlan>,
    /// Timeouts of the join and of each step.
    pub limits: Timeouts,
    /// Positions in the user's files.
    #[serde(default, skip_serializing_if = "Sources::is_empty")]
    pub sources: Sources,
}

impl Plan {
    /// Whether the scenario changes the shared control plane, so that no other scenario may run at the same time.
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        self.cluster.aws_auth_text.is_some() || self.cluster.restart_api_server_after.is_some()
    }

    /// All instances of the scenario, including replacements.
    pub fn instances(&self) -> impl Iterator<Item = &InstancePlan> {
        let replaced = self.then.iter().map(|step| &step.instance);
        std::iter::once(&self.instance)
            .chain(&self.others)
            .chain(replaced.filter(|instance| instance.id != self.instance.id))
    }

    /// One plan per node. The plans differ in their instance only.
    #[must_use]
    pub fn nodes(&self) -> Vec<Self> {
        let instances = std::iter::once(&self.instance).chain(&self.others);
        let node = |instance: &InstancePlan| Self {
            instance: instance.clone(),
            others: Vec::new(),
            ..self.clone()
        };
        instances.map(node).collect()
    }

    /// The plan of the node after a step, whose outcome is judged like that of a join.
    #[must_use]
    pub fn after(&self, step: &StepPlan) -> Self {
        let user_data = self.user_data.clone();
        Self {
            instance: step.instance.clone(),
            expect: step.expect.clone(),
            user_data: user_data.filter(|_| step.action.minds_user_data()),
            // Faults apply to the first join only.
            faults: Vec::new(),
            pod: None,
            golden: None,
            then: Vec::new(),
            ..self.clone()
        }
    }
}

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

/// The node image and its overlay files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImagePlan {
    /// Name of the node image: a folder of `fixtures/images/nodes`, or a local image (`image:tag`).
    pub name: String,
    /// Overlay files, in order; later files take precedence.
    pub overlay: Vec<OverlayFile>,
}

/// A file that an overlay adds to the image.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverlayFile {
    /// Absolute path on the host.
    pub from: String,
    /// Absolute path in the node.
    pub to: String,
    /// File mode.
    pub mode: u32,
    /// Replaces the content of `from` if the manifest names a patch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patched: Option<PatchedFile>,
}

/// A file of an overlay after its patch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PatchedFile {
    /// The patch file on this machine, absolute.
    pub patch: String,
    /// The content that lands in the node.
    pub content: String,
    /// Maps lines of `content` to `from` and `patch`.
    pub lines: LineMap,
}

/// One EC2 instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstancePlan {
    /// Instance id.
    pub id: InstanceId,
    /// Instance type, such as `m5.large`.
    pub instance_type: String,
    /// Image id, such as `ami-0...`.
    pub ami: String,
    /// The primary private address.
    pub private_ip: Ipv4Addr,
    /// `PrivateDnsName` in EC2 and in the metadata service.
    pub private_dns_name: String,
    /// Host name of the operating system at boot; DHCP on EC2 assigns the private DNS name.
    pub host_name: String,
    /// MAC address of the primary interface, lower case with colons.
    pub mac: String,
    /// Availability zone.
    pub availability_zone: String,
    /// CIDR of the subnet.
    pub subnet_cidr: String,
    /// CIDRs of the VPC, the primary one first.
    pub vpc_cidrs: Vec<String>,
    /// VPC id.
    pub vpc_id: String,
    /// Subnet id.
    pub subnet_id: String,
    /// Network interface id.
    pub network_interface_id: String,
    /// Security group id.
    pub security_group_id: String,
    /// Tags. Kubelets with the in-tree AWS provider need one that names the cluster.
    pub tags: BTreeMap<String, String>,
    /// Purchasing option.
    pub life_cycle: LifeCycle,
    /// Metadata options.
    pub metadata: MetadataPlan,
    /// Network settings beyond the defaults.
    #[serde(default)]
    pub network: NetworkPlan,
    /// Seconds by which the clock of the instance is ahead of the clocks of AWS and of the authenticator; negative:
    /// behind.
    #[serde(default)]
    pub clock_ahead_seconds: i64,
}

/// Purchasing option of an instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LifeCycle {
    /// On-Demand Instance.
    #[default]
    OnDemand,
    /// Spot Instance.
    Spot,
}

impl LifeCycle {
    /// The value of `instance-life-cycle` in the metadata service.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OnDemand => "on-demand",
            Self::Spot => "spot",
        }
    }
}

/// An IAM role of an instance profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RolePlan {
    /// Name of the role, without its path.
    pub name: String,
    /// Path of the role; starts and ends with `/`.
    pub path: String,
    /// Allowed actions; `None`: every action.
    #[serde(default)]
    pub allow: Option<Vec<String>>,
    /// Denied actions, such as `eks:DescribeCluster`. A denial takes precedence over `allow`.
    pub deny: Vec<String>,
}

/// An EKS cluster and its contents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterPlan {
    pub name: String,
    /// First label of the endpoint's host name: 32 upper-case hexadecimal digits.
    pub endpoint_id: String,
    /// Statuses in DescribeCluster over time, from the node's start. The last status does not end.
    pub status: Vec<StatusStep>,
    /// CIDR of service addresses; `None`: DescribeCluster returns null.
    pub service_ipv4_cidr: Option<String>,
    /// CA in DescribeCluster and in `{{ cluster.certificate_authority }}`.
    pub certificate_authority: CaChoice,
    /// The scenario's rows in `kube-system/aws-auth`.
    pub aws_auth: Vec<RoleMapping>,
    /// Raw text of `mapRoles`, which replaces the rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aws_auth_text: Option<String>,
    /// Where EKS reads access rights from.
    #[serde(default)]
    pub authentication_mode: AuthenticationMode,
    /// Access entries.
    #[serde(default)]
    pub access_entries: Vec<AccessEntry>,
    /// Whether the EKS approver of kubelet-serving certificates runs.
    pub approve_serving: bool,
    /// Whether the cloud node controller runs.
    pub cloud_node_controller: bool,
    /// Whether client certificate requests of nodes of a local cluster on an Outpost are approved.
    pub approve_clients: bool,
    /// Phase at which the IAM authenticator stops permanently; `None`: it keeps running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authenticator_until: Option<Phase>,
    /// Bootstrap tokens.
    #[serde(default)]
    pub bootstrap_tokens: Vec<BootstrapToken>,
    /// Restarts the API server when this number of nodes is registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart_api_server_after: Option<u32>,
    /// Values that only the EKS API returns.
    #[serde(default)]
    pub eks: EksPlan,
}

impl InstancePlan {
    /// The addresses of the primary interface: the private IPv4 address, and all IPv6 addresses.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        let ipv6 = self.network.ipv6.iter().copied().map(IpAddr::from);
        std::iter::once(IpAddr::from(self.private_ip)).chain(ipv6)
    }
}

impl ClusterPlan {
    /// Cluster name or id in tokens: the name, or the id of a local cluster on an Outpost.
    #[must_use]
    pub fn token_for(&self) -> &str {
        self.eks
            .outpost
            .as_ref()
            .map_or(&self.name, |outpost| &outpost.cluster_id)
    }

    /// Whether a row of `aws-auth` or an access entry maps a role of Windows nodes.
    #[must_use]
    pub fn maps_windows(&self) -> bool {
        let rows = self.aws_auth.iter().map(|row| &row.groups);
        let mut all = rows.chain(self.access_entries.iter().map(|entry| &entry.groups));
        all.any(|groups| groups.iter().any(|group| group == "eks:kube-proxy-windows"))
    }

    /// Host name of the endpoint.
    #[must_use]
    pub fn endpoint_host(&self, region: &Region) -> String {
        format!("{}.gr7.{region}.eks.{}", self.endpoint_id, region.dns_suffix())
    }
}

/// A status of a cluster and its duration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusStep {
    /// Status in the EKS API.
    pub status: ClusterStatus,
    /// Seconds after the node's start until the next status; not allowed in the last step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_seconds: Option<f64>,
}

/// The CA that a node receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CaChoice {
    /// The CA of the control plane.
    #[default]
    Own,
    /// The CA of another cluster: valid, but wrong.
    Other,
}

/// A row of `mapRoles` in `aws-auth`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RoleMapping {
    /// ARN of the role.
    pub rolearn: String,
    /// User name, which may contain templates.
    pub username: String,
    /// Groups.
    pub groups: Vec<String>,
    /// Who adds the row.
    #[serde(default)]
    pub added_by: AwsAuthWriter,
    /// Seconds after the node's start until the row is added; `None`: before the node starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_seconds: Option<f64>,
}

/// The writer of a row in `aws-auth`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AwsAuthWriter {
    /// EKS, as for a managed node group: `eks:node-manager` patches the ConfigMap.
    #[default]
    Eks,
    /// eksctl, as for a self-managed node group: the user who created the cluster reads and updates the ConfigMap.
    Eksctl,
}

impl AwsAuthWriter {
    /// User name in the audit log of the API server.
    #[must_use]
    pub fn username(self) -> &'static str {
        match self {
            Self::Eks => "eks:node-manager",
            Self::Eksctl => "kubernetes-admin",
        }
    }
}

/// User data, and the program that runs it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserDataPlan {
    /// Program that runs the user data.
    pub engine: UserDataEngine,
    /// The bytes in base64, before `{{ cluster.* }}` and `{{ instance.* }}` are filled in and before compression.
    pub base64: String,
    /// Whether the metadata service returns the bytes compressed with gzip.
    #[serde(default)]
    pub gzip: bool,
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

/// A pod that must answer over HTTP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
