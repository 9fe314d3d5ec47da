//! The hash with which kubeadm pins the CA of a cluster: SHA-256 of the DER of its public key (RFC 7469,
//! `SubjectPublicKeyInfo`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

/// `sha256:` and 64 digits for the first certificate of a PEM text, as `--discovery-token-ca-cert-hash` expects; no
/// digits if the text is not a certificate.
pub(super) fn ca_cert_hash(pem: &str) -> String {
    let digits: String = der(pem)
        .as_deref()
        .and_then(public_key)
        .map(|key| {
            Sha256::digest(key)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect()
        })
        .unwrap_or_default();
    format!("sha256:{digits}")
}

fn der(pem: &str) -> Option<Vec<u8>> {
    let (_, rest) = pem.split_once("-----BEGIN CERTIFICATE-----")?;
    let (base64, _) = rest.split_once("-----END")?;
    STANDARD
        .decode(base64.split_whitespace().collect::<String>())
        .ok()
}

/// The public key of a certificate, with tag and length (RFC 5280, 4.1).
fn public_key(certificate: &[u8]) -> Option<&[u8]> {
    let (_, certificate, _) = element(certificate)?;
    let (_, to_be_signed, _) = element(certificate)?;
    // Skips version (absent in v1), serial number, signature algorithm, issuer, validity, subject.
    let is_versioned = *to_be_signed.first()? == VERSION;
    let mut rest = to_be_signed;
    for _ in 0..(5 + usize::from(is_versioned)) {
        rest = element(rest)?.2;
    }
    element(rest).map(|(element, ..)| element)
}

/// The first DER element, its content, and the rest.
fn element(der: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let first = usize::from(*der.get(1)?);
    let (length, header) = if first < 0x80 {
        (first, 2)
    } else {
        let bytes = der.get(2..2 + (first & 0x7f))?;
        let length = bytes.iter().try_fold(0_usize, |length, byte| {
            length.checked_mul(256)?.checked_add(usize::from(*byte))
        })?;
        (length, 2 + bytes.len())
    };
    let end = header.checked_add(length)?;
    Some((der.get(..end)?, der.get(header..end)?, &der[end..]))
}

const VERSION: u8 = 0xa0;

#[cfg(test)]
mod tests {
    use super::*;

    /// A certificate and its hash, both created by OpenSSL.
    const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\n\
        MIIBfjCCASWgAwIBAgIUKQj+jYXUJUST8j2KMWKnurbJLh8wCgYIKoZIzj0EAwIw\n\
        FTETMBEGA1UEAwwKa3ViZXJuZXRlczAeFw0yNjExMjExODU1MTNaFw0zNjExMTgx\n\
        ODU1MTNaMBUxEzARBgNVBAMMCmt1YmVybmV0ZXMwWTATBgcqhkjOPQIBBggqhkjO\n\
        PQMBBwNCAAT/xNwC8ysaQeC9IbqFchwuCjxobqxe3aCXC6Y8RWitx9kGubaMM+l6\n\
        lofuHmR9VwxuK0WRHlMg4EbSsV6R8chDo1MwUTAdBgNVHQ4EFgQUldU4XJdDkxX9\n\
        7eCTQtCgpU7I88IwHwYDVR0jBBgwFoAUldU4XJdDkxX97eCTQtCgpU7I88IwDwYD\n\
        VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNHADBEAiBMTmVTHMA9iJE4mEFWJiki\n\
        wep3v4Af500IEMYmAkibmwIgGUadKfNyyD2dxD6cUlnve+QJU3VWo922iONw5ING\n\
        8qU=\n\
        -----END CERTIFICATE-----";
    const HASH: &str = "sha256:ff68e155ed97f27f58cd27bf0002797524b1dc583c1ba9c1c29bcbf76b1434d3";

    #[test]
    fn the_hash_matches_openssl() {
        assert_eq!(ca_cert_hash(CERTIFICATE), HASH);
    }

    #[test]
    fn an_invalid_certificate_has_no_hash() {
        let short = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----";
        let endless = format!(
            "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----",
            STANDARD.encode([0x30, 0x8f, 0xff, 0xff])
        );
        for pem in ["", "PEM", short, &endless] {
            assert_eq!(ca_cert_hash(pem), "sha256:", "{pem}");
        }
    }
}
