//! The keys of a scenario file. Their doc comments are what an editor shows.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

use crate::observation::phase::Phase;
use crate::plan::access_entry::AccessEntryFile;
use crate::plan::aws::{AuthenticationMode, AwsPlan, EksPlan, MetadataPlan, NetworkPlan};
use crate::plan::bootstrap_token::TokenUsage;
use crate::plan::expect::Expect;
use crate::plan::fault::Fault;
use crate::plan::golden::GoldenFile;
use crate::plan::region::Region;
use crate::plan::step::Action;
use crate::plan::{AwsAuthWriter, CaChoice, Cni, Limits, Network, ProviderName, StatusStep, UserDataEngine};

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
    /// Environment variables that overlays of the scenario name, such as a checkout of yours; skipped where one is not set.
    #[serde(default)]
    pub variables: Vec<String>,
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
    /// The AWS region (default: `eu-west-1`).
    #[serde(default)]
    pub region: Option<Region>,
    /// The EC2 instance. Whatever is absent gets a value of its own for each scenario.
    #[serde(default)]
    pub instance: InstanceFile,
    /// How many such instances boot at once, 1 to 100; each has an id, an address and a name of its own. The verdict is of all of them.
    #[serde(default)]
    pub count: Option<u32>,
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
    /// What must be seen. Where absent: the node becomes ready (with `cni: none`: registers). `{{ instance.id }}` and the other names
    /// that user data knows are filled in, for each node its own.
    #[serde(default)]
    pub expect: Expect,
    /// A snapshot of the node, kept beside the scenario: `nodejoin run --bless` writes it, every other run is held against it.
    #[serde(default)]
    pub golden: Option<GoldenFile>,
    /// What is done to the node once all of that was seen, step by step, each with what must be seen after it.
    #[serde(default)]
    pub then: Vec<StepFile>,
    /// How long things may take; the join, and each step of `then`.
    #[serde(default)]
    pub limits: Limits,
}

/// A step after the join.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepFile {
    /// What is done.
    #[serde(rename = "do")]
    pub action: Action,
    /// Why the step is there. Read by people only.
    #[serde(default)]
    pub about: Option<String>,
    /// What must be seen after it. Calls, tokens and lines of the journal count from the step on. Where absent: after `reboot` the same
    /// Node is ready, by a new boot; after `run-user-data-again` the scripts end well and the same Node is ready; after `replace-instance`
    /// and `restart-kubelet` a Node is ready; after `delete-node` it stays away (`node-deleted`).
    #[serde(default)]
    pub expect: Expect,
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
    /// How many seconds its clock is ahead of that of AWS and of the authenticator; negative where it is behind. It is their clocks that
    /// are moved: the certificates of the API server and of AWS keep this machine's time.
    pub clock_ahead_seconds: i64,
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
    pub certificate_authority: CaChoice,
    /// `mapRoles` in `kube-system/aws-auth`: rows, or its text as somebody left it there. Where absent, the instance's own role is mapped
    /// as EKS does it; `[]` maps none.
    pub aws_auth: Option<AwsAuthFile>,
    /// Where principals may be granted access: `CONFIG_MAP` where absent, and `API_AND_CONFIG_MAP` where there are access entries.
    pub authentication_mode: Option<AuthenticationMode>,
    /// Access entries. They go before rows of `aws-auth`, where the authentication mode lets them count.
    pub access_entries: Vec<AccessEntryFile>,
    /// Whether EKS' approver of kubelet-serving certificates works.
    pub approve_serving: bool,
    /// Whether the cloud node controller works.
    pub cloud_node_controller: bool,
    /// Whether kube-controller-manager may approve the client certificates that nodes of a local cluster on an Outpost ask for.
    pub approve_clients: bool,
    /// Lets the IAM authenticator go down for good when the node has come to this phase, `registered` or `ready`.
    pub authenticator_until: Option<Phase>,
    /// Bootstrap tokens, with which come the objects that `kubeadm init` leaves for `kubeadm join`. `[{}]` is one with a value of
    /// the scenario's own, which user data calls `{{ cluster.bootstrap_token }}`. On `local` and `kind` only.
    pub bootstrap_tokens: Vec<BootstrapTokenFile>,
    /// Restarts the API server once so many of the scenario's nodes are registered. Only the control plane `local` can, and no other
    /// scenario runs beside this one.
    pub restart_api_server_after: Option<u32>,
    /// What only EKS' own service tells of it: IPv6, an Outpost, node groups.
    pub eks: EksPlan,
}

impl Default for ClusterFile {
    fn default() -> Self {
        Self {
            name: None,
            status: None,
            service_ipv4_cidr: None,
            certificate_authority: CaChoice::default(),
            aws_auth: None,
            authentication_mode: None,
            access_entries: Vec::new(),
            approve_serving: true,
            cloud_node_controller: true,
            approve_clients: true,
            authenticator_until: None,
            bootstrap_tokens: Vec::new(),
            restart_api_server_after: None,
            eks: EksPlan::default(),
        }
    }
}

/// A bootstrap token.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BootstrapTokenFile {
    /// Id and secret, such as `abcdef.0123456789abcdef`; one of the scenario's own where absent.
    pub token: Option<String>,
    /// Seconds after the scenario's begin at which it expires, negative for one that has expired before; never where absent.
    pub expires_seconds: Option<f64>,
    /// Whether it was deleted again before the node boots, as is done once it was used.
    pub deleted: bool,
    /// What it may be used for: `signing`, `authentication`; both where absent.
    pub usages: Option<Vec<TokenUsage>>,
    /// Groups that it gives; `system:bootstrappers:kubeadm:default-node-token` where absent.
    pub groups: Option<Vec<String>>,
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

/// `mapRoles` of `aws-auth`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AwsAuthFile {
    /// Rows.
    Rows(Vec<RoleMappingFile>),
    /// The text itself, which may be no YAML at all. No other scenario runs beside this one.
    Text(String),
}

impl AwsAuthFile {
    /// Its rows; a text has none that could be told.
    #[must_use]
    pub fn rows(&self) -> &[RoleMappingFile] {
        match self {
            Self::Rows(rows) => rows,
            Self::Text(_) => &[],
        }
    }
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
    /// Who adds it: `eks` where absent.
    pub added_by: AwsAuthWriter,
    /// Seconds after the node's start at which it is added; before that start where absent.
    pub after_seconds: Option<f64>,
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
    /// A unified diff to apply to `file`, relative to this file.
    pub patch: Option<String>,
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
    /// A unified diff to apply to `file`, relative to this file.
    #[serde(default)]
    pub patch: Option<String>,
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
