//! The keys that the identity document is signed with: made once a process, because they take a moment.

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

/// A key that can sign, and how its signatures are called.
pub(super) enum Key {
    /// RSA over SHA-256.
    Rsa(Box<pkcs1v15::SigningKey<Sha256>>),
    /// DSA over SHA-1.
    Dsa(Box<dsa::SigningKey>),
}

/// The keys of all three signatures.
pub(super) struct Keys {
    /// Of `signature`, 1024 bits.
    pub(super) bare: Key,
    /// Of `pkcs7`, 1024 bits.
    pub(super) dsa: Key,
    /// Of `rsa2048`.
    pub(super) rsa2048: Key,
}

/// The keys of this process.
pub(super) fn keys() -> &'static Keys {
    static KEYS: OnceLock<Keys> = OnceLock::new();
    KEYS.get_or_init(|| Keys {
        bare: Key::rsa(1024),
        dsa: Key::dsa(),
        rsa2048: Key::rsa(2048),
    })
}

impl Key {
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

    /// The signature of a message.
    pub(super) fn sign(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Rsa(key) => key.sign(message).to_vec(),
            Self::Dsa(key) => {
                let signed = key.sign_prehash(&Sha1::digest(message));
                let signature: dsa::Signature =
                    signed.expect("a digest of SHA-1 is as long as the key takes");
                signature.to_vec()
            }
        }
    }

    /// The digest that the signature is over.
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

    /// `AlgorithmIdentifier` of the signature in a PKCS 7 structure: the key's own for RSA.
    pub(super) fn encryption_algorithm(&self) -> Vec<u8> {
        match self {
            Self::Rsa(_) => der::sequence(&[&der::oid(&[1, 2, 840, 113_549, 1, 1, 1]), &der::null()]),
            Self::Dsa(_) => self.signature_algorithm(),
        }
    }
}
