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
use std::time::{Duration, SystemTime};

use nodejoin_core::observation::{Authentication, Refusal};
use serde::Serialize;
use time::OffsetDateTime;
use tokio::sync::watch;
use tokio::time::timeout;

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
            tracing::debug!("a token names no access key of any instance here; refused");
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
        let asked = self.tokens.caller_identity(presigned.url(), &tenant.cluster.name);
        let caller = timeout(STS_LIMIT, asked)
            .await
            .map_err(|_| Denied::timed_out())??;
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

impl Denied {
    fn timed_out() -> Self {
        let reason =
            "error during GET: context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
        Self {
            refusal: Refusal::Signature,
            reason: reason.to_owned(),
        }
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

/// The timeout of the authenticator's own client.
const STS_LIMIT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use nodejoin_core::ids::InstanceId;
    use tokio::sync::mpsc;

    use super::*;
    use crate::mapping::config_map_data;
    use crate::tenants::ClusterEvent;
    use crate::testing::{self, StubTokens};

    struct Stage {
        authenticator: Authenticator,
        events: mpsc::UnboundedReceiver<ClusterEvent>,
        _mapping: watch::Sender<AwsAuth>,
    }

    impl Stage {
        fn new(tokens: StubTokens) -> Self {
            let tenants = Arc::new(Tenants::default());
            let (tenant, events) = testing::tenant();
            let auth = AwsAuth::parse(&config_map_data(&tenant.cluster.aws_auth));
            tenants.admit(tenant).unwrap();
            let (_mapping, read) = watch::channel(auth);
            Self {
                authenticator: Authenticator::new(Arc::new(tokens), tenants, read),
                events,
                _mapping,
            }
        }

        async fn decide(&mut self, token: &str) -> (Decision, Option<Authentication>) {
            let decision = self.authenticator.decide(token).await;
            let event = self.events.try_recv().ok().map(|event| match event.what {
                ClusterFact::Authentication(seen) => seen,
                other => panic!("{other:?}"),
            });
            (decision, event)
        }
    }

    #[tokio::test]
    async fn an_instance_becomes_its_node() {
        let mut stage = Stage::new(StubTokens::of_role("ng1-NodeInstanceRole"));
        let (decision, event) = stage.decide(&testing::token()).await;
        let Decision::Accepted(user) = decision else {
            panic!("{decision:?}")
        };
        assert_eq!(
            user.username,
            "system:node:ip-192-168-40-16.eu-west-1.compute.internal"
        );
        assert_eq!(user.uid, "aws-iam-authenticator:111111111111:AROAEXAMPLE");
        assert_eq!(user.groups, ["system:bootstrappers", "system:nodes"]);
        assert_eq!(user.extra["sessionName"], ["i-0b22a22eec53b9321"]);
        assert_eq!(user.extra["canonicalArn"], [testing::ROLE_ARN]);
        let event = event.unwrap();
        assert!(event.accepted);
        assert_eq!(event.canonical_arn.as_deref(), Some(testing::ROLE_ARN));
    }

    #[tokio::test]
    async fn each_refusal_says_which_it_is() {
        let refused = |status, code: &str, message: &str| StubTokens {
            answer: Err(StsRefused {
                status,
                code: code.to_owned(),
                message: message.to_owned(),
            }),
            ..StubTokens::of_role("x")
        };
        let table = [
            (
                StubTokens::of_role("other"),
                Refusal::NotMapped,
                "ARN is not mapped: arn:aws:iam::111111111111:role/other",
            ),
            (
                refused(403, "SignatureDoesNotMatch", "The request signature"),
                Refusal::Signature,
                "expected 200, got 403",
            ),
            (
                refused(403, "SignatureDoesNotMatch", "Signature expired: 1"),
                Refusal::Expired,
                "Signature expired",
            ),
            (
                refused(400, "Throttling", "Rate exceeded"),
                Refusal::Throttled,
                "Rate exceeded",
            ),
            (
                StubTokens {
                    name: None,
                    ..StubTokens::of_role("ng1-NodeInstanceRole")
                },
                Refusal::Template,
                "failed to find node",
            ),
        ];
        for (tokens, refusal, words) in table {
            let (decision, event) = Stage::new(tokens).decide(&testing::token()).await;
            let event = event.unwrap();
            assert_eq!(event.refusal, Some(refusal));
            assert!(event.reason.as_deref().unwrap().contains(words), "{event:?}");
            let expected = if refusal == Refusal::Throttled {
                Decision::TryAgain
            } else {
                Decision::Refused
            };
            assert_eq!(decision, expected);
        }
    }

    #[tokio::test]
    async fn a_token_of_nobody_is_refused_and_told_to_nobody() {
        let tokens = StubTokens {
            holder: None::<InstanceId>,
            ..StubTokens::of_role("x")
        };
        assert_eq!(
            Stage::new(tokens).decide(&testing::token()).await,
            (Decision::Refused, None)
        );
        let mut stage = Stage::new(StubTokens::of_role("x"));
        assert_eq!(
            stage.decide("k8s-aws-v1.nonsense").await,
            (Decision::Refused, None)
        );
    }
}
