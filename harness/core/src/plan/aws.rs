//! Resources of an AWS account besides one instance, its role and its cluster, and values that only AWS APIs return.
//!
//! The types are shared by scenarios and plans, because none of their values is derived.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::answer::{Answer, allows, canonical_service};
use crate::plan::ec2::{AddressPlan, OtherInstance};
pub use crate::plan::metadata::{CredentialsPlan, MetadataPlan, SpotAction, SpotNotice, Tokens};
use crate::plan::pod_identity::PodIdentityPlan;
use crate::plan::stored::{BucketPlan, ParameterPlan, SecretPlan};
use crate::vocabulary::upstream::UpstreamUrl;

/// The tag with the name of an instance's Auto Scaling group.
pub const GROUP_TAG: &str = "aws:autoscaling:groupName";

/// Values of a cluster that only the EKS API returns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EksPlan {
    /// IP family of pods and services.
    pub ip_family: IpFamily,
    /// CIDR of service addresses in an IPv6 cluster, such as `fd30:1c53:5f8a::/108`.
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
    /// Add-ons of the cluster, which DescribeAddon returns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addons: Vec<AddonPlan>,
    /// Roles of service accounts, which EKS Auth hands to their pods.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pod_identity_associations: Vec<PodIdentityPlan>,
    /// Tags of the cluster.
    pub tags: BTreeMap<String, String>,
}

/// IP family of pods and services.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IpFamily {
    /// IPv4.
    #[default]
    Ipv4,
    /// IPv6.
    Ipv6,
}

/// Where EKS reads the access rights of principals from.
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
    /// The value in the EKS API.
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
    /// `id` of the cluster. Tokens name it instead of the cluster's name.
    pub cluster_id: String,
}

/// An add-on of a cluster in the EKS API. It installs nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddonPlan {
    /// Name, such as `vpc-cni`.
    pub name: String,
    /// Version, such as `v1.18.3-eksbuild.1`.
    pub version: String,
    /// Status in the EKS API.
    #[serde(default = "active")]
    pub status: String,
    /// Configuration values, as JSON or YAML text (default: none).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<String>,
}

/// A managed node group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodegroupPlan {
    /// Name.
    pub name: String,
    /// Status in the EKS API.
    #[serde(default = "active")]
    pub status: String,
    /// Taints, `key=value:Effect`, that EKS adds to nodes after they register, as it does if the launch template
    /// names an AMI. If EKS creates the user data, the taints belong there instead.
    #[serde(default)]
    pub taints: Vec<String>,
    /// Labels of the nodes.
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
    /// More clusters.
    pub clusters: Vec<OtherCluster>,
    /// More instances.
    pub instances: Vec<OtherInstance>,
    /// Elastic IP addresses. One that is the public address of the instance is associated with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<AddressPlan>,
    /// Tags of EC2 resources besides instances: by type, `network-interface`, `security-group`, `subnet`, `volume` or
    /// `vpc`, or by the allocation id of an Elastic IP address.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, BTreeMap<String, String>>,
    /// More roles, which the instance's role or a service account may assume.
    pub roles: Vec<OtherRole>,
    /// The Auto Scaling group of the instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<AutoscalingPlan>,
    /// Log groups of CloudWatch Logs that exist when the node starts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log_groups: Vec<String>,
    /// CloudFormation stacks. Without any, every stack name accepts signals.
    pub stacks: Vec<StackPlan>,
    /// Repositories of the account's image registry, `<account>.dkr.ecr.<region>.amazonaws.com`.
    pub repositories: Vec<RepositoryPlan>,
    /// Parameters of Systems Manager, by name. Those below `/aws/service/` are in each region, others in the region of
    /// the scenario. The names of user data, such as `{{ cluster.name }}`, are filled in here and in `secrets` and
    /// `buckets`, except in files.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, ParameterPlan>,
    /// Secrets of Secrets Manager in the region of the scenario, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, SecretPlan>,
    /// Buckets of S3, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub buckets: BTreeMap<String, BucketPlan>,
    /// Answers to requests that the fake AWS does not serve, or serves in another way: to any host, operation or path,
    /// also of the metadata service.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Answer>,
    /// Services that another emulator answers, such as moto or LocalStack: its URL by the service's name, for example
    /// `dynamodb: http://127.0.0.1:5000`. The process of nodejoin connects to it, not the node.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub upstream: BTreeMap<String, UpstreamUrl>,
    /// Calls, `service.Operation` with wildcards, such as `ssm.UpdateInstanceInformation`, that the fake AWS may leave
    /// unanswered: the verdict passes although the script makes them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
}

