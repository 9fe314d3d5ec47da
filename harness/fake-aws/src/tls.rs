//! Certificates of the AWS host names: a private CA, and a leaf per requested name.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use time::{Duration, OffsetDateTime};

use crate::error::FakeAwsError;

/// Limit of cached leaves. Beyond it, the cache is cleared: a client may request any number of names.
const MAX_LEAVES: usize = 256;
/// Limit of addresses in one certificate. Beyond it, those of earlier scenarios are dropped.
const MAX_ADDRESSES: usize = 200;

/// The certificate authority that a node must trust.
pub(crate) struct CertificateAuthority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
    leaf_key: KeyPair,
    now: OffsetDateTime,
    leaves: Mutex<HashMap<String, Arc<CertifiedKey>>>,
    /// Addresses of hosts outside, for clients without a server name.
    addresses: Mutex<BTreeSet<IpAddr>>,
    /// The address of the server: the certificate's name for a client without a server name.
    ip: IpAddr,
}

impl fmt::Debug for CertificateAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority")
            .field("ip", &self.ip)
            .finish_non_exhaustive()
    }
}

impl CertificateAuthority {
    /// Creates an authority that is valid since yesterday.
    ///
    /// # Errors
    /// A key or a certificate cannot be created.
    pub(crate) fn generate(name: &str, ip: IpAddr, now: SystemTime) -> Result<Self, FakeAwsError> {
        let failed = |source| FakeAwsError::Certificate {
            name: name.to_owned(),
            source,
        };
        let now = OffsetDateTime::from(now);
        let key = KeyPair::generate().map_err(failed)?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        (params.not_before, params.not_after) = (now - Duration::days(1), now + Duration::days(3_650));
        let pem = params.self_signed(&key).map_err(failed)?.pem();
        let leaf_key = KeyPair::generate().map_err(failed)?;
        Ok(Self {
            issuer: Issuer::new(params, key),
            pem,
            leaf_key,
            now,
            leaves: Mutex::default(),
            addresses: Mutex::default(),
            ip,
        })
    }

    #[must_use]
    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// TLS configuration of a server. It offers HTTP/1.1 only, which every client supports.
    ///
    /// # Errors
    /// rustls rejects the configuration.
    pub(crate) fn server_config(self: &Arc<Self>) -> Result<Arc<ServerConfig>, FakeAwsError> {
        self.server_config_at(self.ip)
    }

    /// TLS configuration of a server on another address.
    ///
    /// # Errors
    /// rustls rejects the configuration.
    pub(crate) fn server_config_at(self: &Arc<Self>, ip: IpAddr) -> Result<Arc<ServerConfig>, FakeAwsError> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(FakeAwsError::Tls)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(LeafCertificates {
                authority: Arc::clone(self),
                ip,
            }));
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    /// Names addresses of hosts outside in the certificate for clients without a server name.
    pub(crate) fn add_addresses(&self, added: impl IntoIterator<Item = IpAddr>) {
        let mut addresses = self.addresses.lock();
        if addresses.len() >= MAX_ADDRESSES {
            addresses.clear();
        }
        addresses.extend(added);
    }

    /// The certificate for a client without a server name, which connects to an address.
    fn leaf_of_addresses(&self, ip: IpAddr) -> Result<Arc<CertifiedKey>, FakeAwsError> {
        let others = self.addresses.lock().clone();
        let names = std::iter::once(ip)
            .chain(others)
            .map(|address| address.to_string());
        self.leaf(&names.collect::<Vec<_>>())
    }

    fn leaf(&self, names: &[String]) -> Result<Arc<CertifiedKey>, FakeAwsError> {
        let key = names.join(" ");
        let mut leaves = self.leaves.lock();
        if let Some(leaf) = leaves.get(&key) {
            return Ok(Arc::clone(leaf));
        }
        if leaves.len() >= MAX_LEAVES {
            leaves.clear();
        }
        let leaf = Arc::new(self.issue(names)?);
        leaves.insert(key, Arc::clone(&leaf));
        Ok(leaf)
    }

    /// Issues a certificate for names and addresses. The first one is its common name.
    fn issue(&self, names: &[String]) -> Result<CertifiedKey, FakeAwsError> {
        let name = names.first().map_or("", String::as_str);
        let failed = |source| FakeAwsError::Certificate {
            name: name.to_owned(),
            source,
        };
        let mut params = CertificateParams::default();
        params
            .distinguished_name
            .push(DnType::CommonName, name.chars().take(64).collect::<String>());
        let alternative = |name: &String| match name.parse::<IpAddr>() {
            Ok(ip) => Ok(SanType::IpAddress(ip)),
            Err(_) => Ok(SanType::DnsName(name.as_str().try_into().map_err(failed)?)),
        };
        params.subject_alt_names = names.iter().map(alternative).collect::<Result<_, _>>()?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        // Clients reject server certificates with a validity over 825 days; AWS' own have 13 months.
        (params.not_before, params.not_after) =
            (self.now - Duration::days(1), self.now + Duration::days(395));
        let certificate = params.signed_by(&self.leaf_key, &self.issuer).map_err(failed)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.leaf_key.serialize_der()));
        let key = ring::sign::any_supported_type(&key).map_err(FakeAwsError::Tls)?;
        Ok(CertifiedKey::new(
            vec![CertificateDer::clone(certificate.der())],
            key,
        ))
    }
}

/// Issues leaves for the server names of clients.
#[derive(Debug)]
struct LeafCertificates {
    authority: Arc<CertificateAuthority>,
    ip: IpAddr,
}

impl ResolvesServerCert for LeafCertificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name().map(str::to_ascii_lowercase);
        let leaf = match &name {
            Some(name) => self.authority.leaf(std::slice::from_ref(name)),
            None => self.authority.leaf_of_addresses(self.ip),
        };
        match leaf {
            Ok(leaf) => Some(leaf),
            Err(error) => {
                tracing::warn!(?name, %error, "cannot create a certificate for this server name");
                None
            }
        }
    }
}
