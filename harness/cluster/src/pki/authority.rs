//! A certificate authority and the certificates that it issues.

use std::net::IpAddr;

use nodejoin_core::run::secret::Secret;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use time::{Duration, OffsetDateTime};

use crate::ClusterError;

/// A certificate and its private key, both as PEM.
#[derive(Debug, Clone)]
pub struct Identity {
    pub certificate: String,
    pub key: Secret,
}

/// A certificate authority.
#[derive(Debug)]
pub struct Ca {
    identity: Identity,
    issuer: Issuer<'static, KeyPair>,
}

impl Ca {
    /// Creates a self-signed CA with this common name.
    ///
    /// # Errors
    /// When the crypto library fails.
    pub fn new(common_name: &str) -> Result<Self, ClusterError> {
        let key = key_pair(common_name)?;
        let mut params = params(common_name, &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
        ];
        let certificate = params.self_signed(&key).map_err(failed(common_name))?;
        let identity = identity(&certificate, &key);
        Ok(Self {
            identity,
            issuer: Issuer::new(params, key),
        })
    }

    /// Loads a CA from PEM texts.
    ///
    /// # Errors
    /// When a text is invalid, or the crypto library does not support the key.
    pub fn from_pem(certificate: &str, key: Secret) -> Result<Self, ClusterError> {
        let key_pair = KeyPair::from_pem(key.reveal()).map_err(failed("an existing CA"))?;
        Ok(Self {
            issuer: Issuer::from_ca_cert_pem(certificate, key_pair).map_err(failed("an existing CA"))?,
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

    /// The private key. kube-controller-manager signs with it.
    #[must_use]
    pub fn key(&self) -> &Secret {
        &self.identity.key
    }

    /// Issues a client certificate: the common name is the user, the organizations are the groups.
    ///
    /// # Errors
    /// When the crypto library fails.
    pub fn client(&self, user: &str, groups: &[&str]) -> Result<Identity, ClusterError> {
        let mut params = params(user, groups);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(user, params)
    }

    /// Issues a serving certificate for these names and addresses.
    ///
    /// # Errors
    /// When a name is not ASCII, or the crypto library fails.
    pub fn serving(&self, common_name: &str, names: &[String]) -> Result<Identity, ClusterError> {
        let mut params = params(common_name, &[]);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.subject_alt_names = names
            .iter()
            .map(|name| alternative_name(name))
            .collect::<Result<_, _>>()
            .map_err(failed(common_name))?;
        self.issue(common_name, params)
    }

    fn issue(&self, role: &str, mut params: CertificateParams) -> Result<Identity, ClusterError> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = key_pair(role)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed(role))?;
        Ok(identity(&certificate, &key))
    }
}

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
    // Backdated like those of kube-controller-manager, for clocks that differ slightly.
    params.not_before = OffsetDateTime::now_utc() - Duration::minutes(5);
    params.not_after = OffsetDateTime::now_utc() + Duration::days(365);
    params.use_authority_key_identifier_extension = true;
    params
}

pub(super) fn key_pair(role: &str) -> Result<KeyPair, ClusterError> {
    KeyPair::generate().map_err(failed(role))
}

fn identity(certificate: &Certificate, key: &KeyPair) -> Identity {
    Identity {
        certificate: certificate.pem(),
        key: Secret::new(key.serialize_pem()),
    }
}

fn failed(role: &str) -> impl FnOnce(rcgen::Error) -> ClusterError {
    let role = role.to_owned();
    |source| ClusterError::Certificate { role, source }
}
