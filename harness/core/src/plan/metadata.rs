//! Metadata options of an instance, and values that only the metadata service returns.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Metadata options of an instance, and values that only the metadata service returns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MetadataPlan {
    /// Whether requests need a session token.
    pub tokens: Tokens,
    /// Whether the metadata endpoint is enabled.
    pub enabled: bool,
    /// Whether `tags/instance` lists the tags of the instance.
    pub instance_tags: bool,
    /// Hop limit of token responses, 1 to 64: `HttpPutResponseHopLimit`. A container on the node's bridge is one hop
    /// further away, so its token requests hang at 1. Launch templates of EKS use 2.
    pub hop_limit: u8,
    /// Whether the IPv6 endpoint is enabled: `HttpProtocolIpv6`.
    pub ipv6: bool,
    /// Whether a folder without a final slash redirects to the path with a slash, as the service did until about
    /// 2020.
    pub legacy_redirect: bool,
    /// Public keys by name, such as `my-key: ssh-rsa AAAA...`.
    pub public_keys: BTreeMap<String, String>,
    /// Credentials of the role in the metadata service.
    pub credentials: CredentialsPlan,
    /// Interruption notice of a Spot Instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spot_notice: Option<SpotNotice>,
    /// Seconds after the node's start until a rebalance recommendation appears (default: never).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebalance_after_seconds: Option<f64>,
    /// Value of `autoscaling/target-lifecycle-state`, such as `InService` (default: the path returns 404).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifecycle_state: Option<String>,
}

impl Default for MetadataPlan {
    fn default() -> Self {
        Self {
            tokens: Tokens::Required,
            enabled: true,
            instance_tags: false,
            hop_limit: 2,
            ipv6: false,
            legacy_redirect: false,
            public_keys: BTreeMap::new(),
            credentials: CredentialsPlan::default(),
            spot_notice: None,
            rebalance_after_seconds: None,
            lifecycle_state: None,
        }
    }
}

/// `HttpTokens` of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tokens {
    /// IMDSv2 only.
    Required,
    /// IMDSv1 and IMDSv2.
    Optional,
}

/// Credentials of a role in the metadata service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CredentialsPlan {
    /// `Code` of the document. Any value other than `Success`, such as `AssumeRoleUnauthorizedAccess`, omits the
    /// credentials.
    pub code: String,
    /// `Message` of the document if `code` is not `Success`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Seconds after the node's start until the role's paths appear; earlier requests receive 404.
    pub after_seconds: f64,
    /// Lifetime of credentials in seconds. New credentials appear 15 minutes before the old ones expire, or halfway
    /// through a shorter lifetime.
    pub lifetime_seconds: u32,
}

impl Default for CredentialsPlan {
    fn default() -> Self {
        Self {
            code: "Success".to_owned(),
            message: None,
            after_seconds: 0.0,
            // Six hours, as on EC2.
            lifetime_seconds: 21_600,
        }
    }
}

/// Interruption notice of a Spot Instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpotNotice {
    /// Action of the notice.
    #[serde(default)]
    pub action: SpotAction,
    /// Seconds after the node's start until the notice appears. The action follows two minutes later.
    #[serde(default)]
    pub after_seconds: f64,
}

/// What happens to an interrupted Spot Instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SpotAction {
    /// Terminates the instance.
    #[default]
    Terminate,
    /// Stops the instance.
    Stop,
    /// Hibernates the instance.
    Hibernate,
}

impl SpotAction {
    /// The action in the notice.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Terminate => "terminate",
            Self::Stop => "stop",
            Self::Hibernate => "hibernate",
        }
    }
}
