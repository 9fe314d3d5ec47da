//! Bootstrap tokens: Secrets in `kube-system` with which a machine without credentials may join, as kubeadm creates
//! them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::EnumCount;

use crate::vocabulary::ids::TokenText;

/// Group of the tokens of kubeadm, to which it binds the permissions of a joining node.
pub const DEFAULT_GROUP: &str = "system:bootstrappers:kubeadm:default-node-token";

/// A bootstrap token.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BootstrapToken {
    /// Id and secret of the token.
    pub token: TokenText,
    /// Seconds from the start of the scenario until the token expires; negative: it has already expired (default:
    /// never).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_seconds: Option<f64>,
    /// Whether the token is deleted before the node boots.
    pub deleted: bool,
    /// Allowed uses.
    pub usages: Vec<TokenUsage>,
    /// Groups in addition to `system:bootstrappers`.
    pub groups: Vec<String>,
}

impl BootstrapToken {
    /// User name of clients that present the token.
    #[must_use]
    pub fn user(&self) -> String {
        format!("system:bootstrap:{}", self.token.id())
    }

    /// Whether `kube-public/cluster-info` is signed with the token when a node boots.
    #[must_use]
    pub fn signs(&self) -> bool {
        let has_expired = self.expires_seconds.is_some_and(|seconds| seconds <= 0.0);
        !self.deleted && !has_expired && self.usages.contains(&TokenUsage::Signing)
    }
}

/// An allowed use of a bootstrap token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, EnumCount)]
#[serde(rename_all = "lowercase")]
pub enum TokenUsage {
    /// `usage-bootstrap-signing`: signs the ConfigMap `cluster-info`, with which a node verifies the cluster.
    Signing,
    /// `usage-bootstrap-authentication`: authenticates clients at the API server.
    Authentication,
}

impl TokenUsage {
    pub const ALL: [Self; Self::COUNT] = [Self::Signing, Self::Authentication];

    /// Key of the use in the Secret.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Signing => "usage-bootstrap-signing",
            Self::Authentication => "usage-bootstrap-authentication",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expired_and_deleted_tokens_do_not_sign() {
        let token = BootstrapToken {
            token: "abcdef.0123456789abcdef".parse().unwrap(),
            expires_seconds: Some(60.0),
            deleted: false,
            usages: TokenUsage::ALL.to_vec(),
            groups: vec![DEFAULT_GROUP.to_owned()],
        };
        assert_eq!(token.user(), "system:bootstrap:abcdef");
        assert!(token.signs());
        for changed in [
            BootstrapToken {
                expires_seconds: Some(-1.0),
                ..token.clone()
            },
            BootstrapToken {
                deleted: true,
                ..token.clone()
            },
            BootstrapToken {
                usages: vec![TokenUsage::Authentication],
                ..token.clone()
            },
        ] {
            assert!(!changed.signs(), "{changed:?}");
        }
    }
}
