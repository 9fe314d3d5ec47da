//! The phases of a join.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::EnumCount;

/// A phase of a join, in order. Nodes that receive endpoint and CA skip `described`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, EnumCount,
)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// systemd started.
    Booted,
    /// The metadata service returned a value to the instance.
    Metadata,
    /// DescribeCluster succeeded for the instance.
    Described,
    /// systemd starts the kubelet, so its configuration is complete.
    Configured,
    /// The kubelet wrote its first line.
    KubeletStarted,
    /// The API server accepted the node's credentials.
    Authenticated,
    /// The Node object exists.
    Registered,
    /// A serving certificate was issued.
    Certified,
    /// The Node's Ready condition is true.
    Ready,
}

impl Phase {
    /// All phases, first to last.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Booted,
        Self::Metadata,
        Self::Described,
        Self::Configured,
        Self::KubeletStarted,
        Self::Authenticated,
        Self::Registered,
        Self::Certified,
        Self::Ready,
    ];

    /// The word in scenarios and reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Booted => "booted",
            Self::Metadata => "metadata",
            Self::Described => "described",
            Self::Configured => "configured",
            Self::KubeletStarted => "kubelet-started",
            Self::Authenticated => "authenticated",
            Self::Registered => "registered",
            Self::Certified => "certified",
            Self::Ready => "ready",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
