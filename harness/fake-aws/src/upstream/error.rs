//! Failures of the exchange with an emulator.

use std::io;
use std::time::Duration;

/// The exchange with the emulator failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum UpstreamError {
    #[error(transparent)]
    Connect(#[from] io::Error),
    #[error("the TLS handshake failed: {0}")]
    Tls(io::Error),
    #[error("TLS cannot be configured: {0}")]
    TlsConfiguration(#[from] rustls::Error),
    #[error("it does not speak HTTP: {0}")]
    Http(#[from] hyper::Error),
    #[error("the request is not valid: {0}")]
    Request(#[from] http::Error),
    #[error("the response has more than {0} bytes")]
    TooLarge(usize),
    #[error("no response within {} seconds", .0.as_secs())]
    Timeout(Duration),
}
