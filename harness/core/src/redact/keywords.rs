//! Credentials next to words that announce them.

use super::credential::{CredentialKind, FoundCredential};

/// A word and the format of the credential next to it.
pub(super) struct RedactionRule {
    kind: CredentialKind,
    word: &'static str,
    format: CredentialFormat,
}

enum CredentialFormat {
    /// The credential starts right after the word.
    Adjacent,
    /// The word is the start of the credential.
    Included,
    /// The word is a key, separated from its value by quotes, blanks and `:` or `=`.
    Value,
    /// The word is a key in quotes or at the start of a line; elsewhere the word is too common.
    ValueOfQuoted,
}

const fn rule(kind: CredentialKind, word: &'static str, format: CredentialFormat) -> RedactionRule {
    RedactionRule { kind, word, format }
}

/// Minimum length of a credential.
const MIN_LENGTH: usize = 8;

pub(super) const RULES: &[RedactionRule] = &[
    rule(
        CredentialKind::AuthenticatorToken,
        "k8s-aws-v1.",
        CredentialFormat::Adjacent,
    ),
    rule(
        CredentialKind::Authorization,
        "bearer ",
        CredentialFormat::Adjacent,
    ),
    rule(
        CredentialKind::Authorization,
        "basic ",
        CredentialFormat::Adjacent,
    ),
    rule(
        CredentialKind::SecretAccessKey,
        "secretaccesskey",
        CredentialFormat::Value,
    ),
    rule(
        CredentialKind::SecretAccessKey,
        "aws_secret_access_key",
        CredentialFormat::Value,
    ),
    rule(
        CredentialKind::SecretAccessKey,
        "aws_secret_key",
        CredentialFormat::Value,
    ),
    rule(
        CredentialKind::SessionToken,
        "sessiontoken",
        CredentialFormat::Value,
    ),
    rule(
        CredentialKind::SessionToken,
        "aws_session_token",
        CredentialFormat::Value,
    ),
    rule(
        CredentialKind::SessionToken,
        "aws_security_token",
        CredentialFormat::Value,
    ),
    rule(
        CredentialKind::SessionToken,
        "x-amz-security-token",
        CredentialFormat::Value,
    ),
    rule(
        CredentialKind::SessionToken,
        "x-aws-ec2-metadata-token",
        CredentialFormat::Value,
    ),
    rule(
        CredentialKind::SessionToken,
        "IQoJb3JpZ2lu",
        CredentialFormat::Included,
    ),
    rule(
        CredentialKind::SessionToken,
        "FwoGZXIvYXdz",
        CredentialFormat::Included,
    ),
    rule(CredentialKind::SessionToken, "AQAEA", CredentialFormat::Included),
    rule(
        CredentialKind::Signature,
        "x-amz-signature",
        CredentialFormat::Value,
    ),
    rule(CredentialKind::Signature, "signature", CredentialFormat::Value),
    rule(
        CredentialKind::PrivateKey,
        "client-key-data",
        CredentialFormat::Value,
    ),
    // The start of `-----BEGIN [RSA |EC ]PRIVATE KEY-----` in base64.
    rule(
        CredentialKind::PrivateKey,
        "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS",
        CredentialFormat::Included,
    ),
    rule(
        CredentialKind::PrivateKey,
        "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVkt",
        CredentialFormat::Included,
    ),
    rule(
        CredentialKind::PrivateKey,
        "LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS",
        CredentialFormat::Included,
    ),
    rule(
        CredentialKind::Password,
        "authorizationtoken",
        CredentialFormat::Value,
    ),
    // The password of ECR, on command lines in the log of sudo and in the output of scripts: a JSON document in base64
    // that starts with `{"payload` or `{"datakey`; also base64 of `AWS:` and the password.
    rule(
        CredentialKind::Password,
        "--user aws:",
        CredentialFormat::Adjacent,
    ),
    rule(
        CredentialKind::Password,
        "eyJwYXlsb2Fk",
        CredentialFormat::Included,
    ),
    rule(
        CredentialKind::Password,
        "eyJkYXRha2V5",
        CredentialFormat::Included,
    ),
    rule(CredentialKind::Password, "QVdTOmV5", CredentialFormat::Included),
    rule(CredentialKind::Password, "password", CredentialFormat::Value),
    rule(CredentialKind::Password, "token", CredentialFormat::ValueOfQuoted),
];

impl RedactionRule {
    pub(super) fn find(&self, text: &str, lower: &str, found: &mut Vec<FoundCredential>) {
        let searched = if matches!(self.format, CredentialFormat::Included) {
            text
        } else {
            lower
        };
        let mut from = 0;
        while let Some(at) = searched[from..].find(self.word) {
            let start = from + at;
            let end = start + self.word.len();
            from = end;
            let Some(begin) = self.begin(text, start, end) else {
                continue;
            };
            let range = begin..begin + run(&text[begin..]);
            if range.len() >= self.shortest() && self.is_credential(&text[range.clone()]) {
                from = range.end;
                found.push(FoundCredential {
                    kind: self.kind,
                    range,
                });
            }
        }
    }

    /// The start of the credential, if one follows the word.
    fn begin(&self, text: &str, start: usize, end: usize) -> Option<usize> {
        match self.format {
            CredentialFormat::Adjacent => Some(end),
            CredentialFormat::Included => Some(start),
            CredentialFormat::Value => value(text, end),
            CredentialFormat::ValueOfQuoted => {
                let line = text[..start].rsplit('\n').next().unwrap_or_default();
                let is_key = line.ends_with(['"', '\'']) || line.trim_start_matches([' ', '-']).is_empty();
                if is_key { value(text, end) } else { None }
            }
        }
    }

    /// Prefixes such as `AQAEA` occur in other words, but credentials with them are long.
    fn shortest(&self) -> usize {
        if matches!(self.format, CredentialFormat::Included) {
            self.word.len().max(MIN_LENGTH) + 8
        } else {
            MIN_LENGTH
        }
    }

    /// Words after `Bearer` and the like are not credentials unless they have digits or are long.
    fn is_credential(&self, run: &str) -> bool {
        match self.kind {
            CredentialKind::Authorization | CredentialKind::Password => {
                run.len() >= 20 || run.bytes().any(|byte| byte.is_ascii_digit())
            }
            CredentialKind::Signature => run.len() >= 16,
            _ => true,
        }
    }
}

/// The start of the value of a key: after quotes (also escaped ones), blanks, and one `:`, `=` or `%3D`.
fn value(text: &str, end: usize) -> Option<usize> {
    let quotes = |text: &str| text.len() - text.trim_start_matches(['"', '\'', '\\', ' ', '\t']).len();
    let separator = end + quotes(&text[end..]);
    let rest = &text[separator..];
    let length = [":", "=", "%3D", "%3d"]
        .iter()
        .find(|s| rest.starts_with(**s))
        .map(|s| s.len())?;
    let after = separator + length;
    Some(after + quotes(&text[after..]))
}

/// Length of the characters that a credential may contain.
fn run(text: &str) -> usize {
    text.bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"+/=_-.~%".contains(byte))
        .count()
}
