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
//! | down, by the scenario | 503 | retried with back-off, then 401 |
//! | STS throttled | 429 with `authenticated: false` | retried with back-off, then 401 |

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use nodejoin_core::observation::{
    Authentication, AuthenticationOutcome, MappingProblem, RejectionKind, TokenRejection,
};
use nodejoin_core::plan::ClusterPlan;
use nodejoin_core::plan::ids::InstanceId;
use serde::Serialize;
use time::OffsetDateTime;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::access_entries;
use crate::identity::IamIdentity;
use crate::mapping::{AwsAuth, Mapped};
use crate::sts::{SecurityTokens, StsRefused};
use crate::tenants::{Admitted, ClusterFact, Tenants};
use crate::token::{self, PresignedUrl};

/// Decides on tokens.
pub(crate) struct Authenticator {
    tokens: Arc<dyn SecurityTokens>,
    tenants: Arc<Tenants>,
    /// Written by the watch of `aws-auth`; closed when that watch has ended.
    mapping: watch::Receiver<AwsAuth>,
    /// Whose tokens are that name no access key of anybody here.
    sole: Option<InstanceId>,
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
    /// The authenticator is down, for this tenant.
    Down,
}

/// A Kubernetes user, in the form of `status.user` of a TokenReview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct User {
    pub(crate) username: String,
    pub(crate) uid: String,
    pub(crate) groups: Vec<String>,
    pub(crate) extra: BTreeMap<String, Vec<String>>,
}