impl AwsPlan {
    /// Whether a call may stay without an answer.
    #[must_use]
    pub fn allows(&self, service: &str, operation: &str) -> bool {
        self.allow
            .iter()
            .any(|pattern| allows(pattern, service, operation))
    }

    /// The emulator that answers a service, by the service's name in transcripts.
    #[must_use]
    pub fn upstream_of(&self, service: &str) -> Option<UpstreamUrl> {
        let mut all = self.upstream.iter();
        all.find(|(name, _)| canonical_service(name) == Some(service))
            .map(|(_, url)| *url)
    }
}

/// A repository of the account's image registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RepositoryPlan {
    /// Name of the repository, such as `team/web`.
    pub name: String,
    /// Images of the repository.
    #[serde(default)]
    pub images: Vec<StoredImage>,
}

/// An image of a repository. Set exactly one of `archive` and `engine`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StoredImage {
    /// Tags of the image. An image without tags is available by its digest only.
    pub tags: Vec<String>,
    /// A file with the image, relative to this file: written by `docker save`, or a packed OCI image layout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive: Option<String>,
    /// Name of an image in the container engine, such as `team/web:2`. Each run looks it up again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
}

/// A cluster that exists in the EKS API only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OtherCluster {
    /// Name.
    pub name: String,
    /// Region (default: the region of the scenario).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Status in the EKS API.
    #[serde(default = "active")]
    pub status: String,
    /// Kubernetes version, such as `1.29` (default: the version of the scenario's cluster).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// An IAM role that principals may assume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OtherRole {
    /// Name of the role, with its path if it has one.
    pub name: String,
    /// Principals that may assume the role.
    #[serde(default)]
    pub trusts: Trust,
    /// Allowed actions (default: every action).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
    /// Denied actions. A denial takes precedence over `allow`.
    #[serde(default)]
    pub deny: Vec<String>,
}

/// Principals in the trust policy of a role.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// The principals of the role's account.
    #[default]
    Account,
    /// Service accounts of the cluster, through its OIDC provider.
    ServiceAccounts,
    /// Pods of the cluster, through EKS Pod Identity.
    Pods,
    /// No principal.
    Nobody,
}

/// The Auto Scaling group of the instance. Without it, the tag `aws:autoscaling:groupName` of the instance names the
/// group, and an instance without the tag is in no group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AutoscalingPlan {
    /// Name of the group. The instance has the tag `aws:autoscaling:groupName` with it.
    pub group: String,
    /// Names of launch lifecycle hooks. The instance is `Pending:Wait` until a CompleteLifecycleAction for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub launch_hooks: Vec<String>,
    /// Minimum number of instances.
    #[serde(default = "one")]
    pub min_size: u32,
    /// Maximum number of instances.
    #[serde(default = "one")]
    pub max_size: u32,
    /// Desired number of instances.
    #[serde(default = "one")]
    pub desired_capacity: u32,
}

fn one() -> u32 {
    1
}

/// A CloudFormation stack.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StackPlan {
    /// Name.
    pub name: String,
    /// Status of the stack before any signal.
    #[serde(default = "being_created")]
    pub status: String,
    /// Number of success signals that each resource waits for, by logical id. After all signals the stack is
    /// `CREATE_COMPLETE`; a failure signal makes it `CREATE_FAILED`.
    #[serde(default)]
    pub waits_for: BTreeMap<String, u32>,
    /// Further resources of the stack, by logical id, which DescribeStackResource returns to `cfn-init` and
    /// `cfn-get-metadata`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, StackResourcePlan>,
}

/// A resource of a CloudFormation stack.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StackResourcePlan {
    /// Type, such as `AWS::AutoScaling::AutoScalingGroup`.
    #[serde(rename = "type")]
    pub resource_type: String,
    /// Physical id (default: the name of the stack, the logical id and a hash, joined with `-`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub physical_id: Option<String>,
    /// The attribute `Metadata` of the resource in the template. `cfn-init` reads `AWS::CloudFormation::Init` in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<serde_json::Value>,
}

fn being_created() -> String {
    "CREATE_IN_PROGRESS".to_owned()
}
