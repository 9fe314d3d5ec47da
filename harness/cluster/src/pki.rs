//! Certificates and keys of a control plane, made in code by role.
//!
//! | certificate | subject | for |
//! | --- | --- | --- |
//! | cluster CA | CN=kubernetes | signs all of these, and through kube-controller-manager the kubelets' |
//! | API server | CN=kube-apiserver | every name a node or the harness connects by |
//! | kubelet client | O=system:masters | the API server towards :10250 |
//! | admin, controller manager | O=system:masters | their clients |
//! | actors | CN=eks:... | the controllers that EKS runs and the harness plays |
//! | other CA | CN=kubernetes | nothing: the CA of another cluster, well formed and wrong |
//! | webhook CA | CN=nodejoin webhooks | the harness's authenticator and audit endpoint |

use std::net::IpAddr;
use std::sync::Arc;

use nodejoin_core::plan::region::Region;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use time::{Duration, OffsetDateTime};

use crate::ClusterError;
use crate::secret::Secret;

/// A certificate and its key, both as PEM.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: Secret,
}

/// A certificate authority.
#[derive(Debug)]
pub struct Authority {
    identity: Identity,
    issuer: Issuer<'static, KeyPair>,
}

/// Everything a control plane of ours is made with.
#[derive(Debug)]
pub struct Pki {
    /// The cluster's CA.
    pub cluster: Arc<Authority>,
    /// The CA of a cluster that does not exist.
    pub other: Authority,
    /// The CA of the harness's webhooks.
    pub webhooks: Authority,
    /// What the API server serves with.
    pub api_server: Identity,
    /// What the API server shows to kubelets.
    pub kubelet_client: Identity,
    /// kube-controller-manager's way in.
    pub controller_manager: Identity,
    /// Signs service account tokens.
    pub service_account_key: Secret,
    /// Checks service account tokens.
    pub service_account_public_key: String,
}

impl Pki {
    /// Makes a new set; nothing is shared between two control planes.
    ///
    /// # Errors
    /// When the crypto library refuses, which it does not for these inputs.
    pub fn generate() -> Result<Self, ClusterError> {
        let cluster = Authority::new("kubernetes")?;
        let service_account = key_pair("service accounts")?;
        Ok(Self {
            api_server: cluster.serving("kube-apiserver", &own_names())?,
            kubelet_client: cluster.client("kube-apiserver-kubelet-client", &["system:masters"])?,
            controller_manager: cluster.client("system:kube-controller-manager", &["system:masters"])?,
            other: Authority::new("kubernetes")?,
            webhooks: Authority::new("nodejoin webhooks")?,
            service_account_public_key: service_account.public_key_pem(),
            service_account_key: Secret::new(service_account.serialize_pem()),
            cluster: Arc::new(cluster),
        })
    }
}

impl Authority {
    /// A self-signed CA with this common name.
    ///
    /// # Errors
    /// When the crypto library refuses.
    pub fn new(common_name: &str) -> Result<Self, ClusterError> {
        let key = key_pair(common_name)?;
        let mut params = params(common_name, &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
        ];
        let certificate = params.self_signed(&key).map_err(refused(common_name))?;
        let identity = identity(&certificate, &key);
        Ok(Self {
            identity,
            issuer: Issuer::new(params, key),
        })
    }

    /// A CA that somebody else made.
    ///
    /// # Errors
    /// When the texts are no certificate and key, or the key is none that the crypto library takes.
    pub fn from_pem(certificate: &str, key: Secret) -> Result<Self, ClusterError> {
        let key_pair = KeyPair::from_pem(key.reveal()).map_err(refused("a given CA"))?;
        Ok(Self {
            issuer: Issuer::from_ca_cert_pem(certificate, key_pair).map_err(refused("a given CA"))?,
            identity: Identity {
                certificate: certificate.to_owned(),
                key,
            },
        })
    }

    /// The CA's certificate, PEM.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.identity.certificate
    }

    /// The CA's key, for kube-controller-manager, which signs with it.
    #[must_use]
    pub fn key(&self) -> &Secret {
        &self.identity.key
    }

    /// A client certificate: the common name is the user, the organizations are the groups.
    ///
    /// # Errors
    /// When the crypto library refuses.
    pub fn client(&self, user: &str, groups: &[&str]) -> Result<Identity, ClusterError> {
        let mut params = params(user, groups);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(user, params)
    }

    /// A serving certificate for these names and addresses.
    ///
    /// # Errors
    /// When a name is not ASCII, or the crypto library refuses.
    pub fn serving(&self, common_name: &str, names: &[String]) -> Result<Identity, ClusterError> {
        let mut params = params(common_name, &[]);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.subject_alt_names = names
            .iter()
            .map(|name| alternative_name(name))
            .collect::<Result<_, _>>()
            .map_err(refused(common_name))?;
        self.issue(common_name, params)
    }

    fn issue(&self, role: &str, mut params: CertificateParams) -> Result<Identity, ClusterError> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = key_pair(role)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(refused(role))?;
        Ok(identity(&certificate, &key))
    }
}

