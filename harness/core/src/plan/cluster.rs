//! An EKS cluster and its contents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::access_entry::AccessEntry;
use crate::plan::aws::{AuthenticationMode, EksPlan};
use crate::plan::aws_auth::RoleMapping;
use crate::plan::bootstrap_token::BootstrapToken;
use crate::vocabulary::cluster_status::ClusterStatus;
use crate::vocabulary::endpoint::EndpointUrl;
use crate::vocabulary::phase::Phase;
use crate::vocabulary::region::Region;

/// An EKS cluster and its contents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterPlan {
    pub name: String,
    /// First label of the endpoint's host name: 32 upper-case hexadecimal digits.
    pub endpoint_id: String,
    /// The endpoint, if it is not derived from `endpoint_id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<EndpointUrl>,
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
        match &self.endpoint {
            Some(endpoint) => endpoint.host().to_owned(),
            None => format!("{}.gr7.{region}.eks.{}", self.endpoint_id, region.dns_suffix()),
        }
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
