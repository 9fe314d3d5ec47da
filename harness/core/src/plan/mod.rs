//! A scenario after every default and file reference is resolved: what the engine runs.

pub mod access_entry;
pub mod architecture;
pub mod aws;
pub mod bootstrap_token;
pub mod change;
pub mod cidr;
pub mod expect;
pub mod fault;
pub mod golden;
pub mod ids;
pub mod instance_type;
pub mod provider;
pub mod region;
pub mod sources;
pub mod step;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kubernetes::RequestedVersions;
use crate::observation::phase::Phase;
use crate::plan::access_entry::AccessEntry;
use crate::plan::aws::{AuthenticationMode, AwsPlan, EksPlan, NetworkPlan};
pub use crate::plan::aws::{MetadataPlan, Tokens};
use crate::plan::bootstrap_token::BootstrapToken;
use crate::plan::expect::Expect;
use crate::plan::fault::Fault;
use crate::plan::golden::GoldenPlan;
use crate::plan::ids::{AccountId, InstanceId, ScenarioId};
pub use crate::plan::provider::ProviderName;
use crate::plan::region::Region;
use crate::plan::sources::{LineMap, Sources};
use crate::plan::step::StepPlan;

/// Everything the engine needs to know of one scenario. Plain data: it can cross a process boundary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The scenario's id.
    pub id: ScenarioId,
    /// The scenario's sentence.
    pub name: String,
    /// The file it was read from, as the user gave it.
    pub file: String,
    /// Providers of control planes that the scenario is for; skipped elsewhere. Empty: for any.
    pub control_plane: Vec<ProviderName>,
    /// Kubernetes versions of the control plane that the scenario is for; skipped elsewhere.
    pub kubernetes: Option<semver::VersionReq>,
    /// Kubelet versions that the scenario is for; skipped elsewhere.
    pub kubelet: Option<semver::VersionReq>,
    /// Environment variables that the scenario names and this machine has not; skipped for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unset: Vec<String>,
    /// The versions that it is asked to run on.
    #[serde(default, skip_serializing_if = "RequestedVersions::is_nothing")]
    pub asked: RequestedVersions,
    /// What the node reaches.
    pub network: Network,
    /// The node image and what is laid over it.
    pub image: ImagePlan,
    /// The account's id.
    pub account: AccountId,
    /// The region everything stands in.
    pub region: Region,
    /// The instance.
    pub instance: InstancePlan,
    /// Further instances that boot at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<InstancePlan>,
    /// The role that the instance's profile holds; `None` is an instance without a profile.
    pub role: Option<RolePlan>,
    /// The EKS cluster.
    pub cluster: ClusterPlan,
    /// The user data.
    pub user_data: Option<UserDataPlan>,
    /// What the account holds beside these.
    #[serde(default)]
    pub aws: AwsPlan,
    /// Faults of AWS.
    pub faults: Vec<Fault>,
    /// Container networking on the node.
    pub cni: Cni,
    /// A pod that must answer on the node, once it is ready.
    pub pod: Option<PodPlan>,
    /// What must be seen.
    pub expect: Expect,
    /// A snapshot of the node, which it is held against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub golden: Option<GoldenPlan>,
    /// What is done to the node after that, step by step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<StepPlan>,
    /// How long things may take.
    pub limits: Limits,
    /// Where it stands in the user's files.
    #[serde(default, skip_serializing_if = "Sources::is_empty")]
    pub sources: Sources,
}

impl Plan {
    /// Whether it changes what every scenario on its control plane stands on, so that none may run beside it.
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        self.cluster.aws_auth_text.is_some() || self.cluster.restart_api_server_after.is_some()
    }

    /// Every instance that it ever has.
    pub fn instances(&self) -> impl Iterator<Item = &InstancePlan> {
        let replaced = self.then.iter().map(|step| &step.instance);
        std::iter::once(&self.instance)
            .chain(&self.others)
            .chain(replaced.filter(|instance| instance.id != self.instance.id))
    }

    /// A plan for each of its nodes, which only they differ in.
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

    /// The plan of its node after a step, which is judged like a join of its own.
    #[must_use]
    pub fn after(&self, step: &StepPlan) -> Self {
        let user_data = self.user_data.clone();
        Self {
            instance: step.instance.clone(),
            expect: step.expect.clone(),
            user_data: user_data.filter(|_| step.action.minds_user_data()),
            // They had their time before.
            faults: Vec::new(),
            pod: None,
            golden: None,
            then: Vec::new(),
            ..self.clone()
        }
    }
}

