//! The certificates that a kubelet requests: the client certificate to register with, and the serving certificate of
//! port 10250.

use super::facts::{Evidence, Facts};
use super::types::Finding;
use crate::kubernetes::value_of_flag;
use crate::observation::phases::{KUBELET_CLIENT, KUBELET_SERVING};
use crate::observation::{Certificate, Millis, ObservedEvent};
use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;

fn serving<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a Certificate> + use<'a> {
    facts
        .observation
        .certificates
        .iter()
        .filter(|certificate| certificate.signer == KUBELET_SERVING)
}

/// When the request was created.
fn requested_at(facts: &Facts<'_>, name: &str) -> Millis {
    let first = facts.observation.timeline.iter().find(|seen| match &seen.what {
        ObservedEvent::Certificate(certificate) => certificate.name == name,
        _ => false,
    });
    first.map_or(0, |seen| seen.at)
}

/// The kubelet waits for the client certificate that it registers with.
pub(super) fn client_certificate_not_approved(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Registered) {
        return None;
    }
    let all = facts.observation.certificates.iter();
    let pending = all
        .filter(|certificate| certificate.signer == KUBELET_CLIENT)
        .find(|certificate| certificate.approved != Some(true) && !certificate.issued)?;
    let because = format!(
        "{} is not approved: the kubelet waits for its client certificate and does not register without it",
        pending.name
    );
    let remedy = format!(
        "allow {} to create `certificatesigningrequests/selfnodeclient` (`cluster.approve_clients: true`), so that \
         kube-controller-manager approves it, or run: kubectl certificate approve {}",
        pending.requestor, pending.name
    );
    let line = format!("{} of {} is pending", pending.name, pending.requestor);
    let evidence = Evidence::new(
        "certificate signing request",
        requested_at(facts, &pending.name),
        line,
    );
    facts.found(Cause::ClientCertificateNotApproved, because, &evidence, remedy)
}

/// The approver denied the serving certificate.
pub(super) fn serving_certificate_denied(facts: &Facts<'_>) -> Option<Finding> {
    if facts.has(Phase::Certified) {
        return None;
    }
    let denied = serving(facts)
        .filter(|certificate| certificate.approved == Some(false))
        .last()?;
    let reason = denied.decision.as_deref().unwrap_or("without a reason");
    let line = format!("{} of {} is denied: {reason}", denied.name, denied.requestor);
    let by = denied.decided_by.as_deref().unwrap_or("the approver");
    let because = format!("{by} denied the serving certificate: {reason}");
    let names = denied
        .dns_names
        .iter()
        .chain(&denied.ip_addresses)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    let instance = &facts.plan.instance;
    let flag = overridden_name(facts).filter(|name| denied.dns_names.iter().any(|one| one == name));
    let cause_of_name = flag.map(|name| {
        format!(
            "remove `--hostname-override={name}`, whose name the kubelet requests, or pass the instance's: "
        )
    });
    let remedy = format!(
        "{}let the kubelet request only the instance's name and address, {} and {}; it requested {names}",
        cause_of_name.unwrap_or_default(),
        instance.private_dns_name,
        instance.private_ip
    );
    let evidence = Evidence::new(
        "certificate signing request",
        requested_at(facts, &denied.name),
        line,
    );
    facts.found(Cause::ServingCertificateDenied, because, &evidence, remedy)
}

/// The name that a flag of the kubelet gives the node in place of the instance's.
fn overridden_name<'a>(facts: &Facts<'a>) -> Option<&'a str> {
    let arguments = facts.observation.collected.as_ref()?.kubelet_argv.as_deref()?;
    let name = value_of_flag(arguments, "--hostname-override")?;
    (name != facts.plan.instance.private_dns_name).then_some(name)
}

/// The request is undecided: the node registers and works, but port 10250 has no certificate.
pub(super) fn serving_certificate_not_approved(facts: &Facts<'_>) -> Option<Finding> {
    if facts.has(Phase::Certified) || !facts.has(Phase::Registered) {
        return None;
    }
    let pending = serving(facts).find(|certificate| certificate.approved.is_none() && !certificate.issued)?;
    let served = facts
        .observation
        .collected
        .as_ref()
        .and_then(|collected| collected.served.as_ref());
    let error = served
        .and_then(|served| served.error.as_deref())
        .map(|error| format!("; port 10250: {error}"));
    let line = format!(
        "{} of {} is pending{}",
        pending.name,
        pending.requestor,
        error.unwrap_or_default()
    );
    let because = format!(
        "{} is not approved: the node has no serving certificate, so logs, exec and metrics fail on port 10250",
        pending.name
    );
    let remedy = if facts.plan.cluster.approve_serving.is_on() {
        format!(
            "find out why the approver ignores it: kubectl describe csr {}",
            pending.name
        )
    } else {
        format!(
            "run an approver of kubelet-serving requests (`cluster.approve_serving: true`), or run: \
             kubectl certificate approve {}",
            pending.name
        )
    };
    let evidence = Evidence::new(
        "certificate signing request",
        requested_at(facts, &pending.name),
        line,
    );
    facts.found(Cause::ServingCertificateNotApproved, because, &evidence, remedy)
}
