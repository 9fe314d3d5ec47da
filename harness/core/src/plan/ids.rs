//! Names and identifiers that check themselves.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An identifier that does not have the form its owner gives it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{value}` is not {kind}: {form}")]
pub struct InvalidId {
    /// What was given.
    pub value: String,
    /// What it should have been, with its article.
    pub kind: &'static str,
    /// The form that is accepted.
    pub form: &'static str,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $form:literal, $check:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
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

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// One run of the harness; stands on every container, network and volume as the label `nodejoin.run`.
    RunId,
    "a run id",
    "8 to 16 lower-case letters and digits",
    |v| (8..=16).contains(&v.len()) && v.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
);

id!(
    /// A scenario's short name: its path below the scenario folder, without the extension; on several versions of Kubernetes with
    /// `@` and the version.
    ScenarioId,
    "a scenario id",
    "lower-case letters, digits, `-`, `_`, `.`, `@` and `/`",
    |v| !v.is_empty()
        && v.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.@/".contains(&b))
);

id!(
    /// An EC2 instance id.
    InstanceId,
    "an EC2 instance id",
    "`i-` and 8 or 17 hexadecimal digits",
    |v| v.strip_prefix("i-").is_some_and(
        |hex| (hex.len() == 8 || hex.len() == 17) && hex.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase())
    )
);

id!(
    /// An AWS account id.
    AccountId,
    "an AWS account id",
    "12 digits",
    |v| v.len() == 12 && v.bytes().all(|b| b.is_ascii_digit())
);

id!(
    /// A bootstrap token of Kubernetes: its id, a dot and its secret.
    TokenText,
    "a bootstrap token",
    "6 and 16 lower-case letters and digits with a dot between, such as `abcdef.0123456789abcdef`",
    |v| v.split_once('.').is_some_and(|(id, secret)| {
        let is_word = |part: &str, length| {
            part.len() == length && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        };
        is_word(id, 6) && is_word(secret, 16)
    })
);

impl TokenText {
    /// The half that everybody may know.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0[..6]
    }

    /// The other half.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.0[7..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_say_why_they_refused() {
        let error = "i-123".parse::<InstanceId>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`i-123` is not an EC2 instance id: `i-` and 8 or 17 hexadecimal digits"
        );
        assert!("i-0b22a22eec53b9321".parse::<InstanceId>().is_ok());
    }

    #[test]
    fn a_bootstrap_token_has_two_halves() {
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
