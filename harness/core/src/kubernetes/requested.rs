//! The versions that a run requests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::version::VersionRequest;

/// The requested versions of one plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestedVersions {
    /// Version of the control plane; default: the newest in the assets folder, else 1.20.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub kubernetes: Option<VersionRequest>,
    /// Version of the kubelet; default: that of the control plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub kubelet: Option<VersionRequest>,
}

impl RequestedVersions {
    /// Whether no version is requested.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// The requested version of the kubelet, or else of the control plane.
    #[must_use]
    pub fn of_kubelet(&self) -> Option<&VersionRequest> {
        self.kubelet.as_ref().or(self.kubernetes.as_ref())
    }
}
