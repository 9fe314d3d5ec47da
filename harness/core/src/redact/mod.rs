//! Removes credentials from texts before they reach a report or a file, and finds remaining ones.

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

/// The text with each credential replaced by `<redacted>`.
#[must_use]
pub fn redact(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut end = 0;
    for FoundCredential { range, .. } in find_credentials(text) {
        if range.start >= end {
            clean.push_str(&text[end..range.start]);
            clean.push_str("<redacted>");
        }
        end = end.max(range.end);
    }
    clean.push_str(&text[end..]);
    clean
}

/// The credentials in a text, in order. A text from [`redact`] has none.
#[must_use]
pub fn find_credentials(text: &str) -> Vec<FoundCredential> {
    let mut found = Vec::new();
    // Lower case in ASCII only, which keeps byte positions.
    let lower = text.to_ascii_lowercase();
    for rule in RULES {
        rule.find(text, &lower, &mut found);
    }
    private_keys(text, &mut found);
    bootstrap_tokens(text, &mut found);
    bare_secret_keys(text, &mut found);
    found.sort_by_key(|secret| (secret.range.start, secret.kind));
    found
}

/// A word and the format of the credential next to it.
struct RedactionRule {
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

const RULES: &[RedactionRule] = &[
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
    fn find(&self, text: &str, lower: &str, found: &mut Vec<FoundCredential>) {
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

fn private_keys(text: &str, found: &mut Vec<FoundCredential>) {
    const LABEL: &str = "PRIVATE KEY-----";
    let mut from = 0;
    while let Some(at) = text[from..].find(LABEL) {
        let start = from + at + LABEL.len();
        let is_begin = text[..start]
            .rfind("-----BEGIN ")
            .is_some_and(|begin| start - begin < 60);
        // Without an end marker the rest of the text may be part of the key.
        let end = text[start..]
            .find("-----END ")
            .map_or(text.len(), |end| start + end);
        let is_hidden = text[start..end].trim_matches(['\n', '\r', '\\', 'n', ' ']) == "<redacted>";
        if is_begin && !is_hidden && end > start {
            found.push(FoundCredential {
                kind: CredentialKind::PrivateKey,
                range: start..end,
            });
        }
        from = if is_begin { end } else { start };
    }
}

/// `abcdef.0123456789abcdef`: the second half is the secret.
fn bootstrap_tokens(text: &str, found: &mut Vec<FoundCredential>) {
    let bytes = text.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    for (dot, _) in text.match_indices('.') {
        if dot < 6 || dot + 17 > bytes.len() {
            continue;
        }
        let is_alone =
            (dot == 6 || !is_part(bytes[dot - 7])) && bytes.get(dot + 17).is_none_or(|byte| !is_part(*byte));
        let is_shaped = bytes[dot - 6..dot]
            .iter()
            .chain(&bytes[dot + 1..dot + 17])
            .all(|byte| is_word(*byte));
        if is_alone && is_shaped {
            found.push(FoundCredential {
                kind: CredentialKind::BootstrapToken,
                range: dot + 1..dot + 17,
            });
        }
    }
}

/// A secret access key has 40 letters, digits, `/` and `+`, in a mixture that hashes and paths do not have.
fn bare_secret_keys(text: &str, found: &mut Vec<FoundCredential>) {
    let is_key = |byte: u8| byte.is_ascii_alphanumeric() || b"+/".contains(&byte);
    let bytes = text.as_bytes();
    let mut start = 0;
    while start < bytes.len() {
        let length = bytes[start..].iter().take_while(|byte| is_key(**byte)).count();
        let run = &bytes[start..start + length];
        let has = |test: fn(&u8) -> bool| run.iter().filter(|byte| test(byte)).count() >= 2;
        let is_open = start > 0 && b"_-.".contains(&bytes[start - 1]);
        let is_closed = bytes
            .get(start + length)
            .is_none_or(|byte| !b"_-.=".contains(byte));
        if length == 40
            && !is_open
            && is_closed
            && has(u8::is_ascii_uppercase)
            && has(u8::is_ascii_lowercase)
            && has(u8::is_ascii_digit)
        {
            found.push(FoundCredential {
                kind: CredentialKind::SecretAccessKey,
                range: start..start + length,
            });
        }
        start += length.max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HIDDEN: &[(&str, &str)] = &[
        (
            "Authorization: Bearer k8s-aws-v1.aHR0cHM6Ly9zdHM",
            "Authorization: Bearer <redacted>",
        ),
        (
            "token k8s-aws-v1.aHR0cHM6Ly9zdHM ok",
            "token k8s-aws-v1.<redacted> ok",
        ),
        (
            "authorization: bearer abc123def456",
            "authorization: bearer <redacted>",
        ),
        (
            "Authorization: Basic QVdTOnBhc3N3b3Jk",
            "Authorization: Basic <redacted>",
        ),
        (
            r#"{"SecretAccessKey" : "abcdEFGH1234","Token":"IQoJx/12345678=="}"#,
            r#"{"SecretAccessKey" : "<redacted>","Token":"<redacted>"}"#,
        ),
        (
            r#"{\"SecretAccessKey\":\"abcdEFGH1234\"}"#,
            r#"{\"SecretAccessKey\":\"<redacted>\"}"#,
        ),
        (
            "AWS_SECRET_ACCESS_KEY=abcdEFGH1234/+ x",
            "AWS_SECRET_ACCESS_KEY=<redacted> x",
        ),
        (
            "aws_session_token = abcdEFGH1234\n",
            "aws_session_token = <redacted>\n",
        ),
        (
            "?X-Amz-Security-Token=IQoJ%2Fb3Jp&X-Amz-Signature=0123456789abcdef0&x=1",
            "?X-Amz-Security-Token=<redacted>&X-Amz-Signature=<redacted>&x=1",
        ),
        (
            "X-Amz-Security-Token%3DIQoJ12345",
            "X-Amz-Security-Token%3D<redacted>",
        ),
        (
            "AWS4-HMAC-SHA256 Credential=ASIA/x, Signature=0123456789abcdef0123",
            "AWS4-HMAC-SHA256 Credential=ASIA/x, Signature=<redacted>",
        ),
        (
            "curl -H 'X-aws-ec2-metadata-token: AQAEAx-12345'",
            "curl -H 'X-aws-ec2-metadata-token: <redacted>'",
        ),
        ("x IQoJb3JpZ2luX2VjEJz12345 y", "x <redacted> y"),
        (
            "TOKEN=AQAEALmJZ2Wv8kqX3tQp0Yt7cW1nB5hD9sF4gK6jL8mN0pQ2rS4tU==",
            "TOKEN=<redacted>",
        ),
        (
            "    client-key-data: LS0tLS1CRUdJTi\n",
            "    client-key-data: <redacted>\n",
        ),
        (
            "data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQ==",
            "data: <redacted>",
        ),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n",
            "-----BEGIN RSA PRIVATE KEY-----<redacted>-----END RSA PRIVATE KEY-----\n",
        ),
        (
            "-----BEGIN PRIVATE KEY-----\\nMIIE\\n",
            "-----BEGIN PRIVATE KEY-----<redacted>",
        ),
        ("--token abcdef.0123456789abcdef ", "--token abcdef.<redacted> "),
        ("    token: abcdefgh12345678\n", "    token: <redacted>\n"),
        (
            "COMMAND=/usr/bin/ctr image pull x/eks/pause:3.5 --user AWS:eyJkYXRha2V5IjoiIiwiZXhwaXJhdGlvbiI6MTc5==",
            "COMMAND=/usr/bin/ctr image pull x/eks/pause:3.5 --user AWS:<redacted>",
        ),
        (
            "ctr image pull --user AWS:abcdEFGH1234abcdEFGH x/eks/pause:3.5",
            "ctr image pull --user AWS:<redacted> x/eks/pause:3.5",
        ),
        (
            "docker login -u AWS -p eyJwYXlsb2FkIjoiRHo4TGtEa0RsY2xpbGJp host",
            "docker login -u AWS -p <redacted> host",
        ),
        (
            "auth = 'QVdTOmV5SmtZWFJoYTJWNUlqb2lJaXdpWlhod2FYSmg='",
            "auth = '<redacted>'",
        ),
        (r#""password": "hunter2hunter2""#, r#""password": "<redacted>""#),
        (
            "key wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPL3KE9 end",
            "key <redacted> end",
        ),
    ];

    #[test]
    fn only_credentials_are_redacted() {
        for (given, wanted) in HIDDEN {
            assert_eq!(redact(given), *wanted);
        }
    }

    #[test]
    fn redacted_texts_have_no_credentials_and_stay_unchanged() {
        for (given, _) in HIDDEN {
            let clean = redact(given);
            assert_eq!(find_credentials(&clean), [], "{clean}");
            assert_eq!(redact(&clean), clean);
            assert!(!find_credentials(given).is_empty());
        }
    }

    #[test]
    fn other_texts_stay_unchanged() {
        for text in [
            "",
            "invalid bearer token: expired",
            "Bearer authentication is off",
            "basic settings of x",
            "arn:aws:sts::111122223333:assumed-role/role/i-0b22a22eec53b9321 is not mapped",
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "commit 70041a226bb8ef5c51a229d587235551a2410eda",
            "ip-192-168-40-16.eu-west-1.compute.internal",
            "AKIAIOSFODNN7EXAMPLE",
            "arn:aws:elasticloadbalancing:eu-west-1:111122223333:loadbalancer/x",
            "ctr image pull --user AWS:",
            "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----",
            "the metadata token request: 200",
            "token: expired",
            "certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t",
            "\u{1f600} x-amz-signature \u{1f600}",
            "/var/lib/docker/overlay2/Abcd/merged/usr/lib/Xyz1234",
        ] {
            assert_eq!(redact(text), text);
        }
    }
}