/// The names by which an API server of ours is reached.
///
/// EKS endpoints are `https://<ID>.gr7.<region>.eks.<suffix>`; a scenario may pick any region, and the container's
/// address is not known before it starts, so the harness connects by the name `kubernetes`.
pub(crate) fn api_server_names() -> Vec<String> {
    let own = [
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    ];
    let addresses = ["localhost", "127.0.0.1", "10.100.0.1"];
    let endpoints = Region::all().map(|region| format!("*.gr7.{region}.eks.{}", region.dns_suffix()));
    own.into_iter()
        .chain(addresses)
        .map(str::to_owned)
        .chain(endpoints)
        .collect()
}

/// The same, and the name by which kubeadm's ConfigMaps call an API server of ours.
fn own_names() -> Vec<String> {
    let mut names = api_server_names();
    names.push(CLUSTER_ENDPOINT.to_owned());
    names
}

/// What kubeadm's `controlPlaneEndpoint` says of a `local` control plane.
pub(crate) const CLUSTER_ENDPOINT: &str = "cluster-endpoint.internal";

fn alternative_name(name: &str) -> Result<SanType, rcgen::Error> {
    match name.parse::<IpAddr>() {
        Ok(address) => Ok(SanType::IpAddress(address)),
        Err(_) => Ok(SanType::DnsName(name.try_into()?)),
    }
}

fn params(common_name: &str, organizations: &[&str]) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    for organization in organizations {
        params
            .distinguished_name
            .push(DnType::OrganizationName, *organization);
    }
    params.distinguished_name.push(DnType::CommonName, common_name);
    // Backdated as kube-controller-manager does, for clocks that disagree a little.
    params.not_before = OffsetDateTime::now_utc() - Duration::minutes(5);
    params.not_after = OffsetDateTime::now_utc() + Duration::days(365);
    params.use_authority_key_identifier_extension = true;
    params
}

fn key_pair(role: &str) -> Result<KeyPair, ClusterError> {
    KeyPair::generate().map_err(refused(role))
}

fn identity(certificate: &Certificate, key: &KeyPair) -> Identity {
    Identity {
        certificate: certificate.pem(),
        key: Secret::new(key.serialize_pem()),
    }
}

fn refused(role: &str) -> impl FnOnce(rcgen::Error) -> ClusterError {
    let role = role.to_owned();
    |source| ClusterError::Certificate { role, source }
}

#[cfg(test)]
mod tests {
    use x509_parser::prelude::*;

    use super::*;

    fn with_certificate<T>(pem: &str, read: impl FnOnce(&X509Certificate<'_>) -> T) -> T {
        let (_, pem) = parse_x509_pem(pem.as_bytes()).unwrap();
        read(&pem.parse_x509().unwrap())
    }

    #[test]
    fn the_api_server_has_every_name_it_is_reached_by() {
        let pki = Pki::generate().unwrap();
        with_certificate(&pki.api_server.certificate, |certificate| {
            let names = certificate.subject_alternative_name().unwrap().unwrap().value;
            let has = |name: GeneralName<'_>| names.general_names.contains(&name);
            assert!(has(GeneralName::DNSName("kubernetes")));
            assert!(has(GeneralName::DNSName("cluster-endpoint.internal")));
            assert!(has(GeneralName::DNSName("*.gr7.eu-west-1.eks.amazonaws.com")));
            assert!(has(GeneralName::DNSName("*.gr7.cn-north-1.eks.amazonaws.com.cn")));
            assert!(has(GeneralName::IPAddress(&[127, 0, 0, 1])));
            assert!(has(GeneralName::IPAddress(&[10, 100, 0, 1])));
        });
    }

    #[test]
    fn clients_carry_user_and_groups() {
        let pki = Pki::generate().unwrap();
        with_certificate(&pki.kubelet_client.certificate, |certificate| {
            let subject = certificate.subject();
            let organization = subject.iter_organization().next().unwrap().as_str().unwrap();
            assert_eq!(organization, "system:masters");
            assert_eq!(certificate.issuer().to_string(), "CN=kubernetes");
        });
    }

    #[test]
    fn the_other_ca_differs_only_by_its_key() {
        let pki = Pki::generate().unwrap();
        assert_ne!(pki.cluster.pem(), pki.other.pem());
        with_certificate(pki.other.pem(), |other| {
            assert_eq!(other.subject().to_string(), "CN=kubernetes");
            assert!(other.is_ca());
        });
    }

    #[test]
    fn debug_output_hides_the_keys() {
        assert!(!format!("{:?}", Pki::generate().unwrap()).contains("PRIVATE"));
    }
}
