//! The hash that names an image.

use sha2::{Digest as _, Sha256};

/// Part of every hash; changed when the same recipe yields another image.
const GENERATION: &str = "1";

/// A hash over texts, each preceded by its length so that their boundaries count.
pub(crate) struct ContentHash(Sha256);

impl ContentHash {
    pub(crate) fn new(kind: &str) -> Self {
        let mut hash = Self(Sha256::new());
        hash.add(GENERATION).add(kind);
        hash
    }

    pub(crate) fn add(&mut self, text: &str) -> &mut Self {
        self.add_bytes(text.as_bytes())
    }

    pub(crate) fn add_bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
        self
    }

    /// The first twelve digits, which are the tag of an image.
    pub(crate) fn short(self) -> String {
        hex::encode(&self.0.finalize()[..6])
    }
}
