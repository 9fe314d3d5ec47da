//! Signatures of the instance identity document, and the certificates that they verify by.
//!
//! | path | key | verified by |
//! | --- | --- | --- |
//! | `signature` | RSA of 1024 bits, SHA-256, bare | `openssl dgst -sha256 -verify` |
//! | `pkcs7` | DSA of 1024 bits, SHA-1, PKCS 7 with the document inside | `openssl smime -verify -noverify -certfile` |
//! | `rsa2048` | RSA of 2048 bits, SHA-256, PKCS 7 with the document inside | the same |
//!
//! Real: algorithms, sizes and structures, as EC2's user guide has them under "Verify the instance identity document". Faked:
//! AWS has one set of certificates a region and publishes them; here they belong to this process. What would show it: AWS' own
//! certificates verify none of these.

mod der;
mod keys;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest as _, Sha256};
use time::{Duration, OffsetDateTime};

use self::keys::{Key, keys};
use crate::services::imds::tree::Proof;

/// The certificates of the keys that identity documents are signed with, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityCertificates {
    /// Of `signature`.
    pub rsa: String,
    /// Of `pkcs7`.
    pub dsa: String,
    /// Of `rsa2048`.
    pub rsa2048: String,
}

/// The certificates of this process.
#[must_use]
pub fn certificates() -> IdentityCertificates {
    IdentityCertificates {
        rsa: pem(&certificate(key(Proof::Signature))),
        dsa: pem(&certificate(key(Proof::Pkcs7))),
        rsa2048: pem(&certificate(key(Proof::Rsa2048))),
    }
}

/// Makes the keys if nobody has yet. Takes a moment: call it where nobody waits.
pub fn make_keys() {
    keys();
}

/// A proof of a document, as the metadata service gives it: base64 in lines of 76 characters. The same for the same document and
/// time.
#[must_use]
pub fn prove(proof: Proof, document: &str, time: OffsetDateTime) -> String {
    let key = key(proof);
    let bytes = match proof {
        Proof::Signature => key.sign(document.as_bytes()),
        Proof::Pkcs7 | Proof::Rsa2048 => pkcs7(key, document.as_bytes(), time),
    };
    lines(&bytes)
}

fn key(proof: Proof) -> &'static Key {
    match proof {
        Proof::Signature => &keys().bare,
        Proof::Pkcs7 => &keys().dsa,
        Proof::Rsa2048 => &keys().rsa2048,
    }
}

/// `ContentInfo` around `SignedData` (RFC 2315) with the content inside and no certificate: a verifier brings its own.
fn pkcs7(key: &Key, content: &[u8], time: OffsetDateTime) -> Vec<u8> {
    let data = oid_of_pkcs7(1);
    let inside = der::tagged(0, &der::octets(content));
    let signed = der::sequence(&[
        &der::integer(&[1]),
        &der::set(vec![key.digest_algorithm()]),
        &der::sequence(&[&data, &inside]),
        &der::set(vec![signer(key, content, time)]),
    ]);
    der::sequence(&[&oid_of_pkcs7(2), &der::tagged(0, &signed)])
}

/// `SignerInfo`: the signature is over the attributes, of which one is the content's digest.
fn signer(key: &Key, content: &[u8], time: OffsetDateTime) -> Vec<u8> {
    let attribute = |number, value| der::sequence(&[&oid_of_pkcs9(number), &der::set(vec![value])]);
    let attributes = vec![
        attribute(3, oid_of_pkcs7(1)),
        attribute(4, der::octets(&key.digest(content))),
        attribute(5, der::time(time)),
    ];
    let attributes = der::sorted(attributes);
    // Signed as the SET that they are, written under a tag of their own.
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

/// A certificate that a key gives itself: X.509 version 1, as AWS' own are.
fn certificate(key: &Key) -> Vec<u8> {
    let begins = OffsetDateTime::UNIX_EPOCH;
    // The latest year that UTCTime has, less one: AWS' own certificates live for centuries.
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

/// The same for the same key.
fn serial(key: &Key) -> Vec<u8> {
    let mut bytes = Sha256::digest(key.public())[..8].to_vec();
    // Positive, and without a leading zero that DER would not have.
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