/// Whether a version such as `v1.22.12-eks-ba74326` is in a range. What stands after the three numbers is a vendor's, and says
/// nothing of the order: to semver it would be a release before `1.22.12`, which no range admits.
#[must_use]
pub fn is_within(range: &semver::VersionReq, version: &str) -> bool {
    let numbers = version
        .trim_start_matches('v')
        .split(['-', '+'])
        .next()
        .unwrap_or_default();
    numbers.parse().is_ok_and(|version| range.matches(&version))
}

/// What a node reaches beside the control plane and the harness.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// Nothing.
    #[default]
    Isolated,
    /// Whatever the container engine's networks reach.
    Open,
}

/// The node image and what is laid over it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImagePlan {
    /// Name of the node image: a folder of `fixtures/images/nodes`, or an image of the user's (`image:tag`).
    pub name: String,
    /// Files laid over the image, in order; later ones win.
    pub overlay: Vec<OverlayFile>,
}

/// One file laid over the image.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverlayFile {
    /// The file on this machine, absolute.
    pub from: String,
    /// Where it lands in the node, absolute.
    pub to: String,
    /// Permission bits.
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
    /// `PrivateDnsName`, as EC2 and the metadata service know it.
    pub private_dns_name: String,
    /// The name the operating system boots with; EC2's DHCP gives the private DNS name.
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
    /// Tags. In-tree AWS kubelets need one that names the cluster.
    pub tags: BTreeMap<String, String>,
    /// `on-demand` or `spot`.
    pub life_cycle: String,
    /// Options of the metadata service.
    pub metadata: MetadataPlan,
    /// What of its network is not there by default.
    #[serde(default)]
    pub network: NetworkPlan,
    /// How many seconds its clock is ahead of AWS' and the authenticator's; negative where it is behind.
    #[serde(default)]
    pub clock_ahead_seconds: i64,
}

/// An IAM role of an instance profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RolePlan {
    /// Name, without its path.
    pub name: String,
    /// Path, `/` at least.
    pub path: String,
    /// Actions that the role may do; every action where absent.
    #[serde(default)]
    pub allow: Option<Vec<String>>,
    /// Actions that the role may not do, such as `eks:DescribeCluster`, whatever `allow` says.
    pub deny: Vec<String>,
}

/// An EKS cluster and what stands in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterPlan {
    /// Name.
    pub name: String,
    /// 32 upper-case hexadecimal digits: the first label of the endpoint's host name.
    pub endpoint_id: String,
    /// What DescribeCluster says, in time: each status holds for so many seconds after the node's start, the last for ever.
    pub status: Vec<StatusStep>,
    /// CIDR of service addresses; `None` is answered as null.
    pub service_ipv4_cidr: Option<String>,
    /// The CA that DescribeCluster and `{{ cluster.certificate_authority }}` give.
    pub certificate_authority: CaChoice,
    /// Rows that this scenario's cluster has in `kube-system/aws-auth`.
    pub aws_auth: Vec<RoleMapping>,
    /// `mapRoles` as a text that somebody left there, in place of rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aws_auth_text: Option<String>,
    /// Where principals may be granted access.
    #[serde(default)]
    pub authentication_mode: AuthenticationMode,
    /// Access entries.
    #[serde(default)]
    pub access_entries: Vec<AccessEntry>,
    /// Whether EKS' approver of kubelet-serving requests works.
    pub approve_serving: bool,
    /// Whether the cloud node controller works.
    pub cloud_node_controller: bool,
    /// Whether the client certificates that nodes of a local cluster on an Outpost ask for are approved.
    pub approve_clients: bool,
    /// The phase of the join with which the IAM authenticator goes down for good; never where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authenticator_until: Option<Phase>,
    /// Bootstrap tokens.
    #[serde(default)]
    pub bootstrap_tokens: Vec<BootstrapToken>,
    /// Restarts the API server once so many of the scenario's nodes are registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart_api_server_after: Option<u32>,
    /// What only EKS' own service tells of it.
    #[serde(default)]
    pub eks: EksPlan,
}

