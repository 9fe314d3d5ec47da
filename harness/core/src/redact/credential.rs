//! A credential in a text, and its type.

use std::ops::Range;

/// The type of a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CredentialKind {
    /// A token of the IAM authenticator, `k8s-aws-v1.`.
    AuthenticatorToken,
    /// The value of an `Authorization` header.
    Authorization,
    /// An AWS secret access key.
    SecretAccessKey,
    /// A session token of temporary AWS credentials or of the metadata service.
    SessionToken,
    /// The signature of a request to AWS.
    Signature,
    /// A private key.
    PrivateKey,
    /// The secret half of a bootstrap token.
    BootstrapToken,
    /// The value of a key that contains a password or a token.
    Password,
}

/// A credential in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundCredential {
    pub kind: CredentialKind,
    /// Byte range.
    pub range: Range<usize>,
}
