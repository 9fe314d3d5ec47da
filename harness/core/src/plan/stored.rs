//! Values that services of the account store: parameters, secrets and objects.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A parameter of Systems Manager: the text of a `String`, or a mapping with its type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ParameterPlan {
    /// The value of a `String`.
    Text(String),
    /// A value with its type.
    Typed(TypedParameter),
}

/// A parameter with its type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TypedParameter {
    /// Type of the parameter.
    #[serde(rename = "type")]
    pub kind: ParameterType,
    /// Value; the members of a list are separated by commas.
    pub value: String,
}

/// Type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ParameterType {
    /// A text.
    String,
    /// Texts, separated by commas.
    StringList,
    /// An encrypted text. Only requests with decryption receive it.
    SecureString,
}

impl ParameterType {
    /// The word in the API.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::String => "String",
            Self::StringList => "StringList",
            Self::SecureString => "SecureString",
        }
    }
}

impl ParameterPlan {
    #[must_use]
    pub fn kind(&self) -> ParameterType {
        match self {
            Self::Text(_) => ParameterType::String,
            Self::Typed(typed) => typed.kind,
        }
    }

    #[must_use]
    pub fn value(&self) -> &str {
        match self {
            Self::Text(value) => value,
            Self::Typed(typed) => &typed.value,
        }
    }
}

/// A secret: its text, or a mapping with its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SecretPlan {
    /// `SecretString`.
    Text(String),
    /// `SecretBinary`.
    Binary(BinarySecret),
}

/// A secret of bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BinarySecret {
    /// The bytes in base64.
    pub binary: String,
}

/// A bucket of S3.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BucketPlan {
    /// A folder, relative to this file: each file below it is an object whose key is its path in the folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Texts of further objects, by key.
    pub objects: BTreeMap<String, String>,
}
