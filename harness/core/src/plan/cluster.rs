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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    pub approve_serving: Approval,
    /// Whether the cloud node controller runs.
    pub cloud_node_controller: bool,
    /// Whether client certificate requests of nodes of a local cluster on an Outpost are approved.
    pub approve_clients: Approval,
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

/// Whether certificate requests are approved.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Approval {
    /// Always or never.
    Always(bool),
    /// From a later time on.
    Late(LateApproval),
}

/// The time from which on certificate requests are approved.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LateApproval {
    /// Seconds after the node's start until requests are approved, also those that exist by then.
    pub after_seconds: f64,
}

impl Approval {
    /// Whether requests are approved at some time.
    #[must_use]
    pub fn is_on(self) -> bool {
        self != Self::Always(false)
    }

    /// Seconds until requests are approved, if that is later than the node's start.
    #[must_use]
    pub fn after_seconds(self) -> Option<f64> {
        match self {
            Self::Always(_) => None,
            Self::Late(late) => Some(late.after_seconds),
        }
    }
}

/// A right that a node lacks at its start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LateRight<'a> {
    /// A row of `aws-auth`.
    Row(&'a RoleMapping),
    /// The approval of its serving certificates.
    Serving,
    /// The approval of its client certificates.
    Clients,
}

impl ClusterPlan {
    /// The rights that are granted late, each with the seconds after the node's start.
    pub fn late_rights(&self) -> impl Iterator<Item = (f64, LateRight<'_>)> {
        let rows = self.aws_auth.iter();
        let rows = rows.filter_map(|row| Some((row.after_seconds?, LateRight::Row(row))));
        let approvals = [
            (self.approve_serving, LateRight::Serving),
            (self.approve_clients, LateRight::Clients),
        ];
        let approvals = approvals.into_iter();
        rows.chain(approvals.filter_map(|(approval, right)| Some((approval.after_seconds()?, right))))
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
