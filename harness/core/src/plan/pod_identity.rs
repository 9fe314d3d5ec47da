//! Roles of pods through EKS Pod Identity.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A Pod Identity association: pods of a service account get a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PodIdentityPlan {
    /// Namespace of the service account.
    pub namespace: String,
    /// Name of the service account.
    pub service_account: String,
    /// Name of a role in `aws.roles`, which must trust `pods`.
    pub role: String,
}
