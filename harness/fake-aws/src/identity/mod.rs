//! Signatures of the instance identity document, and the certificates that they verify by.
//!
//! | path | key | verified by |
//! | --- | --- | --- |
//! | `signature` | RSA of 1024 bits, SHA-256, bare | `openssl dgst -sha256 -verify` |
//! | `pkcs7` | DSA of 1024 bits, SHA-1, PKCS 7 with the document | `openssl smime -verify -noverify -certfile` |
//! | `rsa2048` | RSA of 2048 bits, SHA-256, PKCS 7 with the document | `openssl smime -verify -noverify -certfile` |
//!
//! Real: algorithms, sizes and structures, from EC2's user guide, "Verify the instance identity document". Faked: AWS
//! publishes one set of certificates per region; here they belong to this process, so that AWS' own certificates do not
//! verify the signatures.

mod der;
mod keys;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest as _, Sha256};
use time::{Duration, OffsetDateTime};

use self::keys::{IdentityKey, keys};

/// The signatures of the identity document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DocumentSignature {
    /// `signature`: RSA of 1024 bits, bare.
    Signature,
    /// `pkcs7`: a PKCS 7 structure, signed with DSA.
    Pkcs7,
    /// `rsa2048`: a PKCS 7 structure, signed with RSA of 2048 bits.
    Rsa2048,
}

/// The certificates for the signatures of identity documents, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityCertificates {
    /// For `signature`.
    pub rsa: String,
    /// For `pkcs7`.
    pub dsa: String,
    /// For `rsa2048`.
    pub rsa2048: String,
}

/// The certificates of this process.
#[must_use]
pub fn certificates() -> IdentityCertificates {
    IdentityCertificates {
        rsa: pem(&certificate(key(DocumentSignature::Signature))),
        dsa: pem(&certificate(key(DocumentSignature::Pkcs7))),
        rsa2048: pem(&certificate(key(DocumentSignature::Rsa2048))),
    }
}

/// Generates the keys unless they exist. Takes seconds: call it in the background.
pub fn make_keys() {
    keys();
}

/// Signs a document, in the metadata service's format: base64 in lines of 76 characters. Deterministic for RSA.
#[must_use]
pub(crate) fn prove(proof: DocumentSignature, document: &str, time: OffsetDateTime) -> String {
    let key = key(proof);
    let bytes = match proof {
        DocumentSignature::Signature => key.sign(document.as_bytes()),
        DocumentSignature::Pkcs7 | DocumentSignature::Rsa2048 => pkcs7(key, document.as_bytes(), time),
    };
    lines(&bytes)
}

fn key(proof: DocumentSignature) -> &'static IdentityKey {
    match proof {
        DocumentSignature::Signature => &keys().bare,
        DocumentSignature::Pkcs7 => &keys().dsa,
        DocumentSignature::Rsa2048 => &keys().rsa2048,
    }
}

/// `ContentInfo` around `SignedData` (RFC 2315) with the content, without a certificate: a verifier has its own.
fn pkcs7(key: &IdentityKey, content: &[u8], time: OffsetDateTime) -> Vec<u8> {
    let data = oid_of_pkcs7(1);
    let inside = der::tagged(0, &der::octets(content));
    let request_signature = der::sequence(&[
        &der::integer(&[1]),
        &der::set(vec![key.digest_algorithm()]),
        &der::sequence(&[&data, &inside]),
        &der::set(vec![signer(key, content, time)]),
    ]);
    der::sequence(&[&oid_of_pkcs7(2), &der::tagged(0, &request_signature)])
}

/// `SignerInfo`: the signature covers the attributes, one of which is the content's digest.
fn signer(key: &IdentityKey, content: &[u8], time: OffsetDateTime) -> Vec<u8> {
    let attribute = |number, value| der::sequence(&[&oid_of_pkcs9(number), &der::set(vec![value])]);
    let attributes = vec![
        attribute(3, oid_of_pkcs7(1)),
        attribute(4, der::octets(&key.digest(content))),
        attribute(5, der::time(time)),
    ];
    let attributes = der::sorted(attributes);
    // The signature covers the tag SET; the structure contains another tag.
    let signature = key.sign(&der::element(0x31, &attributes));
    der::sequence(&[
        &der::integer(&[1]),
        &der::sequence(&[&name(), &serial(key)]),
        &key.digest_algorithm(),
        &der::tagged(0, &attributes),
        &key.encryption_algorithm(),
        &der::octets(&signature),
    ])
}

/// A self-signed certificate: X.509 version 1, as AWS' own.
fn certificate(key: &IdentityKey) -> Vec<u8> {
    let begins = OffsetDateTime::UNIX_EPOCH;
    // The last year of UTCTime, less one: AWS' own certificates are valid for centuries.
    let validity = der::sequence(&[&der::time(begins), &der::time(begins + Duration::days(79 * 365))]);
    let body = der::sequence(&[
        &serial(key),
        &key.signature_algorithm(),
        &name(),
        &validity,
        &name(),
        &key.public(),
    ]);
    let signature = key.sign(&body);
    der::sequence(&[&body, &key.signature_algorithm(), &der::bits(&signature)])
}

fn name() -> Vec<u8> {
    let common_name = der::oid(&[2, 5, 4, 3]);
    let value = der::sequence(&[&common_name, &der::text("nodejoin instance identity")]);
    der::sequence(&[&der::set(vec![value])])
}

/// The serial number of a key's certificate, derived from the key.
fn serial(key: &IdentityKey) -> Vec<u8> {
    let mut bytes = Sha256::digest(key.public())[..8].to_vec();
    // Positive, and without a leading zero, which DER forbids.
    bytes[0] = bytes[0] & 0x3f | 0x40;
    der::integer(&bytes)
}

fn oid_of_pkcs7(number: u32) -> Vec<u8> {
    der::oid(&[1, 2, 840, 113_549, 1, 7, number])
}

fn oid_of_pkcs9(number: u32) -> Vec<u8> {
    der::oid(&[1, 2, 840, 113_549, 1, 9, number])
}

fn lines(bytes: &[u8]) -> String {
    let encoded = BASE64_STANDARD.encode(bytes);
    let lines: Vec<String> = encoded
        .as_bytes()
        .chunks(76)
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect();
    lines.join("\n")
}

fn pem(certificate: &[u8]) -> String {
    format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
        lines(certificate)
    )
}
