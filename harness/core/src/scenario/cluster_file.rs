//! The keys of a scenario's cluster. Editors show their doc comments.

use schemars::JsonSchema;
use serde::Deserialize;

use super::nullable::{given, network_or_null};
use crate::plan::access_entry::AccessEntryFile;
use crate::plan::aws::{AuthenticationMode, EksPlan};
use crate::plan::bootstrap_token::TokenUsage;
use crate::plan::{Approval, AwsAuthWriter, CaChoice, ClusterStatus, EndpointUrl, StatusStep};
use crate::vocabulary::cidr::Cidr;
use crate::vocabulary::ids::TokenText;
use crate::vocabulary::phase::Phase;

/// The EKS cluster.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ClusterFile {
    /// Name of the cluster (default: derived from the scenario's id).
    pub name: Option<String>,
    /// Endpoint of the API server: `https://` and a host name, which nodes reach on port 443 (default: a host name of
    /// EKS, derived from the scenario's id).
    pub endpoint: Option<EndpointUrl>,
    /// Status in DescribeCluster: one status, or a list of statuses over time (default: `ACTIVE`).
    pub status: Option<StatusFile>,
    /// CIDR of service addresses (default: `10.100.0.0/16`). `null`: DescribeCluster returns null.
    #[serde(deserialize_with = "given")]
    #[schemars(schema_with = "network_or_null")]
    pub service_ipv4_cidr: Option<Option<Cidr>>,
    /// CA that DescribeCluster and `{{ cluster.certificate_authority }}` return: the CA of the cluster, or the CA of
    /// another cluster.
    pub certificate_authority: CaChoice,
    /// `mapRoles` in `kube-system/aws-auth`: rows, or a text as it is. Default: the instance's role is mapped in the
    /// same way as EKS does; `[]` maps no role.
    pub aws_auth: Option<AwsAuthFile>,
    /// Where EKS reads access rights from (default: `API_AND_CONFIG_MAP` if there are access entries, else
    /// `CONFIG_MAP`).
    pub authentication_mode: Option<AuthenticationMode>,
    /// Access entries. They take precedence over rows of `aws-auth` if the authentication mode allows access entries.
    pub access_entries: Vec<AccessEntryFile>,
    /// Whether the EKS approver of kubelet-serving certificates runs; `{ after_seconds: 5 }`: it starts late.
    pub approve_serving: Approval,
    /// Whether the cloud node controller runs.
    pub cloud_node_controller: bool,
    /// Whether kube-controller-manager may approve the client certificates that nodes of a local cluster on an
    /// Outpost request; `{ after_seconds: 5 }`: the right is granted late.
    pub approve_clients: Approval,
    /// Stops the IAM authenticator permanently when the node reaches this phase, `registered` or `ready`.
    pub authenticator_until: Option<Phase>,
    /// Bootstrap tokens, along with the objects that `kubeadm init` creates for `kubeadm join`. `[{}]` creates a
    /// token with a derived value, available in user data as `{{ cluster.bootstrap_token }}`. Supported by `local`
    /// and `kind`.
    pub bootstrap_tokens: Vec<BootstrapTokenFile>,
    /// Restarts the API server when this number of nodes is registered. Supported by the control plane `local`; no
    /// other scenario runs at the same time.
    pub restart_api_server_after: Option<u32>,
    /// Values that only the EKS API returns: IPv6, an Outpost, node groups.
    pub eks: EksPlan,
}

impl Default for ClusterFile {
    fn default() -> Self {
        Self {
            name: None,
            endpoint: None,
            status: None,
            service_ipv4_cidr: None,
            certificate_authority: CaChoice::default(),
            aws_auth: None,
            authentication_mode: None,
            access_entries: Vec::new(),
            approve_serving: Approval::Always(true),
            cloud_node_controller: true,
            approve_clients: Approval::Always(true),
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
    /// Id and secret, such as `abcdef.0123456789abcdef` (default: derived from the scenario's id).
    pub token: Option<TokenText>,
    /// Seconds from the start of the scenario until the token expires; negative: the token has already expired
    /// (default: it never expires).
    pub expires_seconds: Option<f64>,
    /// Whether the token is deleted before the node boots, as users do after its first use.
    pub deleted: bool,
    /// Allowed uses: `signing`, `authentication` (default: both).
    pub usages: Option<Vec<TokenUsage>>,
    /// Groups of the token (default: `system:bootstrappers:kubeadm:default-node-token`).
    pub groups: Option<Vec<String>>,
}

/// A status, or several statuses over time.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum StatusFile {
    /// A constant status: `CREATING`, `ACTIVE`, `UPDATING`, `FAILED`, `DELETING` or `PENDING`.
    Always(ClusterStatus),
    /// Statuses over time.
    Steps(Vec<StatusStep>),
}

/// `mapRoles` of `aws-auth`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AwsAuthFile {
    /// A list of rows.
    Rows(Vec<RoleMappingFile>),
    /// The raw text, which may be invalid YAML. No other scenario runs at the same time.
    Text(String),
}

impl AwsAuthFile {
    /// Its rows; empty for a raw text.
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
    /// Name of the role in the scenario's account. Set either this or `rolearn`.
    pub role: Option<String>,
    /// ARN of the role. Set either this or `role`.
    pub rolearn: Option<String>,
    /// User name (default: `system:node:{{EC2PrivateDNSName}}`).
    pub username: Option<String>,
    /// Groups (default: `system:bootstrappers` and `system:nodes`).
    pub groups: Option<Vec<String>>,
    /// Who adds the row (default: `eks`).
    pub added_by: AwsAuthWriter,
    /// Seconds after the node's start until the row is added (default: before the node starts).
    pub after_seconds: Option<f64>,
}
