//! Changes of an account while it is served: what `nodejoin aws set` asks for, as data that crosses a socket.

use serde::{Deserialize, Serialize};

use crate::input::problem::nearest;
use crate::plan::aws::{AuthenticationMode, SpotAction, Tokens};
use crate::plan::fault::Service;

/// What is to become of something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setting<T> {
    /// What it was when the account was started.
    Default,
    /// This.
    Value(T),
}

/// A change of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// `HttpTokens` of the instance.
    Tokens(Setting<Tokens>),
    /// Whether the metadata endpoint answers.
    Endpoint(Setting<bool>),
    /// Whether tags stand in the metadata.
    InstanceTags(Setting<bool>),
    /// The user data, in base64; `None` is an instance without any.
    UserData(Setting<Option<String>>),
    /// The interruption of the spot instance; `None` takes it back.
    SpotNotice(Setting<Option<SpotAction>>),
    /// `Code` of the credentials document, and its `Message`.
    Credentials(Setting<CredentialsCode>),
    /// The cluster's status.
    ClusterStatus(Setting<String>),
    /// Throttling of a service or one of its operations; the default is what the file's faults say.
    Throttle(Setting<Throttle>),
    /// The rows of `aws-auth`.
    AwsAuth(Setting<Rows>),
    /// Where principals may be granted access to the cluster.
    AuthenticationMode(Setting<AuthenticationMode>),
    /// Everything becomes what it was when the account was started.
    Everything,
}

/// What the credentials document says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialsCode {
    /// `Code`.
    pub code: String,
    /// `Message`, where the code is not `Success`.
    pub message: Option<String>,
}

/// Which requests are throttled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttle {
    /// Service.
    pub service: Service,
    /// Operation; every one where absent.
    pub operation: Option<String>,
    /// How many requests; every one where absent.
    pub times: Option<u32>,
}

/// Rows of `aws-auth` as a user wrote them: whose account they are of is known where they are read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rows {
    /// The file, as the user gave it.
    pub file: String,
    /// What it says.
    pub text: String,
}

/// What is said of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeResult {
    /// What became of it, one thing a line.
    Changed(Vec<String>),
    /// It cannot be.
    Refused(Refused),
}

/// Why a change cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{what}")]
pub struct Refused {
    /// What is wrong.
    pub what: String,
    /// The way out.
    pub hint: Option<String>,
}

impl Refused {
    /// A refusal with the way out.
    #[must_use]
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: Some(hint.into()),
        }
    }
}

/// A service, or `service.Operation`, as scenarios write calls.
///
/// # Errors
/// Where there is no such service.
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
        Refused::new(format!("there is no service `{word}`"), hint)
    })?;
    Ok((service, operation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_written_as_in_scenarios() {
        let operation = Some("DescribeCluster".to_owned());
        assert_eq!(call("eks.DescribeCluster"), Ok((Service::Eks, operation)));
        assert_eq!(call("sts"), Ok((Service::Sts, None)));
        let refused = call("eck.GetAuthorizationToken").unwrap_err();
        assert_eq!(refused.what, "there is no service `eck`");
        assert_eq!(refused.hint.as_deref(), Some("did you mean `ecr`?"));
    }

    #[test]
    fn a_change_crosses_a_socket() {
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
