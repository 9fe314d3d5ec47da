//! The keys of a scenario file. Their doc comments are what an editor shows.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

use crate::aws::{AwsPlan, EksPlan, MetadataPlan, NetworkPlan};
use crate::expect::Expect;
use crate::fault::Fault;
use crate::plan::{Authority, Cni, Limits, Network, ProviderName, StatusStep, UserDataEngine};

/// A scenario: one node that boots, what AWS answers it, and what must be seen of its join.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The scenario as one sentence, such as `a role that aws-auth does not list never joins`.
    pub name: String,
    /// Why the scenario is there. Read by people only.
    #[serde(default)]
    pub about: Option<String>,
    /// Versions of the API server that it is for, such as `>=1.20`; skipped elsewhere.
    #[serde(default)]
    pub kubernetes: Option<String>,
    /// Versions of the node's kubelet that it is for, such as `>=1.20, <1.27`; skipped elsewhere.
    #[serde(default)]
    pub kubelet: Option<String>,
    /// Who may run the API server, `local`, `k3s`, `kind` or `external`, or a list of them: skipped where another one was chosen.
    /// Where absent, any may; where nobody was chosen, the first of the list does, or `local`.
    #[serde(default)]
    pub control_plane: Option<ProvidersFile>,
    /// What the node reaches beside the control plane and the harness.
    #[serde(default)]
    pub network: Network,
    /// The node image: a name of ours, such as `al2` (the default), or an image of yours as `name:tag`.
    #[serde(default)]
    pub image: Option<String>,
    /// Overlay manifest that lays your files over the node image, relative to this file; or a list of them, later ones win.
    #[serde(default)]
    pub overlay: Option<OneOrMany>,
    /// The AWS account's id; `111122223333` where absent.
    #[serde(default)]
    pub account: Option<String>,
    /// The AWS region; `eu-west-1` where absent.
    #[serde(default)]
    pub region: Option<String>,
    /// The EC2 instance. Whatever is absent gets a value of its own for each scenario.
    #[serde(default)]
    pub instance: InstanceFile,
    /// What the instance's role may do and may not.
    #[serde(default)]
    pub iam: IamFile,
    /// What the account holds beside the instance, its role and its cluster.
    #[serde(default)]
    pub aws: AwsPlan,
    /// The EKS cluster.
    #[serde(default)]
    pub cluster: ClusterFile,
    /// The user data that the instance boots with: the text itself, or a mapping that says where it comes from.
    #[serde(default)]
    pub user_data: Option<UserDataFile>,
    /// Faults of AWS: which requests they meet, and what happens to them.
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// Container networking on the node.
    #[serde(default)]
    pub cni: Cni,
    /// A pod that must run and answer on the node, once it is ready.
    #[serde(default)]
    pub pod: Option<PodFile>,
    /// What must be seen. Where absent: the node becomes ready (with `cni: none`: registers).
    #[serde(default)]
    pub expect: Expect,
    /// How long things may take.
    #[serde(default)]
    pub limits: Limits,
}

/// One provider of control planes, or several.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ProvidersFile {
    /// One.
    One(ProviderName),
    /// Several, the preferred one first.
    Many(Vec<ProviderName>),
}

/// One EC2 instance.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InstanceFile {
    /// Instance id, such as `i-0b22a22eec53b9321`.
    pub id: Option<String>,
    /// Instance type; `m5.large` where absent.
    #[serde(rename = "type")]
    pub instance_type: Option<String>,
    /// Image id, such as `ami-0bb07d9c8d6ca41e8`.
    pub ami: Option<String>,
    /// The primary private IPv4 address; one of 192.168.0.0/16 where absent.
    pub private_ip: Option<String>,
    /// `PrivateDnsName` as EC2 knows it; `ip-192-168-40-16.<region>.compute.internal` where absent.
    pub private_dns_name: Option<String>,
    /// The name the operating system boots with; the private DNS name where absent.
    pub host_name: Option<String>,
    /// MAC address of the primary network interface.
    pub mac: Option<String>,
    /// Availability zone; the region's `a` where absent.
    pub availability_zone: Option<String>,
    /// CIDR of the subnet; the /19 around the private address where absent.
    pub subnet_cidr: Option<String>,
    /// CIDRs of the VPC, the primary one first; the /16 around the subnet where absent.
    pub vpc_cidrs: Option<Vec<String>>,
    /// Tags. `kubernetes.io/cluster/<cluster>: owned` is added unless a tag of that kind is here or `metadata.instance_tags` is on.
    pub tags: BTreeMap<String, String>,
    /// How the instance was bought.
    pub life_cycle: LifeCycle,
    /// Name of the IAM role of the instance's profile, with its path if it has one; `null` is an instance without a profile.
    #[serde(deserialize_with = "given")]
    #[schemars(schema_with = "text_or_null")]
    pub role: Option<Option<String>>,
    /// Options of the metadata service, and what only it tells.
    pub metadata: MetadataPlan,
    /// What of its network is not there by default: a public address, IPv6, a second interface.
    pub network: NetworkPlan,
}

/// How an instance was bought.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LifeCycle {
    /// On demand.
    #[default]
    OnDemand,
    /// On the spot market.
    Spot,
}

