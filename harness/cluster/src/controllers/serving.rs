//! The approver of kubelets' serving certificates in EKS. Upstream's kube-controller-manager never approves them.
//!
//! It approves a request whose subject is the requestor and whose names and addresses all belong to the instance in
//! EC2. It denies any other request with a reason. Since 1.24 EKS leaves such a request approved and unissued; a denial
//! has the same effect and records the reason in the object.

use std::net::IpAddr;
use std::sync::Arc;

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use k8s_openapi::api::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestCondition, CertificateSigningRequestSpec,
};
use kube::api::PostParams;
use kube::core::Status;
use kube::{Api, Client};
use nodejoin_core::plan::InstancePlan;

use crate::api_server::reconcile::reconcile;
use crate::pki::signing_request::CertificateRequest;
use crate::tenants::{NODE_USER, TenantState, Tenants};

const SIGNER: &str = "kubernetes.io/kubelet-serving";
const APPROVED: &str = "Auto approving self kubelet server certificate after SubjectAccessReview.";

/// The reason and the message of a `Denied` condition.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RequestDenial {
    reason: &'static str,
    message: String,
}

/// Decides on requests until the future is dropped.
pub(crate) async fn run(client: Client, tenants: Arc<Tenants>) {
    let api = Api::<CertificateSigningRequest>::all(client.clone());
    reconcile(api, |request| sync(client.clone(), tenants.clone(), request)).await;
}

async fn sync(client: Client, tenants: Arc<Tenants>, request: CertificateSigningRequest) -> kube::Result<()> {
    let tenant = tenants.by_request(&request.spec).filter(|_| is_open(&request));
    match tenant {
        Some(tenant) if tenant.approves_serving() => decide(&client, request, &tenant).await,
        // An error, so that the request is looked at again.
        Some(tenant) if tenant.tenant.cluster.approve_serving.is_on() => Err(not_authorized()),
        Some(_) | None => Ok(()),
    }
}

fn is_open(request: &CertificateSigningRequest) -> bool {
    let conditions = request
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    request.spec.signer_name == SIGNER && conditions.is_none_or(Vec::is_empty)
}

async fn decide(
    client: &Client,
    mut request: CertificateSigningRequest,
    tenant: &TenantState,
) -> kube::Result<()> {
    let condition = match check(&request.spec, tenant.instance()) {
        Err(denial) => condition("Denied", denial.reason, denial.message),
        Ok(()) if is_authorized(client, &request.spec).await? => {
            condition("Approved", "AutoApproved", APPROVED.to_owned())
        }
        // Like upstream's approver: the request stays open for another approver and is reviewed again, because RBAC can
        // be incomplete for a moment after a restart of the API server.
        Ok(()) => return Err(not_authorized()),
    };
    let name = request.metadata.name.clone().unwrap_or_default();
    request.status.get_or_insert_default().conditions = Some(vec![condition]);
    let api = Api::<CertificateSigningRequest>::all(client.clone());
    api.replace_subresource("approval", &name, &PostParams::default(), &request)
        .await?;
    Ok(())
}

/// Checks a request. The first check that fails gives the reason.
fn check(spec: &CertificateSigningRequestSpec, instance: &InstancePlan) -> Result<(), RequestDenial> {
    let requested = CertificateRequest::parse(&spec.request.0)
        .ok_or_else(|| deny("InvalidRequest", "the request is not PKCS #10".to_owned()))?;
    check_subject(&requested, spec.username.as_deref().unwrap_or_default())?;
    check_usages(spec.usages.as_deref().unwrap_or_default())?;
    check_names(&requested, instance)
}

fn check_subject(requested: &CertificateRequest, user: &str) -> Result<(), RequestDenial> {
    let common_name = requested.common_name.as_deref().unwrap_or_default();
    if requested.organizations != ["system:nodes"] {
        let message = format!(
            "organization must be exactly system:nodes, not {:?}",
            requested.organizations
        );
        return Err(deny("InvalidSubject", message));
    }
    if !common_name.starts_with(NODE_USER) {
        return Err(deny(
            "InvalidSubject",
            format!("common name {common_name:?} does not start with {NODE_USER}"),
        ));
    }
    if common_name != user {
        return Err(deny(
            "InvalidSubject",
            format!("common name {common_name:?} is not the requestor {user:?}"),
        ));
    }
    Ok(())
}

fn check_usages(usages: &[String]) -> Result<(), RequestDenial> {
    let allowed = ["digital signature", "key encipherment", "server auth"];
    let has = |usage: &str| usages.iter().any(|given| given == usage);
    if has("digital signature")
        && has("server auth")
        && usages.iter().all(|usage| allowed.contains(&usage.as_str()))
    {
        return Ok(());
    }
    Err(deny(
        "InvalidUsages",
        format!("usages {usages:?} are not those of a serving certificate"),
    ))
}

