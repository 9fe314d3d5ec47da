//! What an account of AWS holds beside one instance, its role and its cluster, and what of those only AWS' services tell.
//!
//! These are keys of a scenario and parts of a plan alike: nothing in them is derived, so both have the same types.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// EC2's metadata options of an instance, and what only its metadata service tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MetadataPlan {
    /// Whether a request needs a token.
    pub tokens: Tokens,
    /// Whether the endpoint answers at all.
    pub enabled: bool,
    /// Whether tags are listed under `tags/instance`.
    pub instance_tags: bool,
    /// How many hops the answer to a token request survives, 1 to 64: `HttpPutResponseHopLimit`. From a container on the node's
    /// bridge, which is one hop further, a request for a token hangs where this is 1. EKS' own launch templates say 2.
    pub hop_limit: u8,
    /// Whether the IPv6 endpoint answers: `HttpProtocolIpv6`.
    pub ipv6: bool,
    /// Whether a folder without its final slash is redirected to the path with it, as the service did until about 2020.
    pub legacy_redirect: bool,
    /// Public keys by their names, such as `my-key: ssh-rsa AAAA...`.
    pub public_keys: BTreeMap<String, String>,
    /// The role's credentials, as the metadata service hands them out.
    pub credentials: CredentialsPlan,
    /// The interruption of a spot instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spot_notice: Option<SpotNotice>,
    /// Seconds after the node's start at which a rebalance recommendation stands there; never where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebalance_after_seconds: Option<f64>,
    /// What `autoscaling/target-lifecycle-state` says, such as `InService`; the path is not there where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifecycle_state: Option<String>,
}

impl Default for MetadataPlan {
    fn default() -> Self {
        Self {
            tokens: Tokens::Required,
            enabled: true,
            instance_tags: false,
            hop_limit: 2,
            ipv6: false,
            legacy_redirect: false,
            public_keys: BTreeMap::new(),
            credentials: CredentialsPlan::default(),
            spot_notice: None,
            rebalance_after_seconds: None,
            lifecycle_state: None,
        }
    }
}

/// `HttpTokens` of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tokens {
    /// IMDSv2 only.
    Required,
    /// IMDSv1 works too.
    Optional,
}

/// How the metadata service hands out a role's credentials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CredentialsPlan {
    /// `Code` of the document. Anything but `Success`, such as `AssumeRoleUnauthorizedAccess`, comes without credentials.
    pub code: String,
    /// `Message` of the document where `code` is not `Success`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Seconds after the node's start at which the role's paths appear; 404 before.
    pub after_seconds: f64,
    /// How long credentials live. New ones are there 15 minutes before the old ones expire, or halfway through a shorter life.
    pub lifetime_seconds: u32,
}

impl Default for CredentialsPlan {
    fn default() -> Self {
        Self {
            code: "Success".to_owned(),
            message: None,
            after_seconds: 0.0,
            // Six hours, as EC2's live.
            lifetime_seconds: 21_600,
        }
    }
}

/// The interruption of a spot instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpotNotice {
    /// What will happen to it.
    #[serde(default)]
    pub action: SpotAction,
    /// Seconds after the node's start at which the notice stands there. The action follows two minutes later.
    #[serde(default)]
    pub after_seconds: f64,
}

/// What happens to a spot instance that is taken back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SpotAction {
    /// It is terminated.
    #[default]
    Terminate,
    /// It is stopped.
    Stop,
    /// It is hibernated.
    Hibernate,
}

impl SpotAction {
    /// The word of the notice.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Terminate => "terminate",
            Self::Stop => "stop",
            Self::Hibernate => "hibernate",
        }
    }
}

/// What of an instance's network is not there by default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkPlan {
    /// The public IPv4 address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_ip: Option<Ipv4Addr>,
    /// IPv6 addresses of the primary interface.
    pub ipv6: Vec<Ipv6Addr>,
    /// Further private IPv4 addresses of the primary interface.
    pub secondary_ips: Vec<Ipv4Addr>,
    /// Further domains of the VPC's DHCP options: `local-hostname` has them after the name, with blanks between.
    pub dhcp_domains: Vec<String>,
    /// Seconds after the node's start from which EC2 knows `PrivateDnsName`; empty before, as it is for a moment on EC2.
    pub named_after_seconds: f64,
    /// Network interfaces after the primary one, by their device index from 1.
    pub interfaces: Vec<InterfacePlan>,
    /// Network nodes that it hangs on, from the top layer down, such as `nn-0a1b2c3d4e5f60718`. EC2 tells them of types for HPC and
    /// machine learning, and the cloud node controller labels a Node with them.
    pub nodes: Vec<String>,
}

/// A network interface that is not the primary one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterfacePlan {
    /// MAC address, lower case with colons.
    pub mac: String,
    /// Private IPv4 addresses, the primary one first.
    pub private_ips: Vec<Ipv4Addr>,
    /// Network card.
    #[serde(default)]
    pub network_card: u8,
}

/// What only EKS' own service tells of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EksPlan {
    /// Whether pods and services have IPv4 or IPv6 addresses.
    pub ip_family: IpFamily,
    /// CIDR of service addresses of an IPv6 cluster, such as `fd30:1c53:5f8a::/108`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_ipv6_cidr: Option<String>,
    /// The Outpost of a local cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outpost: Option<OutpostPlan>,
    /// CIDRs of hybrid nodes.
    pub remote_node_networks: Vec<String>,
    /// CIDRs of the pods of hybrid nodes.
    pub remote_pod_networks: Vec<String>,
    /// Managed node groups.
    pub nodegroups: Vec<NodegroupPlan>,
    /// Tags of the cluster.
    pub tags: BTreeMap<String, String>,
}

