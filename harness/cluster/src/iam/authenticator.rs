//! The IAM authenticator: maps a bearer token to a Kubernetes user like aws-iam-authenticator.
//!
//! Real: every check of the token, the canonical ARN, `aws-auth` as a watched ConfigMap, templates, extra. Faked: STS
//! and EC2 are called in this process instead of over the network. A visible difference would be an STS request from
//! the control plane's address, which no scenario observes.
//!
//! | decision | HTTP status | reaction of kube-apiserver |
//! | --- | --- | --- |
//! | authenticated | 200 | the request continues as the user |
//! | rejected | 403 with `authenticated: false` | no retry, no caching, a plain 401 (observed with 1.20.2) |
//! | down, by the scenario | 503 | retries with back-off, then 401 |
//! | STS throttled | 429 with `authenticated: false` | retries with back-off, then 401 |

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
use url::Url;

use crate::iam::access_entries;
use crate::iam::aws_auth::{AwsAuth, Mapped};
use crate::iam::identity::IamIdentity;
use crate::iam::sts::{SecurityTokens, StsRejection};
use crate::iam::token::{self, PresignedUrl};
use crate::tenants::{ClusterFact, NODE_USER, TenantState, Tenants};

/// The timeout of the authenticator's own client.
const STS_TIMEOUT: Duration = Duration::from_secs(10);

/// Decides on tokens.
pub(crate) struct Authenticator {
    tokens: Arc<dyn SecurityTokens>,
    tenants: Arc<Tenants>,
    /// Updated by the watch of `aws-auth`; closed when that watch ends.
    mapping: watch::Receiver<AwsAuth>,
    /// The tenant of tokens without a known access key.
    fallback_tenant: Option<InstanceId>,
}

/// The response to a TokenReview.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    Accepted(User),
    Rejected,
    /// STS was throttled.
    TryAgain,
    /// The tenant's scenario lets the authenticator be down.
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

