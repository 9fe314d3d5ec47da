//! Certificate signing requests as they were last seen, joined with who decided on them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use k8s_openapi::api::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestCondition, CertificateSigningRequestStatus,
};
use nodejoin_core::observation::Certificate;
use nodejoin_core::plan::ids::InstanceId;
use sha2::{Digest as _, Sha256};
use x509_parser::prelude::parse_x509_pem;

use crate::request::CertificateRequest;
use crate::tenants::{ClusterFact, Tenants, lock};

/// The requests of all tenants.
///
/// The object comes by a watch and who decided by the audit log, in either order: whichever comes second tells the
/// tenant again, with both.
pub(crate) struct Certificates {
    tenants: Arc<Tenants>,
    known: Mutex<BTreeMap<String, Known>>,
}

#[derive(Default)]
struct Known {
    owner: Option<InstanceId>,
    last: Option<Certificate>,
    decided_by: Option<String>,
}

impl Certificates {
    pub(crate) fn new(tenants: Arc<Tenants>) -> Self {
        Self {
            tenants,
            known: Mutex::default(),
        }
    }

    /// The watch has this object.
    pub(crate) fn seen(&self, request: &CertificateSigningRequest, owner: &InstanceId) {
        let certificate = describe(request);
        self.update(&certificate.name.clone(), |known| {
            known.owner = Some(owner.clone());
            known.last = Some(certificate);
        });
    }

    /// The audit log says who decided.
    pub(crate) fn decided(&self, name: &str, user: &str) {
        self.update(name, |known| known.decided_by = Some(user.to_owned()));
    }

    /// The instance whose request this is.
    pub(crate) fn owner(&self, name: &str) -> Option<InstanceId> {
        lock(&self.known).get(name)?.owner.clone()
    }

    /// Forgets an instance's requests.
    pub(crate) fn forget(&self, instance: &InstanceId) {
        lock(&self.known).retain(|_, known| known.owner.as_ref() != Some(instance));
    }

    fn update(&self, name: &str, change: impl FnOnce(&mut Known)) {
        let mut all = lock(&self.known);
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
            tenant.tell(SystemTime::now(), ClusterFact::Certificate(last.clone()));
        }
    }
}

fn describe(request: &CertificateSigningRequest) -> Certificate {
    let spec = &request.spec;
    let asked = CertificateRequest::parse(&spec.request.0).unwrap_or_default();
    let status = request.status.clone().unwrap_or_default();
    let decision = decision(&status);
    Certificate {
        name: request.metadata.name.clone().unwrap_or_default(),
        signer: spec.signer_name.clone(),
        requestor: spec.username.clone().unwrap_or_default(),
        groups: spec.groups.clone().unwrap_or_default(),
        common_name: asked.common_name,
        organizations: asked.organizations,
        dns_names: asked.dns_names,
        ip_addresses: asked.ip_addresses.iter().map(ToString::to_string).collect(),
        usages: spec.usages.clone().unwrap_or_default(),
        approved: decision.map(|condition| condition.type_ == "Approved"),
        decided_by: None,
        decision: decision.map(|condition| explain(condition, &status)),
        issued: status.certificate.is_some(),
        fingerprint: status.certificate.and_then(|pem| fingerprint(&pem.0)),
    }
}

/// The condition that decided. A request that is both approved and denied counts as denied, as for the signer.
fn decision(status: &CertificateSigningRequestStatus) -> Option<&CertificateSigningRequestCondition> {
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let find = |kind: &str| conditions.iter().find(|condition| condition.type_ == kind);
    find("Denied").or_else(|| find("Approved"))
}

/// Reason and message; a signer that would not sign what was approved has its say after them.
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