/// What the instance's role may do and may not. AWS tells an action that nothing allows in other words than one that is denied.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IamFile {
    /// Actions that are allowed, such as `ec2:Describe*`; every action where absent.
    pub allow: Option<Vec<String>>,
    /// Actions that are denied, such as `eks:DescribeCluster`, whatever `allow` says.
    pub deny: Vec<String>,
}

/// The EKS cluster.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ClusterFile {
    /// Its name; one of its own for each scenario where absent.
    pub name: Option<String>,
    /// What DescribeCluster says: one status, or a list of them in time. `ACTIVE` where absent.
    pub status: Option<StatusFile>,
    /// CIDR of service addresses; `10.100.0.0/16` where absent, `null` is answered as null.
    #[serde(deserialize_with = "given")]
    #[schemars(schema_with = "text_or_null")]
    pub service_ipv4_cidr: Option<Option<String>>,
    /// Which CA DescribeCluster and `{{ cluster.certificate_authority }}` give: the cluster's own, or one of another cluster.
    pub certificate_authority: Authority,
    /// Rows of `mapRoles` in `kube-system/aws-auth`. Where absent, the instance's own role is mapped as EKS does it; `[]` maps none.
    pub aws_auth: Option<Vec<RoleMappingFile>>,
    /// Whether EKS' approver of kubelet-serving certificates works.
    pub approve_serving: bool,
    /// Whether the cloud node controller works.
    pub cloud_node_controller: bool,
    /// What only EKS' own service tells of it: IPv6, an Outpost, node groups.
    pub eks: EksPlan,
}

impl Default for ClusterFile {
    fn default() -> Self {
        Self {
            name: None,
            status: None,
            service_ipv4_cidr: None,
            certificate_authority: Authority::default(),
            aws_auth: None,
            approve_serving: true,
            cloud_node_controller: true,
            eks: EksPlan::default(),
        }
    }
}

/// A status, or statuses in time.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum StatusFile {
    /// The status all the time: `CREATING`, `ACTIVE`, `UPDATING`, `FAILED`, `DELETING` or `PENDING`.
    Always(String),
    /// Statuses in time.
    Steps(Vec<StatusStep>),
}

/// A row of `mapRoles`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RoleMappingFile {
    /// Name of the role, in the scenario's account. Give this or `rolearn`.
    pub role: Option<String>,
    /// ARN of the role. Give this or `role`.
    pub rolearn: Option<String>,
    /// User name; `system:node:{{EC2PrivateDNSName}}` where absent.
    pub username: Option<String>,
    /// Groups; `system:bootstrappers` and `system:nodes` where absent.
    pub groups: Option<Vec<String>>,
}

/// User data: the text itself, or where it comes from.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum UserDataFile {
    /// The user data itself.
    Text(String),
    /// Where it comes from and who runs it.
    Source(UserDataSource),
}

/// Where user data comes from and who runs it. Give one of `inline`, `file` and `parts`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UserDataSource {
    /// The user data itself.
    pub inline: Option<String>,
    /// A file with the user data, relative to this file.
    pub file: Option<String>,
    /// Parts of a MIME message, in their order.
    pub parts: Option<Vec<UserDataPart>>,
    /// Who runs it.
    pub engine: UserDataEngine,
    /// Compress it with gzip, after the `{{ }}` in it are filled in.
    pub gzip: bool,
}

/// A part of MIME user data. Give one of `inline` and `file`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserDataPart {
    /// What the part is.
    #[serde(rename = "type")]
    pub part_type: PartType,
    /// The part itself.
    #[serde(default)]
    pub inline: Option<String>,
    /// A file with the part, relative to this file.
    #[serde(default)]
    pub file: Option<String>,
    /// File name that the MIME header gives.
    #[serde(default)]
    pub filename: Option<String>,
}

/// What a part of MIME user data is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartType {
    /// A script, `text/x-shellscript`.
    Shell,
    /// cloud-config, `text/cloud-config`.
    CloudConfig,
    /// A script that runs early, on every boot, `text/cloud-boothook`.
    CloudBoothook,
    /// nodeadm's configuration, `application/node.eks.aws`.
    NodeConfig,
    /// Text that nothing handles, `text/plain`.
    Plain,
}

impl PartType {
    /// The MIME type.
    #[must_use]
    pub fn mime(self) -> &'static str {
        match self {
            Self::Shell => "text/x-shellscript",
            Self::CloudConfig => "text/cloud-config",
            Self::CloudBoothook => "text/cloud-boothook",
            Self::NodeConfig => "application/node.eks.aws",
            Self::Plain => "text/plain",
        }
    }
}

/// A pod that must answer.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PodFile {
    /// Repository of the account's registry; `nodejoin/echo` where absent.
    #[serde(default = "echo")]
    pub image: String,
}

/// One text, or a list of them.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl OneOrMany {
    /// All of them, in their order.
    #[must_use]
    pub fn as_slice(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(texts) => texts,
        }
    }
}

fn echo() -> String {
    "nodejoin/echo".to_owned()
}

/// Tells a key that is absent (`None`) from one that is `null` (`Some(None)`).
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

fn text_or_null(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "oneOf": [{ "type": "string" }, { "const": null }] })
}
