//! Certificate signing requests: the last state of each, joined with the user who decided on it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use k8s_openapi::api::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestCondition, CertificateSigningRequestStatus,
};
use nodejoin_core::observation::Certificate;
use nodejoin_core::plan::ids::InstanceId;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use x509_parser::prelude::parse_x509_pem;

use crate::pki::signing_request::CertificateRequest;
use crate::tenants::{ClusterFact, Tenants};

/// The requests of all tenants.
///
/// A watch delivers the object and the audit log the deciding user, in either order: the second of them sends the
/// tenant an event with both.
pub(crate) struct SigningRequests {
    tenants: Arc<Tenants>,
    known: Mutex<BTreeMap<String, RequestState>>,
}

#[derive(Default)]
struct RequestState {
    owner: Option<InstanceId>,
    last: Option<Certificate>,
    decided_by: Option<String>,
}

impl SigningRequests {
    pub(crate) fn new(tenants: Arc<Tenants>) -> Self {
        Self {
            tenants,
            known: Mutex::default(),
        }
    }

    /// Stores the object from the watch.
    pub(crate) fn set_object(&self, request: &CertificateSigningRequest, owner: &InstanceId) {
        let certificate = describe(request);
        self.update(&certificate.name.clone(), |known| {
            known.owner = Some(owner.clone());
            known.last = Some(certificate);
        });
    }

    /// Stores the deciding user from the audit log.
    pub(crate) fn set_decided_by(&self, name: &str, user: &str) {
        self.update(name, |known| known.decided_by = Some(user.to_owned()));
    }

    /// The instance that created a request.
    pub(crate) fn owner(&self, name: &str) -> Option<InstanceId> {
        self.known.lock().get(name)?.owner.clone()
    }

    /// Removes the requests of an instance.
    pub(crate) fn remove(&self, instance: &InstanceId) {
        self.known
            .lock()
            .retain(|_, known| known.owner.as_ref() != Some(instance));
    }

    fn update(&self, name: &str, change: impl FnOnce(&mut RequestState)) {
        let mut all = self.known.lock();
        let known = all.entry(name.to_owned()).or_default();
        let before = known.last.clone();
        change(known);
        let decided_by = known.decided_by.clone();
        let Some(last) = known.last.as_mut() else { return };
        last.decided_by = decided_by.filter(|_| last.approved.is_some());
        if before.as_ref() == Some(last) {
            return;
        }
        let owner = known
            .owner
            .as_ref()
            .and_then(|owner| self.tenants.by_instance(owner));
        if let Some(tenant) = owner {
            tenant.send(SystemTime::now(), ClusterFact::Certificate(last.clone()));
        }
    }
}

fn describe(request: &CertificateSigningRequest) -> Certificate {
    let spec = &request.spec;
    let requested = CertificateRequest::parse(&spec.request.0).unwrap_or_default();
    let status = request.status.clone().unwrap_or_default();
    let decision = decision(&status);
    Certificate {
        name: request.metadata.name.clone().unwrap_or_default(),
        signer: spec.signer_name.clone(),
        requestor: spec.username.clone().unwrap_or_default(),
        groups: spec.groups.clone().unwrap_or_default(),
        common_name: requested.common_name,
        organizations: requested.organizations,
        dns_names: requested.dns_names,
        ip_addresses: requested.ip_addresses.iter().map(ToString::to_string).collect(),
        usages: spec.usages.clone().unwrap_or_default(),
        approved: decision.map(|condition| condition.type_ == "Approved"),
        decided_by: None,
        decision: decision.map(|condition| explain(condition, &status)),
        issued: status.certificate.is_some(),
        fingerprint: status.certificate.and_then(|pem| fingerprint(&pem.0)),
    }
}

/// The deciding condition. Like the signer, it treats a request that is both approved and denied as denied.
fn decision(status: &CertificateSigningRequestStatus) -> Option<&CertificateSigningRequestCondition> {
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let find = |kind: &str| conditions.iter().find(|condition| condition.type_ == kind);
    find("Denied").or_else(|| find("Approved"))
}

/// Reason and message of the decision, then those of a signer that failed to sign an approved request.
fn explain(
    decision: &CertificateSigningRequestCondition,
    status: &CertificateSigningRequestStatus,
) -> String {
    let failed = status
        .conditions
        .iter()
        .flatten()
        .filter(|condition| condition.type_ == "Failed");
    let text = |condition: &CertificateSigningRequestCondition| {
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        format!("{}: {}", part(&condition.reason), part(&condition.message))
    };
    std::iter::once(decision)
        .chain(failed)
        .map(text)
        .collect::<Vec<_>>()
        .join("; then ")
}

fn fingerprint(pem: &[u8]) -> Option<String> {
    let (_, pem) = parse_x509_pem(pem).ok()?;
    Some(hex::encode(Sha256::digest(&pem.contents)))
}
