//! Reads the certificate that the kubelet serves, and checks whether the API server would accept it.

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

/// Timeout of the handshake. A kubelet that does not respond here does not respond to the API server either.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Connects to `at` and verifies its certificate for `private_ip`, as the API server does.
pub(crate) async fn read(
    at: SocketAddr,
    cluster_ca_pem: &str,
    private_ip: Ipv4Addr,
    factor: TimeFactor,
) -> ServingCertificate {
    let timeout = factor.scale(HANDSHAKE_TIMEOUT);
    match tokio::time::timeout(timeout, handshake(at, cluster_ca_pem, private_ip)).await {
        Ok(served) => served,
        Err(_) => failed(format!("no response from {at} within {} s", timeout.as_secs())),
    }
}

async fn handshake(at: SocketAddr, cluster_ca_pem: &str, private_ip: Ipv4Addr) -> ServingCertificate {
    let provider = Arc::new(ring::default_provider());
    let recorder = match CertificateRecorder::new(cluster_ca_pem, &provider) {
        Ok(recorder) => Arc::new(recorder),
        Err(error) => return failed(format!("the cluster's CA is invalid: {error}")),
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map(|builder| {
            builder
                .dangerous()
                .with_custom_certificate_verifier(recorder.clone())
                .with_no_client_auth()
        });
    let config = match config {
        Ok(config) => config,
        Err(error) => return failed(error.to_string()),
    };
    let stream = match TcpStream::connect(at).await {
        Ok(stream) => stream,
        Err(error) => return failed(format!("nothing listens on port {}: {error}", at.port())),
    };
    let name = ServerName::IpAddress(private_ip.into());
    if let Err(error) = TlsConnector::from(Arc::new(config)).connect(name, stream).await {
        return failed(format!("the TLS handshake failed: {error}"));
    }
    recorder.recorded()
}

fn failed(error: String) -> ServingCertificate {
    ServingCertificate {
        fingerprint: None,
        verified: false,
        error: Some(error),
    }
}

/// Accepts every certificate, and records it with the result of the real verifier.
#[derive(Debug)]
struct CertificateRecorder {
    verifier: Arc<WebPkiServerVerifier>,
    seen: Mutex<ServingCertificate>,
}

impl CertificateRecorder {
    fn new(cluster_ca_pem: &str, provider: &Arc<CryptoProvider>) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(cluster_ca_pem.as_bytes()) {
            let certificate = certificate.map_err(|error| error.to_string())?;
            roots.add(certificate).map_err(|error| error.to_string())?;
        }
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Self {
            verifier,
            seen: Mutex::new(ServingCertificate::default()),
        })
    }

    fn recorded(&self) -> ServingCertificate {
        self.seen.lock().map(|seen| seen.clone()).unwrap_or_default()
    }
}

impl ServerCertVerifier for CertificateRecorder {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let judged =
            self.verifier
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
        self.verifier.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}

fn in_words(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "not signed by the cluster's CA".to_owned()
        }
        other => other.to_string(),
    }
}
