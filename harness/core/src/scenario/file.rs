//! The keys of a scenario file. Editors show their doc comments.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use semver::VersionReq;
use serde::Deserialize;

use super::cluster_file::ClusterFile;
use super::image::ImageFile;
use super::nullable::{given, text_or_null};
use super::user_data_file::UserDataFile;
use crate::plan::aws::{AwsPlan, MetadataPlan};
use crate::plan::dns_fault::DnsFault;
use crate::plan::ec2::NetworkPlan;
use crate::plan::expect::Expect;
use crate::plan::fault::Fault;
use crate::plan::golden::GoldenFile;
use crate::plan::instance_type::TypeData;
use crate::plan::outside::OutsideFiles;
use crate::plan::step::Action;
use crate::plan::{Cni, LifeCycle, Network, NewerSettings, ProviderName, Stubs, Timeouts, VolumePlan};
use crate::vocabulary::cidr::Cidr;
use crate::vocabulary::http_proxy::HttpProxyUrl;
use crate::vocabulary::ids::{AccountId, InstanceId, ScenarioTag};
use crate::vocabulary::region::Region;

/// A scenario: a node that boots, the AWS account around it, and the expected outcome of its join.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// One sentence that says what the scenario shows, such as `a role that aws-auth does not list never joins`.
    pub name: String,
    /// Purpose of the scenario, for people only.
    #[serde(default)]
    pub about: Option<String>,
    /// Words for the term `tag(...)` of filter expressions, such as `slow`: lower-case letters, digits, `-` and `_`.
    #[serde(default)]
    pub tags: Vec<ScenarioTag>,
    /// Version range of the API server, such as `>=1.20`. On other versions the scenario is skipped.
    #[serde(default)]
    #[schemars(schema_with = "version_range")]
    pub kubernetes: Option<VersionReq>,
    /// Version range of the node's kubelet, such as `>=1.20, <1.27`. On other versions the scenario is skipped.
    #[serde(default)]
    #[schemars(schema_with = "version_range")]
    pub kubelet: Option<VersionReq>,
    /// Environment variables that overlays of the scenario use, such as the path of a checkout. If one is unset or
    /// empty, the scenario is skipped.
    #[serde(default)]
    pub variables: Vec<String>,
    /// Control planes that support the scenario, one or a list: `local`, `k3s`, `kind` or `external`. On other
    /// control planes the scenario is skipped. Without `--control-plane`, the first of the list runs it (default:
    /// any, and `local` if none is chosen).
    #[serde(default)]
    pub control_plane: Option<ProvidersFile>,
    /// Networks that the node reaches in addition to the control plane and the harness.
    #[serde(default)]
    pub network: Network,
    /// Recorded answers of hosts outside of AWS: files, relative to this file, by URL. A URL has `https://` or
    /// `http://`, a host name or a public address, a path and optionally a query; a path that ends
    /// with `*` is a prefix. `GET` and `HEAD` receive the file. Every other request to the outside is refused at once,
    /// unless the network is open.
    #[serde(default)]
    pub outside: OutsideFiles,
    /// An HTTP proxy in the network of the node, such as `http://proxy.corp.internal:3128`, without credentials. It
    /// leads to AWS, to the API server and to the hosts of `outside` (default: none).
    #[serde(default)]
    pub http_proxy: Option<HttpProxyUrl>,
    /// The node image: a built-in name, the name of an image of the container engine as `name:tag`, or a root file
    /// system as `rootfs: FILE` (default: `al2`).
    #[serde(default)]
    pub image: Option<ImageFile>,
    /// Overlay manifest that adds files to the node image, relative to this file; or a list of manifests, of which
    /// later ones take precedence.
    #[serde(default)]
    pub overlay: Option<OneOrMany>,
    /// The AWS account id (default: `111122223333`).
    #[serde(default)]
    pub account: Option<AccountId>,
    /// The AWS region (default: `eu-west-1`).
    #[serde(default)]
    pub region: Option<Region>,
    /// The EC2 instance. Missing keys get values derived from the scenario's id.
    #[serde(default)]
    pub instance: InstanceFile,
    /// Number of instances that boot at the same time, 1 to 100. Each has its own id, address and name; the verdict
    /// covers all of them (default: 1).
    #[serde(default)]
    pub count: Option<u32>,
    /// Permissions of the instance's role.
    #[serde(default)]
    pub iam: IamFile,
    /// Resources of the account besides the instance, its role and its cluster.
    #[serde(default)]
    pub aws: AwsPlan,
    /// The EKS cluster.
    #[serde(default)]
    pub cluster: ClusterFile,
    /// The user data of the instance: the text itself, or a mapping that names its source.
    #[serde(default)]
    pub user_data: Option<UserDataFile>,
    /// Faults of AWS: which requests they apply to, and what happens to those requests.
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// Faults of the node's DNS resolver: which names it does not resolve, and for how long.
    #[serde(default)]
    pub dns_faults: Vec<DnsFault>,
    /// Container networking of the node.
    #[serde(default)]
    pub cni: Cni,
    /// Programs of Amazon Linux that the node image lacks and user data calls.
    #[serde(default)]
    pub stubs: Stubs,
    /// Settings of newer kubelets than the one that runs. A scenario for those versions sets `kubelet` instead.
    #[serde(default)]
    pub newer_settings: NewerSettings,
    /// A pod that must run on the node and answer once the node is ready.
    #[serde(default)]
    pub pod: Option<PodFile>,
    /// The expected outcome (default: the node becomes ready, or registers with `cni: none`). `{{ instance.id }}` and
    /// the other names of user data are filled in for each node.
    #[serde(default)]
    pub expect: Expect,
    /// A snapshot of the node in a file next to the scenario. `nodejoin run --bless` writes it; other runs compare
    /// the node with it.
    #[serde(default)]
    pub golden: Option<GoldenFile>,
    /// Steps after the join, in order, each with its own expected outcome.
    #[serde(default)]
    pub then: Vec<StepFile>,
    /// Timeouts of the join and of each step of `then`, and what a node can use of its host.
    #[serde(default)]
    pub limits: Timeouts,
}