impl InstancePlan {
    /// Every address of its primary interface that a node may call its own: the private one, and those of IPv6.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        let ipv6 = self.network.ipv6.iter().copied().map(IpAddr::from);
        std::iter::once(IpAddr::from(self.private_ip)).chain(ipv6)
    }
}

impl ClusterPlan {
    /// What its nodes' tokens are made for: its name, or the id of a local cluster on an Outpost.
    #[must_use]
    pub fn token_for(&self) -> &str {
        self.eks
            .outpost
            .as_ref()
            .map_or(&self.name, |outpost| &outpost.cluster_id)
    }

    /// Whether a role is mapped as one of Windows nodes, by a row of `aws-auth` or an access entry.
    #[must_use]
    pub fn maps_windows(&self) -> bool {
        let rows = self.aws_auth.iter().map(|row| &row.groups);
        let mut all = rows.chain(self.access_entries.iter().map(|entry| &entry.groups));
        all.any(|groups| groups.iter().any(|group| group == "eks:kube-proxy-windows"))
    }

    /// The host name of the cluster's endpoint.
    #[must_use]
    pub fn endpoint_host(&self, region: &Region) -> String {
        format!("{}.gr7.{region}.eks.{}", self.endpoint_id, region.dns_suffix())
    }
}

/// What EKS calls the states of a cluster.
pub const CLUSTER_STATUSES: [&str; 6] = ["CREATING", "ACTIVE", "UPDATING", "FAILED", "DELETING", "PENDING"];

/// A status of a cluster and how long it holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusStep {
    /// `CREATING`, `ACTIVE`, `UPDATING`, `FAILED`, `DELETING` or `PENDING`.
    pub status: String,
    /// Seconds after the node's start at which the next step begins; the last step has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_seconds: Option<f64>,
}

/// Which CA a node is told to trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CaChoice {
    /// The control plane's own.
    #[default]
    Own,
    /// A CA of another cluster: well formed, and wrong.
    Other,
}

/// A row of `mapRoles` in `aws-auth`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RoleMapping {
    /// ARN of the role.
    pub rolearn: String,
    /// User name, with templates.
    pub username: String,
    /// Groups.
    pub groups: Vec<String>,
    /// Who adds it.
    #[serde(default)]
    pub added_by: AwsAuthWriter,
    /// Seconds after the node's start at which it is added; before that start where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_seconds: Option<f64>,
}

/// Who adds a row to `aws-auth`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AwsAuthWriter {
    /// EKS itself, as for a managed node group: `eks:node-manager` patches the ConfigMap.
    #[default]
    Eks,
    /// eksctl, as for a self-managed node group: it reads the ConfigMap and updates it, as the user who made the cluster.
    Eksctl,
}

impl AwsAuthWriter {
    /// Its user name, as the API server's audit log has it.
    #[must_use]
    pub fn username(self) -> &'static str {
        match self {
            Self::Eks => "eks:node-manager",
            Self::Eksctl => "kubernetes-admin",
        }
    }
}

/// User data and who runs it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserDataPlan {
    /// Who runs it.
    pub engine: UserDataEngine,
    /// The bytes as EC2 would hand them out, in base64, before `{{ cluster.* }}` and `{{ instance.* }}` are filled in
    /// and before they are compressed.
    pub base64: String,
    /// Whether they are compressed with gzip after that.
    #[serde(default)]
    pub gzip: bool,
}

/// Who runs user data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UserDataEngine {
    /// The image's own cloud-init.
    #[default]
    CloudInit,
    /// The harness's own reader of the same formats, for images without cloud-init.
    Direct,
}

/// Container networking on the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Cni {
    /// A bridge configuration that the harness lays down, as the VPC CNI's pod would.
    #[default]
    Bridge,
    /// None: the node registers and never becomes ready.
    None,
}

