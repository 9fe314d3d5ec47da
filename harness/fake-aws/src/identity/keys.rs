//! The keys that sign the identity document. Generating them takes seconds, so that a process does it once.

use std::sync::OnceLock;

use dsa::signature::SignatureEncoding as _;
use dsa::signature::hazmat::PrehashSigner as _;
use rsa::RsaPrivateKey;
use rsa::pkcs1v15;
use rsa::pkcs8::EncodePublicKey as _;
use rsa::signature::Signer as _;
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

use super::der;

/// A signing key and the algorithms of its signatures.
pub(super) enum IdentityKey {
    /// RSA over SHA-256.
    Rsa(Box<pkcs1v15::SigningKey<Sha256>>),
    /// DSA over SHA-1.
    Dsa(Box<dsa::SigningKey>),
}

/// The keys of the three signatures.
pub(super) struct IdentityKeys {
    /// For `signature`: 1024 bits.
    pub(super) bare: IdentityKey,
    /// For `pkcs7`: 1024 bits.
    pub(super) dsa: IdentityKey,
    pub(super) rsa2048: IdentityKey,
}

/// The keys of this process.
pub(super) fn keys() -> &'static IdentityKeys {
    static KEYS: OnceLock<IdentityKeys> = OnceLock::new();
    KEYS.get_or_init(|| IdentityKeys {
        bare: IdentityKey::rsa(1024),
        dsa: IdentityKey::dsa(),
        rsa2048: IdentityKey::rsa(2048),
    })
}

impl IdentityKey {
    fn rsa(bits: usize) -> Self {
        let key = RsaPrivateKey::new(&mut rsa::rand_core::OsRng, bits).expect("RSA has keys of this size");
        Self::Rsa(Box::new(pkcs1v15::SigningKey::new(key)))
    }

    fn dsa() -> Self {
        let mut rng = rsa::rand_core::OsRng;
        #[expect(deprecated, reason = "AWS signs with a key of this size")]
        let components = dsa::Components::generate(&mut rng, dsa::KeySize::DSA_1024_160);
        Self::Dsa(Box::new(dsa::SigningKey::generate(&mut rng, components)))
    }

    pub(super) fn sign(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Rsa(key) => key.sign(message).to_vec(),
            Self::Dsa(key) => {
                let request_signature = key.sign_prehash(&Sha1::digest(message));
                let signature: dsa::Signature =
                    request_signature.expect("a digest of SHA-1 is as long as the key takes");
                signature.to_vec()
            }
        }
    }

    /// The digest that a signature covers.
    pub(super) fn digest(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Rsa(_) => Sha256::digest(message).to_vec(),
            Self::Dsa(_) => Sha1::digest(message).to_vec(),
        }
    }

    /// `SubjectPublicKeyInfo`.
    pub(super) fn public(&self) -> Vec<u8> {
        let document = match self {
            Self::Rsa(key) => {
                let private: &RsaPrivateKey = (**key).as_ref();
                private.to_public_key().to_public_key_der()
            }
            Self::Dsa(key) => key.verifying_key().to_public_key_der(),
        };
        document.expect("a public key can be written").into_vec()
    }

    /// `AlgorithmIdentifier` of the digest.
    pub(super) fn digest_algorithm(&self) -> Vec<u8> {
        match self {
            Self::Rsa(_) => der::sequence(&[&der::oid(&[2, 16, 840, 1, 101, 3, 4, 2, 1]), &der::null()]),
            Self::Dsa(_) => der::sequence(&[&der::oid(&[1, 3, 14, 3, 2, 26]), &der::null()]),
        }
    }

    /// `AlgorithmIdentifier` of a certificate's signature.
    pub(super) fn signature_algorithm(&self) -> Vec<u8> {
        match self {
            Self::Rsa(_) => der::sequence(&[&der::oid(&[1, 2, 840, 113_549, 1, 1, 11]), &der::null()]),
            Self::Dsa(_) => der::sequence(&[&der::oid(&[1, 2, 840, 10_040, 4, 3])]),
        }
    }

    /// `AlgorithmIdentifier` of the signature in a PKCS 7 structure; for RSA, that of the key.
    pub(super) fn encryption_algorithm(&self) -> Vec<u8> {
        match self {
            Self::Rsa(_) => der::sequence(&[&der::oid(&[1, 2, 840, 113_549, 1, 1, 1]), &der::null()]),
            Self::Dsa(_) => self.signature_algorithm(),
        }
    }
}
