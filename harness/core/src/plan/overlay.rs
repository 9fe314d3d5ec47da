//! What overlay manifests add to a plan.

use schemars::JsonSchema;
use semver::VersionReq;
use serde::{Deserialize, Serialize};

use crate::plan::OverlayFile;

/// The files of one or more manifests, and the kubelets that they are for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overlay {
    /// In order; later ones take precedence.
    pub files: Vec<OverlayFile>,
    /// At most one for each manifest.
    pub ranges: Vec<OverlayRange>,
}

/// The kubelet versions that an overlay is for; on others its scenarios are skipped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverlayRange {
    /// Path of the manifest.
    pub manifest: String,
    #[schemars(with = "String")]
    pub kubelet: VersionReq,
}

impl Overlay {
    /// Adds a manifest that lies over these.
    pub fn extend(&mut self, other: Self) {
        self.files.extend(other.files);
        self.ranges.extend(other.ranges);
    }
}