/// A pod that must answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PodPlan {
    /// Repository of the fake ECR, such as `nodejoin/echo`.
    pub image: String,
}

/// How long things may take, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// From the start of the node to the expected end of its join.
    pub join_seconds: f64,
    /// How long an expected failure must hold before it is believed.
    pub settle_seconds: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            join_seconds: 90.0,
            settle_seconds: 3.0,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[test]
    fn a_vendors_suffix_does_not_matter_to_a_range() {
        let range: semver::VersionReq = ">=1.20, <1.27".parse().unwrap();
        for (version, within) in [
            ("v1.20.2", true),
            ("v1.22.12-eks-ba74326", true),
            ("1.26.0+k3s1", true),
            ("v1.27.0", false),
            ("v0.0.0-master+$Format:%H$", false),
            ("", false),
        ] {
            assert_eq!(is_within(&range, version), within, "{version}");
        }
    }

    /// A small plan for tests of other modules: role and cluster are called `demo-role` and `demo`.
    pub(crate) fn plan() -> Plan {
        Plan {
            id: "demo".parse().unwrap(),
            name: "demo".into(),
            file: "demo.yaml".into(),
            control_plane: Vec::new(),
            kubernetes: None,
            kubelet: None,
            unset: Vec::new(),
            asked: RequestedVersions::default(),
            network: Network::Isolated,
            image: ImagePlan {
                name: "al2".into(),
                overlay: Vec::new(),
            },
            account: "111122223333".parse().unwrap(),
            region: "eu-west-1".parse().unwrap(),
            instance: InstancePlan {
                id: "i-0b22a22eec53b9321".parse().unwrap(),
                instance_type: "m5.large".into(),
                ami: "ami-0bb07d9c8d6ca41e8".into(),
                private_ip: Ipv4Addr::new(192, 168, 40, 16),
                private_dns_name: "ip-192-168-40-16.eu-west-1.compute.internal".into(),
                host_name: "ip-192-168-40-16.eu-west-1.compute.internal".into(),
                mac: "0a:00:00:00:00:01".into(),
                availability_zone: "eu-west-1a".into(),
                subnet_cidr: "192.168.32.0/19".into(),
                vpc_cidrs: vec!["192.168.0.0/16".into()],
                vpc_id: "vpc-0".into(),
                subnet_id: "subnet-0".into(),
                network_interface_id: "eni-0".into(),
                security_group_id: "sg-0".into(),
                tags: BTreeMap::new(),
                life_cycle: "on-demand".into(),
                metadata: MetadataPlan::default(),
                network: NetworkPlan::default(),
                clock_ahead_seconds: 0,
            },
            others: Vec::new(),
            golden: None,
            then: Vec::new(),
            role: Some(RolePlan {
                name: "demo-role".into(),
                path: "/".into(),
                allow: None,
                deny: Vec::new(),
            }),
            cluster: ClusterPlan {
                name: "demo".into(),
                endpoint_id: "0123456789ABCDEF0123456789ABCDEF".into(),
                status: vec![StatusStep {
                    status: "ACTIVE".into(),
                    until_seconds: None,
                }],
                service_ipv4_cidr: Some("10.100.0.0/16".into()),
                certificate_authority: CaChoice::Own,
                aws_auth: vec![RoleMapping {
                    rolearn: "arn:aws:iam::111122223333:role/demo-role".into(),
                    username: "system:node:{{EC2PrivateDNSName}}".into(),
                    groups: vec!["system:bootstrappers".into(), "system:nodes".into()],
                    ..RoleMapping::default()
                }],
                aws_auth_text: None,
                authentication_mode: AuthenticationMode::default(),
                access_entries: Vec::new(),
                approve_serving: true,
                cloud_node_controller: true,
                approve_clients: true,
                authenticator_until: None,
                bootstrap_tokens: Vec::new(),
                restart_api_server_after: None,
                eks: EksPlan::default(),
            },
            aws: AwsPlan::default(),
            user_data: None,
            faults: Vec::new(),
            cni: Cni::Bridge,
            pod: None,
            expect: Expect::default(),
            limits: Limits::default(),
            sources: Sources::default(),
        }
    }
}