fn check_names(requested: &CertificateRequest, instance: &InstancePlan) -> Result<(), RequestDenial> {
    let id = &instance.id;
    if let Some(name) = requested.other_names.first() {
        return Err(deny(
            "InvalidSubjectAlternativeName",
            format!("only DNS names and addresses are allowed, not {name}"),
        ));
    }
    if requested.dns_names.is_empty() && requested.ip_addresses.is_empty() {
        return Err(deny(
            "InvalidSubjectAlternativeName",
            "the request has neither a DNS name nor an address".to_owned(),
        ));
    }
    // A kubelet with the instance id as its host name requests that name until a cloud controller sets other addresses.
    let own_names = [
        instance.private_dns_name.as_str(),
        instance.host_name.as_str(),
        id.as_str(),
    ];
    let mut names = requested.dns_names.iter();
    if let Some(name) = names.find(|name| !own_names.contains(&name.as_str())) {
        return Err(deny(
            "UnverifiedSubjectAlternativeName",
            format!("DNS name {name} is not one of instance {id}"),
        ));
    }
    let is_own = |address: &IpAddr| instance.addresses().any(|own| own == *address);
    if let Some(address) = requested.ip_addresses.iter().find(|address| !is_own(address)) {
        return Err(deny(
            "UnverifiedSubjectAlternativeName",
            format!("address {address} is not one of instance {id}"),
        ));
    }
    Ok(())
}

fn not_authorized() -> kube::Error {
    let message = "the SubjectAccessReview does not allow the requestor its own serving certificate";
    kube::Error::Api(Box::new(Status::failure(message, "Forbidden").with_code(403)))
}

/// The SubjectAccessReview of upstream's approvers: may this user request its own serving certificate?
async fn is_authorized(client: &Client, spec: &CertificateSigningRequestSpec) -> kube::Result<bool> {
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: spec.username.clone(),
            groups: spec.groups.clone(),
            uid: spec.uid.clone(),
            extra: spec.extra.clone(),
            resource_attributes: Some(ResourceAttributes {
                group: Some("certificates.k8s.io".to_owned()),
                resource: Some("certificatesigningrequests".to_owned()),
                subresource: Some("selfnodeserver".to_owned()),
                verb: Some("create".to_owned()),
                version: Some("*".to_owned()),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let review = Api::<SubjectAccessReview>::all(client.clone())
        .create(&PostParams::default(), &review)
        .await?;
    Ok(review.status.is_some_and(|status| status.allowed))
}

fn condition(kind: &str, reason: &str, message: String) -> CertificateSigningRequestCondition {
    CertificateSigningRequestCondition {
        type_: kind.to_owned(),
        status: "True".to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message),
        ..CertificateSigningRequestCondition::default()
    }
}

fn deny(reason: &'static str, message: String) -> RequestDenial {
    RequestDenial { reason, message }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::ByteString;
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

    use super::*;
    use crate::testing;

    const NODE: &str = "system:node:ip-192-168-40-16.eu-west-1.compute.internal";

    /// A request like a kubelet's, with this subject and these names.
    fn request(organization: &str, common_name: &str, names: &[&str]) -> CertificateSigningRequestSpec {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name = DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::OrganizationName, organization);
        params.distinguished_name.push(DnType::CommonName, common_name);
        let pem = params
            .serialize_request(&KeyPair::generate().unwrap())
            .unwrap()
            .pem()
            .unwrap();
        CertificateSigningRequestSpec {
            request: ByteString(pem.into_bytes()),
            signer_name: SIGNER.to_owned(),
            username: Some(NODE.to_owned()),
            usages: Some(vec!["digital signature".to_owned(), "server auth".to_owned()]),
            ..CertificateSigningRequestSpec::default()
        }
    }

    fn reason(spec: &CertificateSigningRequestSpec) -> String {
        let denial = check(spec, &testing::instance()).unwrap_err();
        format!("{}: {}", denial.reason, denial.message)
    }

    #[test]
    fn the_request_of_a_kubelet_is_approved() {
        for name in [
            "ip-192-168-40-16.eu-west-1.compute.internal",
            "i-0b22a22eec53b9321",
        ] {
            let requested = request("system:nodes", NODE, &[name, "192.168.40.16"]);
            assert_eq!(check(&requested, &testing::instance()), Ok(()), "{name}");
        }
    }

    #[test]
    fn each_check_denies_with_its_reason() {
        let good = ["192.168.40.16"];
        let mut signing = request("system:nodes", NODE, &good);
        signing.usages = Some(vec!["digital signature".to_owned(), "client auth".to_owned()]);
        let table = [
            (
                request("system:masters", NODE, &good),
                "InvalidSubject: organization must be exactly system:nodes",
            ),
            (
                request("system:nodes", "admin", &good),
                "InvalidSubject: common name \"admin\" does not start",
            ),
            (
                request("system:nodes", "system:node:other", &good),
                "is not the requestor",
            ),
            (signing, "InvalidUsages"),
            (
                request("system:nodes", NODE, &[]),
                "the request has neither a DNS name nor an address",
            ),
            (
                request("system:nodes", NODE, &["10.0.0.1"]),
                "UnverifiedSubjectAlternativeName: address 10.0.0.1 is not one of instance i-0b22a22eec53b9321",
            ),
            (
                request("system:nodes", NODE, &["kubernetes"]),
                "DNS name kubernetes is not one of",
            ),
        ];
        for (spec, expected) in table {
            let seen = reason(&spec);
            assert!(seen.contains(expected), "`{seen}` lacks `{expected}`");
        }
    }

    #[test]
    fn only_open_serving_requests_are_decided() {
        let spec = request("system:nodes", NODE, &[]);
        let mut csr = CertificateSigningRequest {
            spec,
            ..CertificateSigningRequest::default()
        };
        assert!(is_open(&csr));
        csr.status.get_or_insert_default().conditions = Some(vec![condition("Denied", "x", String::new())]);
        assert!(!is_open(&csr));
        csr.status = None;
        csr.spec.signer_name = "kubernetes.io/kube-apiserver-client-kubelet".to_owned();
        assert!(!is_open(&csr));
    }
}