/// The ARNs of the caller, as far as they are known when a token is refused.
#[derive(Default)]
struct CallerArns {
    arn: Option<String>,
    canonical: Option<String>,
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
            sole: None,
        }
    }

    /// The same where there is one tenant only: it is told of every token, those of nobody too.
    #[must_use]
    pub(crate) fn with_sole_tenant(mut self, instance: InstanceId) -> Self {
        self.sole = Some(instance);
        self
    }

    /// Decides on one token and tells its tenant.
    pub(crate) async fn decide(&self, token: &str) -> Decision {
        let Some(tenant) = self.tenant_of(token) else {
            tracing::debug!("a token names no access key of any instance here; refused");
            return Decision::Refused;
        };
        let mut arns = CallerArns::default();
        let (decision, outcome) = match self.verify(token, &tenant, &mut arns).await {
            Ok(user) => accept(user),
            Err(rejection) => deny(rejection),
        };
        let seen = Authentication {
            arn: arns.arn,
            canonical_arn: arns.canonical,
            outcome,
        };
        if let Decision::Accepted(user) = &decision {
            tenant.learn_user(&user.username);
        }
        tracing::debug!(
            accepted = seen.is_accepted(),
            arn = seen.arn,
            reason = seen.rejection().map(ToString::to_string),
            "token decided"
        );
        tenant.tell(SystemTime::now(), ClusterFact::Authentication(seen));
        decision
    }

    /// EKS runs one authenticator a cluster; here one serves many, and the access key says which cluster's it plays.
    fn tenant_of(&self, token: &str) -> Option<Arc<Admitted>> {
        let owner = token::access_key_id(token).and_then(|key| self.tokens.instance_of(&key));
        self.tenants.by_instance(&owner.or_else(|| self.sole.clone())?)
    }

    async fn verify(
        &self,
        token: &str,
        tenant: &Admitted,
        arns: &mut CallerArns,
    ) -> Result<User, TokenRejection> {
        if tenant.is_left_by_authenticator() {
            return Err(TokenRejection::new(
                RejectionKind::Down,
                "the authenticator is down",
            ));
        }
        let tenant = &tenant.tenant;
        // The node has this machine's clock; where it is to be another than the authenticator's, this one is moved.
        let ahead = time::Duration::seconds(tenant.instance.clock_ahead_seconds);
        let presigned = PresignedUrl::parse(token, &tenant.region, OffsetDateTime::now_utc() - ahead)
            .map_err(|refused| TokenRejection::new(refused.refusal, refused.message))?;
        let asked = self
            .tokens
            .caller_identity(presigned.url(), tenant.cluster.token_for());
        let caller = timeout(STS_LIMIT, asked)
            .await
            .map_err(|_| timed_out())?
            .map_err(refused_by_sts)?;
        arns.arn = Some(caller.arn.clone());
        let identity = IamIdentity::read(&caller, &presigned.access_key_id)
            .map_err(|reason| TokenRejection::new(RejectionKind::Malformed, reason))?;
        arns.canonical = Some(identity.canonical_arn.clone());
        self.map(&identity, &tenant.cluster)
    }

    fn map(&self, identity: &IamIdentity, cluster: &ClusterPlan) -> Result<User, TokenRejection> {
        let mapped = self.look_up(identity, cluster)?;
        let fill_in = |template: &String| {
            identity
                .fill_in(template, |instance| self.tokens.private_dns_name(instance))
                .map_err(|reason| TokenRejection::new(RejectionKind::Template, reason))
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

impl Authenticator {
    /// Access entries go before `aws-auth`, and the cluster's authentication mode says which of them are asked. One that is of no
    /// use does not keep the other from being asked.
    fn look_up(&self, identity: &IamIdentity, cluster: &ClusterPlan) -> Result<Mapped, TokenRejection> {
        let mode = cluster.authentication_mode;
        let entry = if mode.has_entries() {
            access_entries::lookup(&cluster.access_entries, identity)
        } else {
            Ok(None)
        };
        if let Ok(Some(mapped)) = entry {
            return Ok(mapped);
        }
        let mapping = self.mapping.borrow();
        let row = mapping.lookup(&identity.canonical_arn);
        let skipped: &[String] = if mode.has_config_map() {
            &mapping.skipped
        } else {
            &[]
        };
        match (row.filter(|_| mode.has_config_map()), entry) {
            (Some(mapped), _) => Ok(mapped),
            (None, Err(reason)) => Err(TokenRejection::new(RejectionKind::NotMapped, reason)
                .with_problem(MappingProblem::EntryOfDeletedRole)),
            (None, Ok(_)) => Err(not_mapped(identity, skipped)),
        }
    }
}

fn accept(user: User) -> (Decision, AuthenticationOutcome) {
    let outcome = AuthenticationOutcome::Accepted {
        username: user.username.clone(),
        groups: user.groups.clone(),
    };
    (Decision::Accepted(user), outcome)
}

fn deny(rejection: TokenRejection) -> (Decision, AuthenticationOutcome) {
    let decision = match rejection.kind {
        RejectionKind::Throttled => Decision::TryAgain,
        RejectionKind::Down => Decision::Down,
        RejectionKind::Malformed
        | RejectionKind::Expired
        | RejectionKind::Signature
        | RejectionKind::NotMapped
        | RejectionKind::Template => Decision::Refused,
    };
    (decision, AuthenticationOutcome::Refused(rejection))
}

/// aws-iam-authenticator reports what it could not parse of the ConfigMap in its log only.
fn not_mapped(identity: &IamIdentity, skipped: &[String]) -> TokenRejection {
    let reason = format!("ARN is not mapped: {}", identity.canonical_arn.to_lowercase());
    let rejection = TokenRejection::new(RejectionKind::NotMapped, reason);
    if skipped.is_empty() {
        rejection
    } else {
        rejection.with_problem(MappingProblem::UnreadableRows(skipped.to_vec()))
    }
}

fn timed_out() -> TokenRejection {
    TokenRejection::new(
        RejectionKind::Signature,
        "error during GET: context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
    )
}

fn refused_by_sts(refused: StsRefused) -> TokenRejection {
    // The authenticator looks for the word anywhere in the body.
    let throttled = refused.code.contains("Throttling") || refused.message.contains("Throttling");
    let expired = refused.message.contains("expired") || refused.code == "ExpiredToken";
    let kind = match (throttled, expired) {
        (true, _) => RejectionKind::Throttled,
        (false, true) => RejectionKind::Expired,
        (false, false) => RejectionKind::Signature,
    };
    TokenRejection::new(kind, refused.to_string())
}

/// The timeout of the authenticator's own client.
const STS_LIMIT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
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
        assert!(event.is_accepted());
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
                RejectionKind::NotMapped,
                "ARN is not mapped: arn:aws:iam::111111111111:role/other",
            ),
            (
                refused(403, "SignatureDoesNotMatch", "The request signature"),
                RejectionKind::Signature,
                "expected 200, got 403",
            ),
            (
                refused(403, "SignatureDoesNotMatch", "Signature expired: 1"),
                RejectionKind::Expired,
                "Signature expired",
            ),
            (
                refused(400, "Throttling", "Rate exceeded"),
                RejectionKind::Throttled,
                "Rate exceeded",
            ),
            (
                StubTokens {
                    name: None,
                    ..StubTokens::of_role("ng1-NodeInstanceRole")
                },
                RejectionKind::Template,
                "failed to find node",
            ),
        ];
        for (tokens, refusal, words) in table {
            let (decision, event) = Stage::new(tokens).decide(&testing::token()).await;
            let event = event.unwrap();
            let rejection = event.rejection().unwrap();
            assert_eq!(rejection.kind, refusal);
            assert!(rejection.reason.contains(words), "{event:?}");
            let expected = if refusal == RejectionKind::Throttled {
                Decision::TryAgain
            } else {
                Decision::Refused
            };
            assert_eq!(decision, expected);
        }
    }

    /// Which of the two sources counts, by the mode: who the role is in the entry, who in the row, and who it becomes.
    #[tokio::test]
    async fn access_entries_go_before_aws_auth_where_the_mode_lets_them_count() {
        use nodejoin_core::plan::access_entry::{AccessEntry, AccessEntryFile, AccessEntryType as Type};
        use nodejoin_core::plan::aws::AuthenticationMode as Mode;
        let node = "system:node:ip-192-168-40-16.eu-west-1.compute.internal";
        let session = "arn:aws:sts::111111111111:assumed-role/ng1-NodeInstanceRole/i-0b22a22eec53b9321";
        let id = "system:node:i-0b22a22eec53b9321";
        let table = [
            (
                Mode::ConfigMap,
                Some((Type::Ec2Linux, None)),
                false,
                Err("ARN is not mapped"),
            ),
            (
                Mode::ConfigMap,
                Some((Type::Ec2Linux, None)),
                true,
                Ok(("row", 0)),
            ),
            (
                Mode::ApiAndConfigMap,
                Some((Type::Ec2Linux, None)),
                true,
                Ok((node, 1)),
            ),
            (Mode::ApiAndConfigMap, None, true, Ok(("row", 0))),
            (Mode::ApiAndConfigMap, None, false, Err("ARN is not mapped")),
            (Mode::Api, None, true, Err("ARN is not mapped")),
            (Mode::Api, Some((Type::Ec2Windows, None)), true, Ok((node, 2))),
            (Mode::Api, Some((Type::FargateLinux, None)), false, Ok((id, 1))),
            (Mode::Api, Some((Type::Standard, None)), false, Ok((session, 0))),
            (
                Mode::Api,
                Some((Type::Ec2Linux, Some("AROAEXAMPLE"))),
                false,
                Ok((node, 1)),
            ),
            (
                Mode::Api,
                Some((Type::Ec2Linux, Some("AROAOTHER"))),
                true,
                Err("ARN does not match User ID"),
            ),
            (
                Mode::ApiAndConfigMap,
                Some((Type::Ec2Linux, Some("AROAOTHER"))),
                true,
                Ok(("row", 0)),
            ),
        ];
        for (mode, entry, has_row, expected) in table {
            let (mut tenant, mut events) = testing::tenant();
            let entries = entry.map(|(entry_type, principal_id)| AccessEntryFile {
                role: Some("path/ng1-NodeInstanceRole".to_owned()),
                entry_type,
                principal_id: principal_id.map(str::to_owned),
                ..AccessEntryFile::default()
            });
            let entries = entries.map(|file| AccessEntry::of(file, &tenant.account, &tenant.region));
            tenant.cluster.access_entries = entries.into_iter().collect();
            tenant.cluster.authentication_mode = mode;
            let row = format!("- rolearn: {}\n  username: row\n", testing::ROLE_ARN);
            let rows = has_row
                .then(|| ("mapRoles".to_owned(), row))
                .into_iter()
                .collect();
            let tenants = Arc::new(Tenants::default());
            tenants.admit(tenant).unwrap();
            let (_rows, read) = watch::channel(AwsAuth::parse(&rows));
            let tokens = Arc::new(StubTokens::of_role("ng1-NodeInstanceRole"));
            Authenticator::new(tokens, tenants, read)
                .decide(&testing::token())
                .await;
            let ClusterFact::Authentication(seen) = events.try_recv().unwrap().what else {
                panic!("only the decision is told")
            };
            let case = format!("{mode:?} {entry:?} {has_row}: {seen:?}");
            match expected {
                Ok((user, groups)) => assert_eq!(
                    (seen.username(), seen.groups().len()),
                    (Some(user), groups),
                    "{case}"
                ),
                Err(words) => assert!(seen.rejection().unwrap().reason.contains(words), "{case}"),
            }
        }
    }

    #[tokio::test]
    async fn the_sole_tenant_hears_of_every_token() {
        let tokens = StubTokens {
            holder: None::<InstanceId>,
            ..StubTokens::of_role("x")
        };
        let mut stage = Stage::new(tokens);
        stage.authenticator = stage.authenticator.with_sole_tenant(testing::instance().id);
        let (decision, event) = stage.decide("nonsense").await;
        assert_eq!(decision, Decision::Refused);
        let event = event.unwrap();
        let reason = &event.rejection().unwrap().reason;
        assert!(
            reason.contains("missing expected \"k8s-aws-v1.\" prefix"),
            "{reason}"
        );
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
