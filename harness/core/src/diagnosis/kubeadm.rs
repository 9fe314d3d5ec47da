//! Arguments of `kubeadm join`: the hash of the cluster's CA, and a bootstrap token.

use super::facts::{Evidence, Facts, between};
use super::types::Finding;
use crate::observation::{Audit, Millis, ObservedEvent};
use crate::plan::bootstrap_token::{BootstrapToken, TokenUsage};
use crate::redact::{CredentialKind, find_credentials};
use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;

const NEW_TOKEN: &str =
    "create a new token and pass it to kubeadm: kubeadm token create --print-join-command";

/// kubeadm compares the public key of the CA with the hash in its arguments.
pub(super) fn ca_cert_hash_mismatch(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let (at, line) = facts
        .user_data_lines()
        .find(|(_, line)| line.message.contains("public keys") && line.message.contains("pinned"))?;
    let hash = between(&line.message, "public keys \"", &['"']);
    let because = match hash {
        Some(hash) => {
            format!("`--discovery-token-ca-cert-hash` does not match the cluster's CA, whose hash is {hash}")
        }
        None => "`--discovery-token-ca-cert-hash` does not match the cluster's CA".to_owned(),
    };
    let remedy = format!(
        "if this is the right cluster, pass {} to kubeadm (`{{{{ cluster.ca_cert_hash }}}}` in a scenario)",
        hash.unwrap_or("the hash of its CA")
    );
    facts.final_(
        Cause::CaCertHashMismatch,
        because,
        &Evidence::journal(at, line),
        remedy,
    )
}

/// The API server responds with 401 to the token.
pub(super) fn token_refused(facts: &Facts<'_>) -> Option<Finding> {
    let id = token_id(facts).filter(|_| facts.is_before(Phase::Authenticated))?;
    let (at, audit) = audits(facts).find(|(_, audit)| audit.code == 401)?;
    let evidence = Evidence::new("audit log", at, format!("{} {}: 401", audit.verb, audit.resource));
    let token = known(facts, &id);
    if token.is_some_and(|token| has_expired(token, at)) {
        return expired(facts, &id, &evidence);
    }
    let (because, remedy) = match token {
        Some(token) if !token.usages.contains(&TokenUsage::Authentication) => (
            format!(
                "the bootstrap token {id} cannot authenticate: it lacks `usage-bootstrap-authentication`"
            ),
            "create the token with both usages: kubeadm token create --usages signing,authentication"
                .to_owned(),
        ),
        _ => (
            format!("the API server does not accept the bootstrap token {id}"),
            format!(
                "check Secret kube-system/bootstrap-token-{id}, and that the API server runs with --enable-bootstrap-token-auth"
            ),
        ),
    };
    facts.found(Cause::BootstrapTokenRefused, because, &evidence, remedy)
}

/// kubeadm waits five minutes for a signature that the cluster does not create, and reports it only then.
pub(super) fn token_unknown(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let id = token_id(facts)?;
    let (at, audit) = audits(facts).find(|(_, audit)| audit.name.as_deref() == Some("cluster-info"))?;
    let evidence = Evidence::new("audit log", at, line(audit));
    let token = known(facts, &id);
    if token.is_some_and(|token| !token.deleted && has_expired(token, at)) {
        return expired(facts, &id, &evidence);
    }
    let what = match token {
        _ if audit.code >= 400 => format!(
            "kubeadm may not read ConfigMap kube-public/cluster-info ({}): this cluster is not prepared for kubeadm",
            audit.code
        ),
        Some(token) if token.deleted => {
            format!("the bootstrap token {id} was deleted before the node used it")
        }
        Some(token) if token.signs() => return None,
        Some(_) => format!("the bootstrap token {id} cannot sign: it lacks `usage-bootstrap-signing`"),
        None => format!("the cluster has no bootstrap token {id}"),
    };
    let because = format!("{what}; kubeadm waits five minutes for its signature in kube-public/cluster-info");
    facts.found(
        Cause::BootstrapTokenUnknown,
        because,
        &evidence,
        NEW_TOKEN.to_owned(),
    )
}

fn expired(facts: &Facts<'_>, id: &str, evidence: &Evidence) -> Option<Finding> {
    let because = format!("the bootstrap token {id} has expired, and the token cleaner has removed it");
    facts.found(
        Cause::BootstrapTokenExpired,
        because,
        evidence,
        NEW_TOKEN.to_owned(),
    )
}

fn has_expired(token: &BootstrapToken, at: Millis) -> bool {
    token
        .expires_seconds
        .is_some_and(|seconds| seconds * 1000.0 <= at as f64)
}

fn line(audit: &Audit) -> String {
    format!(
        "{} {} cluster-info as {}: {}",
        audit.verb, audit.resource, audit.username, audit.code
    )
}

/// Requests in the audit log.
fn audits<'a>(facts: &Facts<'a>) -> impl Iterator<Item = (Millis, &'a Audit)> + use<'a> {
    facts
        .observation
        .timeline
        .iter()
        .filter_map(|seen| match &seen.what {
            ObservedEvent::Audit(audit) => Some((seen.at, audit)),
            _ => None,
        })
}

fn known<'a>(facts: &Facts<'a>, id: &str) -> Option<&'a BootstrapToken> {
    facts
        .plan
        .cluster
        .bootstrap_tokens
        .iter()
        .find(|token| token.token.id() == id)
}

/// The id of the token in user data that calls kubeadm; if it has none, of the scenario's first token.
fn token_id(facts: &Facts<'_>) -> Option<String> {
    let text = facts.user_data_text().filter(|text| text.contains("kubeadm"))?;
    let written = find_credentials(&text)
        .into_iter()
        .find(|secret| secret.kind == CredentialKind::BootstrapToken)
        .and_then(|secret| text.get(secret.range.start - 7..secret.range.start - 1));
    let own = || Some(facts.plan.cluster.bootstrap_tokens.first()?.token.id());
    written.or_else(own).map(str::to_owned)
}
