//! Certificates of the AWS host names: a private CA, and a leaf for whatever name a client asks for.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

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

/// Leaves that are kept; past that the oldest knowledge is dropped, so that a client that asks for many names costs no memory.
const KEPT: usize = 256;

/// The certificate authority that a node has to trust.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
    leaf_key: KeyPair,
    now: OffsetDateTime,
    leaves: Mutex<HashMap<String, Arc<CertifiedKey>>>,
    /// The address it listens on: the name of a client that sends no server name.
    ip: IpAddr,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority")
            .field("ip", &self.ip)
            .finish_non_exhaustive()
    }
}

impl Authority {
    /// A new authority, valid from a day ago.
    ///
    /// # Errors
    /// Where a key or certificate cannot be made.
    pub fn generate(name: &str, ip: IpAddr, now: SystemTime) -> Result<Self, FakeAwsError> {
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
            ip,
        })
    }

    /// The authority's certificate, in PEM.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// The server side of TLS. Only HTTP/1.1 is offered, which every client speaks.
    ///
    /// # Errors
    /// Where rustls refuses the set-up.
    pub fn server_config(self: &Arc<Self>) -> Result<Arc<ServerConfig>, FakeAwsError> {
        self.server_config_at(self.ip)
    }

    /// The same on another address, which is the name of a client that sends none.
    ///
    /// # Errors
    /// Where rustls refuses the set-up.
    pub fn server_config_at(self: &Arc<Self>, ip: IpAddr) -> Result<Arc<ServerConfig>, FakeAwsError> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(FakeAwsError::Tls)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(Leaves {
                authority: Arc::clone(self),
                ip,
            }));
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    fn leaf(&self, name: &str) -> Result<Arc<CertifiedKey>, FakeAwsError> {
        let mut leaves = self.leaves.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(leaf) = leaves.get(name) {
            return Ok(Arc::clone(leaf));
        }
        if leaves.len() >= KEPT {
            leaves.clear();
        }
        let leaf = Arc::new(self.issue(name)?);
        leaves.insert(name.to_owned(), Arc::clone(&leaf));
        Ok(leaf)
    }

    fn issue(&self, name: &str) -> Result<CertifiedKey, FakeAwsError> {
        let failed = |source| FakeAwsError::Certificate {
            name: name.to_owned(),
            source,
        };
        let mut params = CertificateParams::default();
        params
            .distinguished_name
            .push(DnType::CommonName, name.chars().take(64).collect::<String>());
        params.subject_alt_names = vec![match name.parse::<IpAddr>() {
            Ok(ip) => SanType::IpAddress(ip),
            Err(_) => SanType::DnsName(name.try_into().map_err(failed)?),
        }];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        // No client accepts a server certificate that lives longer than 825 days; AWS' own live 13 months.
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

/// The leaves of an authority on an address.
#[derive(Debug)]
struct Leaves {
    authority: Arc<Authority>,
    ip: IpAddr,
}

impl ResolvesServerCert for Leaves {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello
            .server_name()
            .map_or_else(|| self.ip.to_string(), str::to_ascii_lowercase);
        match self.authority.leaf(&name) {
            Ok(leaf) => Some(leaf),
            Err(error) => {
                tracing::warn!(%name, %error, "no certificate for this server name");
                None
            }
        }
    }
}
