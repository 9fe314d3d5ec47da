//! The status of an EKS cluster.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use strum::EnumCount;

use crate::vocabulary::nearest::nearest;

/// Status of a cluster in the EKS API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, EnumCount)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ClusterStatus {
    Creating,
    #[default]
    Active,
    Updating,
    Failed,
    Deleting,
    Pending,
}

/// An unknown status.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown cluster status `{given}`")]
pub struct UnknownClusterStatus {
    given: String,
}

impl UnknownClusterStatus {
    /// The most similar status, or all of them.
    #[must_use]
    pub fn hint(&self) -> String {
        let words = ClusterStatus::ALL.map(ClusterStatus::as_str);
        match nearest(&self.given, words) {
            Some(right) => format!("did you mean `{right}`?"),
            None => format!("expected one of {}", words.join(", ")),
        }
    }
}

impl ClusterStatus {
    /// All statuses, in the order of the EKS API reference.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Creating,
        Self::Active,
        Self::Deleting,
        Self::Failed,
        Self::Updating,
        Self::Pending,
    ];

    /// The value in the EKS API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Creating => "CREATING",
            Self::Active => "ACTIVE",
            Self::Updating => "UPDATING",
            Self::Failed => "FAILED",
            Self::Deleting => "DELETING",
            Self::Pending => "PENDING",
        }
    }
}

impl FromStr for ClusterStatus {
    type Err = UnknownClusterStatus;

    fn from_str(text: &str) -> Result<Self, UnknownClusterStatus> {
        let unknown = || UnknownClusterStatus {
            given: text.to_owned(),
        };
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(unknown)
    }
}

impl fmt::Display for ClusterStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl JsonSchema for ClusterStatus {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ClusterStatus".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words = Self::ALL.map(Self::as_str);
        json_schema!({ "type": "string", "format": "eks-cluster-status", "enum": words })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_parses_and_serializes_alike() {
        for status in ClusterStatus::ALL {
            assert_eq!(status.as_str().parse(), Ok(status));
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
        }
    }

    #[test]
    fn an_unknown_status_names_the_nearest_one() {
        let error = "ACTVE".parse::<ClusterStatus>().unwrap_err();
        assert_eq!(error.to_string(), "unknown cluster status `ACTVE`");
        assert_eq!(error.hint(), "did you mean `ACTIVE`?");
    }
}