/// The ARNs of the caller, as far as they are known when a token is rejected.
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
            fallback_tenant: None,
        }
    }

    /// Reports tokens without a known access key to this tenant.
    #[must_use]
    pub(crate) fn with_fallback_tenant(mut self, instance: InstanceId) -> Self {
        self.fallback_tenant = Some(instance);
        self
    }

    /// Decides on a token and sends its tenant an event.
    pub(crate) async fn decide(&self, token: &str) -> Decision {
        let Some(tenant) = self.tenant_of(token) else {
            tracing::debug!("rejected a token whose access key belongs to no instance here");
            return Decision::Rejected;
        };
        let mut arns = CallerArns::default();
        let (decision, outcome) = match self.verify(token, &tenant, &mut arns).await {
            Ok(user) => accept(user),
            Err(rejection) => reject(rejection),
        };
        let seen = Authentication {
            arn: arns.arn,
            canonical_arn: arns.canonical,
            outcome,
        };
        // The user of an empty private DNS name belongs to any node.
        if let Decision::Accepted(user) = &decision
            && user.username != NODE_USER
        {
            tenant.add_user(&user.username);
        }
        tracing::debug!(
            accepted = seen.is_accepted(),
            arn = seen.arn,
            reason = seen.rejection().map(ToString::to_string),
            "decided on a token"
        );
        tenant.send(SystemTime::now(), ClusterFact::Authentication(seen));
        decision
    }

    /// EKS runs one authenticator per cluster. Here one serves all tenants, and the access key selects the tenant.
    fn tenant_of(&self, token: &str) -> Option<Arc<TenantState>> {
        let owner = token::access_key_id(token).and_then(|key| self.tokens.instance_of(&key));
        self.tenants
            .by_instance(&owner.or_else(|| self.fallback_tenant.clone())?)
    }

    async fn verify(
        &self,
        token: &str,
        tenant: &TenantState,
        arns: &mut CallerArns,
    ) -> Result<User, TokenRejection> {
        if tenant.is_authenticator_down() {
            return Err(TokenRejection::new(
                RejectionKind::Down,
                "the authenticator is down",
            ));
        }
        let (state, tenant) = (tenant, &tenant.tenant);
        // The node shares this machine's clock, so a clock difference moves the authenticator's clock instead.
        let ahead = time::Duration::seconds(tenant.instance.clock_ahead_seconds);
        let presigned = PresignedUrl::parse(token, &tenant.region, OffsetDateTime::now_utc() - ahead)?;
        let request = self
            .tokens
            .caller_identity(presigned.url(), tenant.cluster.token_for());
        let caller = timeout(STS_TIMEOUT, request)
            .await
            .map_err(|_| timed_out())
            .and_then(|response| response)
            .map_err(|rejection| rejected_by_sts(&rejection, presigned.url()))?;
        arns.arn = Some(caller.arn.clone());
        let identity = IamIdentity::read(&caller, &presigned.access_key_id).map_err(|reason| {
            let reason = format!("sts getCallerIdentity failed: {reason}");
            TokenRejection::new(RejectionKind::Malformed, reason)
        })?;
        arns.canonical = Some(identity.canonical_arn.clone());
        self.map(&identity, state)
    }

    fn map(&self, identity: &IamIdentity, tenant: &TenantState) -> Result<User, TokenRejection> {
        let mapped = self.look_up(identity, &tenant.tenant.cluster)?;
        let name =
            |instance: &InstanceId| tenant.ec2_name(instance, || self.tokens.private_dns_name(instance));
        let expand = |template: &String| {
            identity
                .expand(template, name)
                .map_err(|reason| TokenRejection::new(RejectionKind::Template, reason))
        };
        let groups = mapped.groups.iter().map(expand).collect::<Result<_, _>>()?;
        let extra = identity
            .extra()
            .map(|(key, value)| (key.to_owned(), vec![value.to_owned()]));
        Ok(User {
            username: expand(&mapped.username)?,
            uid: identity.uid(),
            groups,
            extra: extra.into(),
        })
    }

    /// Access entries take precedence over `aws-auth`; the cluster's authentication mode enables each of them. A
    /// mismatching entry falls back to `aws-auth`.
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

fn reject(rejection: TokenRejection) -> (Decision, AuthenticationOutcome) {
    let decision = match rejection.kind {
        RejectionKind::Throttled => Decision::TryAgain,
        RejectionKind::Down => Decision::Down,
        RejectionKind::Malformed
        | RejectionKind::Expired
        | RejectionKind::Signature
        | RejectionKind::NotMapped
        | RejectionKind::Template => Decision::Rejected,
    };
    (decision, AuthenticationOutcome::Refused(rejection))
}

/// aws-iam-authenticator reports invalid rows of the ConfigMap in its log only.
fn not_mapped(identity: &IamIdentity, skipped: &[String]) -> TokenRejection {
    let reason = format!("ARN is not mapped: {}", identity.canonical_arn.to_lowercase());
    let rejection = TokenRejection::new(RejectionKind::NotMapped, reason);
    if skipped.is_empty() {
        rejection
    } else {
        rejection.with_problem(MappingProblem::UnreadableRows(skipped.to_vec()))
    }
}

fn timed_out() -> StsRejection {
    StsRejection {
        status: 0,
        code: "Timeout".to_owned(),
        message: "context deadline exceeded (Client.Timeout exceeded while awaiting headers)".to_owned(),
        body: String::new(),
    }
}

fn rejected_by_sts(response: &StsRejection, presigned: &Url) -> TokenRejection {
    let throttled = response.is_throttling();
    let expired = response.message.contains("expired") || response.code == "ExpiredToken";
    let kind = match (throttled, expired) {
        (true, _) => RejectionKind::Throttled,
        (false, true) => RejectionKind::Expired,
        (false, false) => RejectionKind::Signature,
    };
    TokenRejection::new(kind, response.reason(presigned.host_str().unwrap_or_default()))
}

#[cfg(test)]
mod tests;
