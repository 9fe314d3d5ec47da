//! Bootstrap tokens: Secrets of `kube-system` by which a machine without credentials of its own may join, as kubeadm makes them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::ids::TokenText;

/// The group that kubeadm's tokens have, and to which it binds the rights of a node that joins.
pub const DEFAULT_GROUP: &str = "system:bootstrappers:kubeadm:default-node-token";

/// A bootstrap token.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BootstrapToken {
    /// Id and secret.
    pub token: TokenText,
    /// Seconds after the scenario's begin at which it expires, negative for one that has expired before; never where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_seconds: Option<f64>,
    /// Whether it was deleted again before the node boots.
    pub deleted: bool,
    /// What it may be used for.
    pub usages: Vec<TokenUsage>,
    /// Groups that it gives beside `system:bootstrappers`.
    pub groups: Vec<String>,
}

impl BootstrapToken {
    /// The user who shows it.
    #[must_use]
    pub fn user(&self) -> String {
        format!("system:bootstrap:{}", self.token.id())
    }

    /// Whether `kube-public/cluster-info` is signed by it when a node boots.
    #[must_use]
    pub fn signs(&self) -> bool {
        let has_expired = self.expires_seconds.is_some_and(|seconds| seconds <= 0.0);
        !self.deleted && !has_expired && self.usages.contains(&TokenUsage::Signing)
    }
}

/// What a bootstrap token may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TokenUsage {
    /// `usage-bootstrap-signing`: it signs the ConfigMap `cluster-info`, by which a node knows the cluster.
    Signing,
    /// `usage-bootstrap-authentication`: the API server takes it for a user.
    Authentication,
}

impl TokenUsage {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Signing, Self::Authentication];

    /// Its key in the Secret.
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
    fn only_a_token_that_holds_signs() {
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
