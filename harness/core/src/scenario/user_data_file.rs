//! The keys of a scenario's user data. Editors show their doc comments.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::plan::{Replacement, UserDataEngine};

/// User data: the text itself, or its source.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum UserDataFile {
    /// The user data itself.
    Text(String),
    /// Its source, and which program runs it.
    Source(UserDataSource),
}

/// Source of the user data, and which program runs it. Set exactly one of `inline`, `file`, `base64`, `from` and
/// `parts`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UserDataSource {
    /// The user data itself.
    pub inline: Option<String>,
    /// A file with the user data, relative to this file.
    pub file: Option<String>,
    /// A unified diff to apply to `file`, relative to this file.
    pub patch: Option<String>,
    /// The bytes of the user data in base64.
    pub base64: Option<String>,
    /// A file of another tool that contains the user data, such as a launch template in JSON, relative to this file.
    pub from: Option<String>,
    /// Name of the machine in the file of `from`, or a part of the name (default: the file has only one).
    pub select: Option<String>,
    /// Parts of a MIME multi-part message, in order.
    pub parts: Option<Vec<UserDataPart>>,
    /// Program that runs the user data.
    pub engine: UserDataEngine,
    /// Whether to compress the user data with gzip, after filling in `{{ }}`.
    pub gzip: bool,
    /// What to replace in user data that was written for another cluster (default: nothing).
    pub replace: Option<Replacement>,
}

/// A part of MIME multi-part user data. Set exactly one of `inline` and `file`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserDataPart {
    /// Type of the part.
    #[serde(rename = "type")]
    pub part_type: PartType,
    /// Content of the part.
    #[serde(default)]
    pub inline: Option<String>,
    /// A file with the content, relative to this file.
    #[serde(default)]
    pub file: Option<String>,
    /// A unified diff to apply to `file`, relative to this file.
    #[serde(default)]
    pub patch: Option<String>,
    /// File name in the MIME header.
    #[serde(default)]
    pub filename: Option<String>,
}

/// Type of a MIME part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartType {
    /// A script, `text/x-shellscript`.
    Shell,
    /// cloud-config, `text/cloud-config`.
    CloudConfig,
    /// A script that runs early at every boot, `text/cloud-boothook`.
    CloudBoothook,
    /// Configuration of nodeadm, `application/node.eks.aws`.
    NodeConfig,
    /// Text that cloud-init ignores, `text/plain`.
    Plain,
}

impl PartType {
    /// The MIME type.
    #[must_use]
    pub fn mime(self) -> &'static str {
        match self {
            Self::Shell => "text/x-shellscript",
            Self::CloudConfig => "text/cloud-config",
            Self::CloudBoothook => "text/cloud-boothook",
            Self::NodeConfig => "application/node.eks.aws",
            Self::Plain => "text/plain",
        }
    }
}
