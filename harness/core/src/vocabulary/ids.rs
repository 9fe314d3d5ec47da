//! Names and identifiers that validate themselves.

use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// An identifier in a wrong format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid {kind} `{value}`: expected {form}")]
pub struct InvalidId {
    pub value: String,
    /// The kind of identifier, without an article.
    pub kind: &'static str,
    /// The expected format.
    pub form: &'static str,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $format:literal, $kind:literal, $form:literal, $check:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The identifier as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(value: &str) -> Result<Self, InvalidId> {
                let check: fn(&str) -> bool = $check;
                if check(value) {
                    return Ok(Self(value.to_owned()));
                }
                Err(InvalidId { value: value.to_owned(), kind: $kind, form: $form })
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;

            fn try_from(value: String) -> Result<Self, InvalidId> {
                value.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "format": $format })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// Id of a run; the value of the label `nodejoin.run` on every container, network and volume.
    RunId,
    "run-id",
    "run id",
    "8 to 16 lower-case letters and digits",
    |v| (8..=16).contains(&v.len()) && v.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
);

id!(
    /// Id of a scenario: its path below the scenario folder, without the extension; followed by `@` and the version
    /// if it runs on several versions of Kubernetes.
    ScenarioId,
    "scenario-id",
    "scenario id",
    "lower-case letters, digits, `-`, `_`, `.`, `@` and `/`",
    |v| !v.is_empty()
        && v.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.@/".contains(&b))
);

id!(
    /// A word by which filter expressions select scenarios.
    ScenarioTag,
    "scenario-tag",
    "tag",
    "lower-case letters, digits, `-` and `_`",
    |v| !v.is_empty()
        && v.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b))
);

id!(
    /// An EC2 instance id.
    InstanceId,
    "ec2-instance-id",
    "EC2 instance id",
    "`i-` and 8 or 17 hexadecimal digits",
    |v| v.strip_prefix("i-").is_some_and(
        |hex| (hex.len() == 8 || hex.len() == 17) && hex.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase())
    )
);

id!(
    /// An AWS account id.
    AccountId,
    "aws-account-id",
    "AWS account id",
    "12 digits",
    |v| v.len() == 12 && v.bytes().all(|b| b.is_ascii_digit())
);

id!(
    /// A Kubernetes bootstrap token: its id, a dot and its secret.
    TokenText,
    "bootstrap-token",
    "bootstrap token",
    "6 and 16 lower-case letters and digits separated by a dot, such as `abcdef.0123456789abcdef`",
    |v| v.split_once('.').is_some_and(|(id, secret)| {
        let is_word = |part: &str, length| {
            part.len() == length && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        };
        is_word(id, 6) && is_word(secret, 16)
    })
);

impl TokenText {
    /// The public part.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0[..6]
    }

    /// The secret part.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.0[7..]
    }
}

/// An id of EC2 with this prefix, derived from a text.
#[must_use]
pub fn derived_id(prefix: &str, text: &str) -> String {
    format!("{prefix}-0{}", &hex::encode(Sha256::digest(text))[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_id_names_the_expected_format() {
        let error = "i-123".parse::<InstanceId>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "invalid EC2 instance id `i-123`: expected `i-` and 8 or 17 hexadecimal digits"
        );
        assert!("i-0b22a22eec53b9321".parse::<InstanceId>().is_ok());
    }

    #[test]
    fn a_bootstrap_token_has_two_parts() {
        let token: TokenText = "abcdef.0123456789abcdef".parse().unwrap();
        assert_eq!((token.id(), token.secret()), ("abcdef", "0123456789abcdef"));
        for wrong in [
            "abcdef",
            "abcde.0123456789abcdef",
            "abcdef.0123456789ABCDEF",
            "abcdef.0123456789abcde",
        ] {
            assert!(wrong.parse::<TokenText>().is_err(), "{wrong}");
        }
    }
}
