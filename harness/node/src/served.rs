//! The certificate that the kubelet really serves, and whether the API server would accept it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nodejoin_core::observation::ServingCertificate;
use nodejoin_core::run::time_factor::TimeFactor;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// A kubelet answers at once or not at all.
const LIMIT: Duration = Duration::from_secs(3);

/// Shakes hands with what listens at `at`, and verifies its certificate for `private_ip`, as the API server does.
pub(crate) async fn look(
    at: SocketAddr,
    cluster_ca_pem: &str,
    private_ip: Ipv4Addr,
    factor: TimeFactor,
) -> ServingCertificate {
    let limit = factor.limit(LIMIT);
    match tokio::time::timeout(limit, shake_hands(at, cluster_ca_pem, private_ip)).await {
        Ok(served) => served,
        Err(_) => refused(format!("{at} did not answer within {} s", limit.as_secs())),
    }
}

async fn shake_hands(at: SocketAddr, cluster_ca_pem: &str, private_ip: Ipv4Addr) -> ServingCertificate {
    let provider = Arc::new(ring::default_provider());
    let witness = match Witness::new(cluster_ca_pem, &provider) {
        Ok(witness) => Arc::new(witness),
        Err(error) => return refused(format!("the cluster's CA cannot be used: {error}")),
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map(|builder| {
            builder
                .dangerous()
                .with_custom_certificate_verifier(witness.clone())
                .with_no_client_auth()
        });
    let config = match config {
        Ok(config) => config,
        Err(error) => return refused(error.to_string()),
    };
    let stream = match TcpStream::connect(at).await {
        Ok(stream) => stream,
        Err(error) => return refused(format!("nothing listens on port {}: {error}", at.port())),
    };
    let name = ServerName::IpAddress(private_ip.into());
    if let Err(error) = TlsConnector::from(Arc::new(config)).connect(name, stream).await {
        return refused(format!("no handshake: {error}"));
    }
    witness.testimony()
}

fn refused(error: String) -> ServingCertificate {
    ServingCertificate {
        fingerprint: None,
        verified: false,
        error: Some(error),
    }
}

/// Lets every certificate pass, and remembers what it was and what the real verifier says of it.
#[derive(Debug)]
struct Witness {
    judge: Arc<WebPkiServerVerifier>,
    seen: Mutex<ServingCertificate>,
}

impl Witness {
    fn new(cluster_ca_pem: &str, provider: &Arc<CryptoProvider>) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(cluster_ca_pem.as_bytes()) {
            let certificate = certificate.map_err(|error| error.to_string())?;
            roots.add(certificate).map_err(|error| error.to_string())?;
        }
        let judge = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Self {
            judge,
            seen: Mutex::new(ServingCertificate::default()),
        })
    }

    fn testimony(&self) -> ServingCertificate {
        self.seen.lock().map(|seen| seen.clone()).unwrap_or_default()
    }
}

impl ServerCertVerifier for Witness {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let judged =
            self.judge
                .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        if let Ok(mut seen) = self.seen.lock() {
            *seen = ServingCertificate {
                fingerprint: Some(hex::encode(Sha256::digest(end_entity))),
                verified: judged.is_ok(),
                error: judged.err().map(|error| in_words(&error)),
            };
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.judge.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.judge.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.judge.supported_verify_schemes()
    }
}

fn in_words(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "the cluster's CA did not sign it".to_owned()
        }
        other => other.to_string(),
    }
}
