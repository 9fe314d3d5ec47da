//! Changes of a running account: the requests of `nodejoin aws set`, as data for the control socket.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::aws::{AuthenticationMode, SpotAction, Tokens};
use crate::vocabulary::ids::InstanceId;
use crate::vocabulary::nearest::nearest;
use crate::vocabulary::service::Service;

/// The new value of a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Setting<T> {
    /// The value at the start of the account.
    Default,
    /// A new value.
    Value(T),
}

/// A change of a running account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// `HttpTokens` of the instance.
    Tokens(Setting<Tokens>),
    /// Whether the metadata endpoint is enabled.
    Endpoint(Setting<bool>),
    /// Whether the metadata service returns tags.
    InstanceTags(Setting<bool>),
    /// User data in base64; `None`: no user data.
    UserData(Setting<Option<String>>),
    /// Interruption notice of the Spot Instance; `None` removes it.
    SpotNotice(Setting<Option<SpotAction>>),
    /// `Code` and `Message` of the credentials document.
    Credentials(Setting<CredentialsCode>),
    /// Status of the cluster.
    ClusterStatus(Setting<String>),
    /// Throttling of a service or of one operation. The default is the setting of the account file.
    Throttle(Setting<Throttle>),
    /// Rows of `aws-auth`.
    AwsAuth(Setting<AwsAuthText>),
    /// Authentication mode of the cluster.
    AuthenticationMode(Setting<AuthenticationMode>),
    /// Resets all settings.
    Everything,
}

impl Change {
    /// Whether the setting belongs to one instance; the others belong to the account.
    #[must_use]
    pub fn is_of_instance(&self) -> bool {
        match self {
            Self::Tokens(_)
            | Self::Endpoint(_)
            | Self::InstanceTags(_)
            | Self::UserData(_)
            | Self::SpotNotice(_)
            | Self::Credentials(_) => true,
            Self::ClusterStatus(_)
            | Self::Throttle(_)
            | Self::AwsAuth(_)
            | Self::AuthenticationMode(_)
            | Self::Everything => false,
        }
    }
}

/// A change of a running account, and what it applies to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeRequest {
    /// The instance; `None`: all instances.
    pub instance: Option<InstanceId>,
    pub change: Change,
}

/// Content of the credentials document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CredentialsCode {
    pub code: String,
    /// `Message`, if the code is not `Success`.
    pub message: Option<String>,
}

/// Which requests are throttled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Throttle {
    pub service: Service,
    /// Operation; `None`: every operation.
    pub operation: Option<String>,
    /// Number of requests; `None`: every request.
    pub times: Option<u32>,
}

/// Rows of `aws-auth` as text. The account that parses them supplies account id and region.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AwsAuthText {
    /// Path of the file, as the user gave it.
    pub file: String,
    /// Content of the file.
    pub text: String,
}

/// The response to a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeResult {
    /// A description of the effects, one per line.
    Changed(Vec<String>),
    /// The change is invalid.
    Refused(Refused),
}

/// Why a change is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error, JsonSchema)]
#[error("{what}")]
pub struct Refused {
    /// The problem in one sentence.
    pub what: String,
    /// How to solve it.
    pub hint: Option<String>,
}

impl Refused {
    /// A refusal with a hint.
    #[must_use]
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: Some(hint.into()),
        }
    }
}

/// Parses a service or a `service.Operation`.
///
/// # Errors
/// The service is unknown.
pub fn call(text: &str) -> Result<(Service, Option<String>), Refused> {
    let (word, operation) = match text.split_once('.') {
        Some((word, operation)) => (word, Some(operation.to_owned()).filter(|name| !name.is_empty())),
        None => (text, None),
    };
    let words = Service::ALL.map(Service::word);
    let found = Service::ALL.into_iter().find(|service| service.word() == word);
    let service = found.ok_or_else(|| {
        let hint = nearest(word, words).map_or_else(
            || format!("services: {}", words.join(", ")),
            |right| format!("did you mean `{right}`?"),
        );
        Refused::new(format!("unknown service `{word}`"), hint)
    })?;
    Ok((service, operation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_the_format_of_scenarios() {
        let operation = Some("DescribeCluster".to_owned());
        assert_eq!(call("eks.DescribeCluster"), Ok((Service::Eks, operation)));
        assert_eq!(call("sts"), Ok((Service::Sts, None)));
        let refused = call("eck.GetAuthorizationToken").unwrap_err();
        assert_eq!(refused.what, "unknown service `eck`");
        assert_eq!(refused.hint.as_deref(), Some("did you mean `ecr`?"));
    }

    #[test]
    fn a_change_serializes_and_parses() {
        for change in [
            Change::Tokens(Setting::Default),
            Change::UserData(Setting::Value(None)),
            Change::SpotNotice(Setting::Value(Some(SpotAction::Stop))),
            Change::Everything,
        ] {
            let text = serde_json::to_string(&change).unwrap();
            assert_eq!(serde_json::from_str::<Change>(&text).unwrap(), change, "{text}");
        }
    }
}