/// The addresses of pods and services.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IpFamily {
    /// IPv4.
    #[default]
    Ipv4,
    /// IPv6.
    Ipv6,
}

/// Where principals may be granted access to a cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AuthenticationMode {
    /// Access entries only.
    Api,
    /// Access entries and `aws-auth`.
    ApiAndConfigMap,
    /// `aws-auth` only.
    #[default]
    ConfigMap,
}

impl AuthenticationMode {
    /// EKS' own word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Api => "API",
            Self::ApiAndConfigMap => "API_AND_CONFIG_MAP",
            Self::ConfigMap => "CONFIG_MAP",
        }
    }
}

/// The Outpost of a local cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutpostPlan {
    /// ARN of the Outpost.
    pub arn: String,
    /// `id` of the cluster, which tokens are made for in place of its name.
    pub cluster_id: String,
}

/// A managed node group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodegroupPlan {
    /// Its name.
    pub name: String,
    /// Its status.
    #[serde(default = "active")]
    pub status: String,
    /// Taints, `key=value:Effect`, that EKS puts on its nodes once they are registered, as it does where the launch template names an AMI.
    /// Where EKS makes the user data, they stand in that, and not here.
    #[serde(default)]
    pub taints: Vec<String>,
    /// Labels of its nodes.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

fn active() -> String {
    "ACTIVE".to_owned()
}

/// What the account holds beside the instance, its role and its cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AwsPlan {
    /// Further clusters.
    pub clusters: Vec<OtherCluster>,
    /// Further instances.
    pub instances: Vec<OtherInstance>,
    /// Further roles, which the instance's role or a service account may assume.
    pub roles: Vec<OtherRole>,
    /// Stacks of CloudFormation. Where there is none, every stack takes signals.
    pub stacks: Vec<StackPlan>,
    /// Repositories of the account's own image registry, `<account>.dkr.ecr.<region>.amazonaws.com`.
    pub repositories: Vec<RepositoryPlan>,
}

/// A repository of the account's image registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RepositoryPlan {
    /// Its name, such as `team/web`.
    pub name: String,
    /// Its images; none where absent.
    #[serde(default)]
    pub images: Vec<StoredImage>,
}

/// An image of a repository. Give one of `archive` and `engine`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StoredImage {
    /// Its tags. One without any is reached by its digest alone.
    pub tags: Vec<String>,
    /// A file with the image, relative to this file: of `docker save`, or a packed OCI image layout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive: Option<String>,
    /// An image that the container engine of this machine has by this name, such as `team/web:2`. It is looked up at each run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
}

/// A cluster of which only its description is looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OtherCluster {
    /// Its name.
    pub name: String,
    /// Its region; the scenario's where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Its status.
    #[serde(default = "active")]
    pub status: String,
    /// Its version, such as `1.29`; the scenario's cluster's where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// An instance that only EC2 tells of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OtherInstance {
    /// Its id.
    pub id: String,
    /// Its primary private address.
    pub private_ip: Ipv4Addr,
    /// Its state.
    #[serde(default)]
    pub state: InstanceState,
    /// Its region; the scenario's where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Its tags.
    #[serde(default)]
    pub tags: BTreeMap<String, String>,
}

/// State of an instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InstanceState {
    /// It boots.
    Pending,
    /// It runs.
    #[default]
    Running,
    /// It is being terminated.
    ShuttingDown,
    /// It is gone, and still told for an hour.
    Terminated,
    /// It is being stopped.
    Stopping,
    /// It is stopped.
    Stopped,
}

impl InstanceState {
    /// Code and name, as EC2 has them.
    #[must_use]
    pub fn code_and_name(self) -> (u16, &'static str) {
        match self {
            Self::Pending => (0, "pending"),
            Self::Running => (16, "running"),
            Self::ShuttingDown => (32, "shutting-down"),
            Self::Terminated => (48, "terminated"),
            Self::Stopping => (64, "stopping"),
            Self::Stopped => (80, "stopped"),
        }
    }
}

/// A role that can be assumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OtherRole {
    /// Its name, with its path if it has one.
    pub name: String,
    /// Who may assume it.
    #[serde(default)]
    pub trusts: Trust,
    /// Actions that it may do; every action where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
    /// Actions that it may not do, whatever `allow` says.
    #[serde(default)]
    pub deny: Vec<String>,
}

/// Who may assume a role.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// The principals of its account.
    #[default]
    Account,
    /// Service accounts of the cluster, by its OIDC provider.
    ServiceAccounts,
    /// Nobody here.
    Nobody,
}

/// A stack of CloudFormation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StackPlan {
    /// Its name.
    pub name: String,
    /// Its status, before any signal.
    #[serde(default = "being_created")]
    pub status: String,
    /// How many signals of success each resource waits for, by logical id. Once all have come, the stack is `CREATE_COMPLETE`;
    /// a signal of failure makes it `CREATE_FAILED`.
    #[serde(default)]
    pub waits_for: BTreeMap<String, u32>,
}

fn being_created() -> String {
    "CREATE_IN_PROGRESS".to_owned()
}
