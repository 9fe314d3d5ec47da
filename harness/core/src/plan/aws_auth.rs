//! Rows of `kube-system/aws-auth`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A row of `mapRoles` in `aws-auth`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
