//! All certificates and keys of a control plane.
//!
//! | certificate | subject | purpose |
//! | --- | --- | --- |
//! | cluster CA | CN=kubernetes | signs all except the webhooks'; kubelets' through kube-controller-manager |
//! | API server | CN=kube-apiserver | has every name that a node or the harness connects to |
//! | kubelet client | O=system:masters | the API server's connections to :10250 |
//! | admin, controller manager | O=system:masters | their clients |
//! | users of controllers | CN=eks:... | the controllers of EKS, which the harness runs |
//! | other CA | CN=kubernetes | none: valid, but of another cluster |
//! | webhook CA | CN=nodejoin webhooks | the harness's authenticator and audit endpoint |

use std::sync::Arc;

use nodejoin_core::run::secret::Secret;

use super::authority::{Ca, Identity, key_pair};
use super::names::{CLUSTER_ENDPOINT, api_server_names};
use crate::ClusterError;

/// All certificates and keys of a control plane that the harness starts.
#[derive(Debug)]
pub struct Pki {
    pub cluster: Arc<Ca>,
    /// The CA of another cluster, for scenarios with a wrong CA.
    pub other: Ca,
    pub webhooks: Ca,
    /// Serving certificate of the API server.
    pub api_server: Identity,
    /// Client certificate of the API server for kubelets.
    pub kubelet_client: Identity,
    /// Client certificate of kube-controller-manager.
    pub controller_manager: Identity,
    /// Signs service account tokens.
    pub service_account_key: Secret,
    /// Checks service account tokens.
    pub service_account_public_key: String,
}

impl Pki {
    /// Generates a new set. Control planes share no keys.
    ///
    /// # Errors
    /// When the crypto library fails, which it does not for these inputs.
    pub fn generate() -> Result<Self, ClusterError> {
        Self::with_endpoint(None)
    }

    /// Generates a new set whose API server has one more host name.
    ///
    /// # Errors
    /// When the host name is invalid.
    pub fn with_endpoint(host: Option<&str>) -> Result<Self, ClusterError> {
        let cluster = Ca::new("kubernetes")?;
        let service_account = key_pair("service accounts")?;
        Ok(Self {
            api_server: cluster.serving("kube-apiserver", &serving_names(host))?,
            kubelet_client: cluster.client("kube-apiserver-kubelet-client", &["system:masters"])?,
            controller_manager: cluster.client("system:kube-controller-manager", &["system:masters"])?,
            other: Ca::new("kubernetes")?,
            webhooks: Ca::new("nodejoin webhooks")?,
            service_account_public_key: service_account.public_key_pem(),
            service_account_key: Secret::new(service_account.serialize_pem()),
            cluster: Arc::new(cluster),
        })
    }
}

/// The API server's names, and the one in kubeadm's ConfigMaps.
fn serving_names(host: Option<&str>) -> Vec<String> {
    let mut names = api_server_names(host);
    names.push(CLUSTER_ENDPOINT.to_owned());
    names
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
    fn the_api_server_certificate_has_all_names() {
        let pki = Pki::with_endpoint(Some("test-cluster")).unwrap();
        with_certificate(&pki.api_server.certificate, |certificate| {
            let names = certificate.subject_alternative_name().unwrap().unwrap().value;
            let has = |name: GeneralName<'_>| names.general_names.contains(&name);
            assert!(has(GeneralName::DNSName("kubernetes")));
            assert!(has(GeneralName::DNSName("test-cluster")));
            assert!(has(GeneralName::DNSName("cluster-endpoint.internal")));
            assert!(has(GeneralName::DNSName("*.gr7.eu-west-1.eks.amazonaws.com")));
            assert!(has(GeneralName::DNSName("*.gr7.cn-north-1.eks.amazonaws.com.cn")));
            assert!(has(GeneralName::IPAddress(&[127, 0, 0, 1])));
            assert!(has(GeneralName::IPAddress(&[10, 100, 0, 1])));
        });
    }

    #[test]
    fn client_certificates_have_user_and_groups() {
        let pki = Pki::generate().unwrap();
        with_certificate(&pki.kubelet_client.certificate, |certificate| {
            let subject = certificate.subject();
            let organization = subject.iter_organization().next().unwrap().as_str().unwrap();
            assert_eq!(organization, "system:masters");
            assert_eq!(certificate.issuer().to_string(), "CN=kubernetes");
        });
    }

    #[test]
    fn the_other_ca_differs_only_in_its_key() {
        let pki = Pki::generate().unwrap();
        assert_ne!(pki.cluster.pem(), pki.other.pem());
        with_certificate(pki.other.pem(), |other| {
            assert_eq!(other.subject().to_string(), "CN=kubernetes");
            assert!(other.is_ca());
        });
    }

    #[test]
    fn private_keys_are_not_printed() {
        assert!(!format!("{:?}", Pki::generate().unwrap()).contains("PRIVATE"));
    }
}