/// A step after the join.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepFile {
    /// The action.
    #[serde(rename = "do")]
    pub action: Action,
    /// The systemd unit of `restart-unit` and `stop-unit`, such as `containerd.service`.
    #[serde(default)]
    pub unit: Option<String>,
    /// Purpose of the step, for people only.
    #[serde(default)]
    pub about: Option<String>,
    /// The expected outcome. AWS calls, tokens and journal lines count from the start of the step. Defaults: after
    /// `reboot` the same Node is ready with a new boot id; after `run-user-data-again` the scripts succeed and the
    /// same Node is ready; after `replace-instance`, `restart-kubelet` and `restart-unit` a Node is ready; after
    /// `stop-unit` the unit is `inactive`; after `delete-node` the Node stays deleted (`node-deleted`).
    #[serde(default)]
    pub expect: Expect,
}

/// One control plane, or several.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ProvidersFile {
    /// A single value.
    One(ProviderName),
    /// A list, in order of preference.
    Many(Vec<ProviderName>),
}

/// One EC2 instance.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InstanceFile {
    /// Instance id, such as `i-0b22a22eec53b9321`.
    pub id: Option<InstanceId>,
    /// Instance type (default: `m5.large`).
    #[serde(rename = "type")]
    pub instance_type: Option<String>,
    /// A known instance type, such as `m7i.large`, for a `type` that is newer than nodejoin's table: EC2 reports its
    /// processors, memory, network interfaces and architecture, from which scripts derive the limit of pods.
    pub type_like: Option<String>,
    /// Figures of a `type` that is newer than nodejoin's table, in place of `type_like`.
    pub type_data: Option<TypeData>,
    /// Image id, such as `ami-0bb07d9c8d6ca41e8`.
    pub ami: Option<String>,
    /// The primary private IPv4 address (default: an address in 192.168.0.0/16).
    pub private_ip: Option<Ipv4Addr>,
    /// `PrivateDnsName` in EC2 (default: `ip-192-168-40-16.<region>.compute.internal`).
    pub private_dns_name: Option<String>,
    /// Host name of the operating system at boot (default: the private DNS name).
    pub host_name: Option<String>,
    /// MAC address of the primary network interface, such as `0a:1b:2c:3d:4e:5f`.
    pub mac: Option<String>,
    /// Availability zone (default: the region's zone `a`).
    pub availability_zone: Option<String>,
    /// CIDR of the subnet (default: the /19 that contains the private address).
    pub subnet_cidr: Option<Cidr>,
    /// CIDRs of the VPC, the primary one first (default: the /16 that contains the subnet).
    pub vpc_cidrs: Option<Vec<Cidr>>,
    /// Tags. `kubernetes.io/cluster/<cluster>: owned` is added, unless a tag with that prefix exists or
    /// `metadata.instance_tags` is on.
    pub tags: BTreeMap<String, String>,
    /// EBS volumes besides the root volume, empty at the start. User data formats and mounts them with stand-ins, as it
    /// does the instance store (deviation `disk-tools`).
    pub volumes: Vec<VolumePlan>,
    /// Purchasing option of the instance.
    pub life_cycle: LifeCycle,
    /// Name of the IAM role in the instance profile, with its path if it has one. `null`: an instance without a
    /// profile.
    #[serde(deserialize_with = "given")]
    #[schemars(schema_with = "text_or_null")]
    pub role: Option<Option<String>>,
    /// Metadata options, and values that only the metadata service returns.
    pub metadata: MetadataPlan,
    /// Network settings beyond the defaults: a public address, IPv6, more interfaces.
    pub network: NetworkPlan,
    /// Seconds by which the clock of the instance is ahead of the clocks of AWS and of the IAM authenticator;
    /// negative: behind. The clocks of AWS and the authenticator are shifted; the certificates of the API server and
    /// of AWS use the real time.
    pub clock_ahead_seconds: i64,
}

/// Permissions of the instance's role. AWS words an implicit denial differently from an explicit one.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IamFile {
    /// Allowed actions, such as `ec2:Describe*` (default: every action).
    pub allow: Option<Vec<String>>,
    /// Denied actions, such as `eks:DescribeCluster`. A denial takes precedence over `allow`.
    pub deny: Vec<String>,
}

/// A pod that must answer over HTTP.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PodFile {
    /// Repository in the account's registry (default: `nodejoin/echo`).
    #[serde(default = "echo")]
    pub image: String,
}

/// A text, or a list of texts.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany {
    /// A single value.
    One(String),
    /// A list.
    Many(Vec<String>),
}

impl OneOrMany {
    /// The texts, in order.
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

pub(super) fn version_range(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "version-range" })
}
