//! The IAM authenticator: from a bearer token to a Kubernetes user, as aws-iam-authenticator decides it.
//!
//! Real: every check of the token, the canonical ARN, `aws-auth` as a ConfigMap kept by a watch, templates, extra.
//! Faked: STS and EC2 are asked in this process instead of over the wire. What would show the difference: an STS call
//! from the control plane's address, which no scenario can see.
//!
//! | outcome | HTTP status | what kube-apiserver makes of it |
//! | --- | --- | --- |
//! | authenticated | 200 | the user |
//! | refused | 403 with `authenticated: false` | not retried, not cached, a plain 401 (seen with 1.20.2) |
//! | STS throttled | 429 with `authenticated: false` | retried with back-off, then 401 |

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use nodejoin_core::observation::{Authentication, Refusal};
use serde::Serialize;
use time::OffsetDateTime;
use tokio::sync::watch;

use crate::identity::IamIdentity;
use crate::mapping::AwsAuth;
use crate::sts::{SecurityTokens, StsRefused};
use crate::tenants::{Admitted, ClusterFact, Tenants};
use crate::token::{self, PresignedUrl, TokenRefused};

/// Decides on tokens.
pub(crate) struct Authenticator {
    tokens: Arc<dyn SecurityTokens>,
    tenants: Arc<Tenants>,
    /// Written by the watch of `aws-auth`; closed when that watch has ended.
    mapping: watch::Receiver<AwsAuth>,
}

/// What is answered to a TokenReview.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The token is this user's.
    Accepted(User),
    /// It is nobody's.
    Refused,
    /// STS was throttled: ask again.
    TryAgain,
}

/// A Kubernetes user, in the form of `status.user` of a TokenReview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct User {
    pub(crate) username: String,
    pub(crate) uid: String,
    pub(crate) groups: Vec<String>,
    pub(crate) extra: BTreeMap<String, Vec<String>>,
}

/// A refusal, with what was known by then.
struct Denied {
    refusal: Refusal,
    reason: String,
}

impl Authenticator {
    pub(crate) fn new(
        tokens: Arc<dyn SecurityTokens>,
        tenants: Arc<Tenants>,
        mapping: watch::Receiver<AwsAuth>,
    ) -> Self {
        Self {
            tokens,
            tenants,
            mapping,
        }
    }

    /// Decides on one token and tells its tenant.
    pub(crate) async fn decide(&self, token: &str) -> Decision {
        let Some(tenant) = self.tenant_of(token) else {
            tracing::warn!("a token names no access key of any instance here; refused");
            return Decision::Refused;
        };
        let mut seen = Authentication {
            accepted: false,
            arn: None,
            canonical_arn: None,
            username: None,
            groups: Vec::new(),
            refusal: None,
            reason: None,
        };
        let decision = match self.verify(token, &tenant, &mut seen).await {
            Ok(user) => accept(user, &mut seen),
            Err(denied) => deny(denied, &mut seen),
        };
        if let Decision::Accepted(user) = &decision {
            tenant.learn_user(&user.username);
        }
        tracing::debug!(
            accepted = seen.accepted,
            arn = seen.arn,
            reason = seen.reason,
            "token decided"
        );
        tenant.tell(SystemTime::now(), ClusterFact::Authentication(seen));
        decision
    }

    /// EKS runs one authenticator a cluster; here one serves many, and the access key says which cluster's it plays.
    fn tenant_of(&self, token: &str) -> Option<Arc<Admitted>> {
        let key = token::access_key_id(token)?;
        self.tenants.by_instance(&self.tokens.instance_of(&key)?)
    }

    async fn verify(
        &self,
        token: &str,
        tenant: &Admitted,
        seen: &mut Authentication,
    ) -> Result<User, Denied> {
        let tenant = &tenant.tenant;
        let presigned = PresignedUrl::parse(token, &tenant.region, OffsetDateTime::now_utc())?;
        let caller = self
            .tokens
            .caller_identity(presigned.url(), &tenant.cluster.name)
            .await?;
        seen.arn = Some(caller.arn.clone());
        let identity = IamIdentity::read(&caller, &presigned.access_key_id).map_err(|reason| Denied {
            refusal: Refusal::Malformed,
            reason,
        })?;
        seen.canonical_arn = Some(identity.canonical_arn.clone());
        self.map(&identity)
    }

    fn map(&self, identity: &IamIdentity) -> Result<User, Denied> {
        let mapped = self
            .mapping
            .borrow()
            .lookup(&identity.canonical_arn)
            .ok_or_else(|| Denied {
                refusal: Refusal::NotMapped,
                reason: format!("ARN is not mapped: {}", identity.canonical_arn.to_lowercase()),
            })?;
        let fill_in = |template: &String| {
            identity
                .fill_in(template, |instance| self.tokens.private_dns_name(instance))
                .map_err(|reason| Denied {
                    refusal: Refusal::Template,
                    reason,
                })
        };
        let groups = mapped.groups.iter().map(fill_in).collect::<Result<_, _>>()?;
        let extra = identity
            .extra()
            .map(|(key, value)| (key.to_owned(), vec![value.to_owned()]));
        Ok(User {
            username: fill_in(&mapped.username)?,
            uid: identity.uid(),
            groups,
            extra: extra.into(),
        })
    }
}

fn accept(user: User, seen: &mut Authentication) -> Decision {
    seen.accepted = true;
    seen.username = Some(user.username.clone());
    seen.groups = user.groups.clone();
    Decision::Accepted(user)
}

fn deny(denied: Denied, seen: &mut Authentication) -> Decision {
    seen.refusal = Some(denied.refusal);
    seen.reason = Some(denied.reason);
    match denied.refusal {
        Refusal::Throttled => Decision::TryAgain,
        _ => Decision::Refused,
    }
}

impl From<TokenRefused> for Denied {
    fn from(refused: TokenRefused) -> Self {
        Self {
            refusal: refused.refusal,
            reason: refused.message,
        }
    }
}

impl From<StsRefused> for Denied {
    fn from(refused: StsRefused) -> Self {
        // The authenticator looks for the word anywhere in the body.
        let throttled = refused.code.contains("Throttling") || refused.message.contains("Throttling");
        let expired = refused.message.contains("expired") || refused.code == "ExpiredToken";
        let refusal = match (throttled, expired) {
            (true, _) => Refusal::Throttled,
            (false, true) => Refusal::Expired,
            (false, false) => Refusal::Signature,
        };
        Self {
            refusal,
            reason: refused.to_string(),
        }
    }
}
