//! Takes credentials out of texts before they reach a report or a file, and finds those that stayed in.

use std::ops::Range;

/// A kind of credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A token of the IAM authenticator, `k8s-aws-v1.`.
    AuthenticatorToken,
    /// The value of an `Authorization` header.
    Authorization,
    /// An AWS secret access key.
    SecretAccessKey,
    /// A session token of temporary AWS credentials, or of the metadata service.
    SessionToken,
    /// The signature of a request to AWS.
    Signature,
    /// A private key.
    PrivateKey,
    /// The secret half of a bootstrap token.
    BootstrapToken,
    /// The value of a key that holds a password or a token.
    Password,
}

/// A credential in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// What it is.
    pub kind: Kind,
    /// Where it stands, in bytes.
    pub range: Range<usize>,
}

/// The text without its credentials: `<redacted>` stands for each.
#[must_use]
pub fn redact(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut end = 0;
    for Secret { range, .. } in find_secrets(text) {
        if range.start >= end {
            clean.push_str(&text[end..range.start]);
            clean.push_str("<redacted>");
        }
        end = end.max(range.end);
    }
    clean.push_str(&text[end..]);
    clean
}

/// The credentials in a text, in their order. A text that went through [`redact`] has none.
#[must_use]
pub fn find_secrets(text: &str) -> Vec<Secret> {
    let mut found = Vec::new();
    // Lower case in ASCII only, so that places stay the same.
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

/// A word, and the run of characters after it that is the credential.
struct Rule {
    kind: Kind,
    word: &'static str,
    shape: Shape,
}

enum Shape {
    /// The run begins right after the word.
    Adjacent,
    /// The word is part of the run.
    Included,
    /// A key: quotes, blanks and `:` or `=` stand between it and its value.
    Value,
    /// The same, and the key itself stands in quotes or at the start of a line: the word alone is too common.
    ValueOfQuoted,
}

const fn rule(kind: Kind, word: &'static str, shape: Shape) -> Rule {
    Rule { kind, word, shape }
}

/// Shortest run that is taken for a credential.
const SHORTEST: usize = 8;

const RULES: &[Rule] = &[
    rule(Kind::AuthenticatorToken, "k8s-aws-v1.", Shape::Adjacent),
    rule(Kind::Authorization, "bearer ", Shape::Adjacent),
    rule(Kind::Authorization, "basic ", Shape::Adjacent),
    rule(Kind::SecretAccessKey, "secretaccesskey", Shape::Value),
    rule(Kind::SecretAccessKey, "aws_secret_access_key", Shape::Value),
    rule(Kind::SecretAccessKey, "aws_secret_key", Shape::Value),
    rule(Kind::SessionToken, "sessiontoken", Shape::Value),
    rule(Kind::SessionToken, "aws_session_token", Shape::Value),
    rule(Kind::SessionToken, "aws_security_token", Shape::Value),
    rule(Kind::SessionToken, "x-amz-security-token", Shape::Value),
    rule(Kind::SessionToken, "x-aws-ec2-metadata-token", Shape::Value),
    rule(Kind::SessionToken, "IQoJb3JpZ2lu", Shape::Included),
    rule(Kind::SessionToken, "FwoGZXIvYXdz", Shape::Included),
    rule(Kind::SessionToken, "AQAEA", Shape::Included),
    rule(Kind::Signature, "x-amz-signature", Shape::Value),
    rule(Kind::Signature, "signature", Shape::Value),
    rule(Kind::PrivateKey, "client-key-data", Shape::Value),
    // The start of `-----BEGIN [RSA |EC ]PRIVATE KEY-----` in base64.
    rule(
        Kind::PrivateKey,
        "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS",
        Shape::Included,
    ),
    rule(
        Kind::PrivateKey,
        "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVkt",
        Shape::Included,
    ),
    rule(
        Kind::PrivateKey,
        "LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS",
        Shape::Included,
    ),
    rule(Kind::Password, "authorizationtoken", Shape::Value),
    // ECR's password, on command lines that sudo logs and where a script prints it: a JSON document in base64, that begins
    // with `{"payload` or `{"datakey`; and the same behind `AWS:` in base64 again.
    rule(Kind::Password, "--user aws:", Shape::Adjacent),
    rule(Kind::Password, "eyJwYXlsb2Fk", Shape::Included),
    rule(Kind::Password, "eyJkYXRha2V5", Shape::Included),
    rule(Kind::Password, "QVdTOmV5", Shape::Included),
    rule(Kind::Password, "password", Shape::Value),
    rule(Kind::Password, "token", Shape::ValueOfQuoted),
];

impl Rule {
    fn find(&self, text: &str, lower: &str, found: &mut Vec<Secret>) {
        let searched = if matches!(self.shape, Shape::Included) {
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
                found.push(Secret {
                    kind: self.kind,
                    range,
                });
            }
        }
    }

    /// Where the credential begins, if one follows the word.
    fn begin(&self, text: &str, start: usize, end: usize) -> Option<usize> {
        match self.shape {
            Shape::Adjacent => Some(end),
            Shape::Included => Some(start),
            Shape::Value => value(text, end),
            Shape::ValueOfQuoted => {
                let line = text[..start].rsplit('\n').next().unwrap_or_default();
                let is_key = line.ends_with(['"', '\'']) || line.trim_start_matches([' ', '-']).is_empty();
                if is_key { value(text, end) } else { None }
            }
        }
    }

    /// A start such as `AQAEA` may stand in other words; what it starts as a credential is long.
    fn shortest(&self) -> usize {
        if matches!(self.shape, Shape::Included) {
            self.word.len().max(SHORTEST) + 8
        } else {
            SHORTEST
        }
    }

    /// Words after `Bearer` and the like are not credentials: those have digits, or are long.
    fn is_credential(&self, run: &str) -> bool {
        match self.kind {
            Kind::Authorization | Kind::Password => {
                run.len() >= 20 || run.bytes().any(|byte| byte.is_ascii_digit())
            }
            Kind::Signature => run.len() >= 16,
            _ => true,
        }
    }
}

/// Where the value after a key begins: past quotes (also escaped ones), blanks, and one `:`, `=` or `%3D`.
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

/// Length of the run of characters that a credential can have.
fn run(text: &str) -> usize {
    text.bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"+/=_-.~%".contains(byte))
        .count()
}

fn private_keys(text: &str, found: &mut Vec<Secret>) {
    const LABEL: &str = "PRIVATE KEY-----";
    let mut from = 0;
    while let Some(at) = text[from..].find(LABEL) {
        let start = from + at + LABEL.len();
        let is_begin = text[..start]
            .rfind("-----BEGIN ")
            .is_some_and(|begin| start - begin < 60);
        // Without an end the key goes on in what follows, so all of the rest goes.
        let end = text[start..]
            .find("-----END ")
            .map_or(text.len(), |end| start + end);
        let is_hidden = text[start..end].trim_matches(['\n', '\r', '\\', 'n', ' ']) == "<redacted>";
        if is_begin && !is_hidden && end > start {
            found.push(Secret {
                kind: Kind::PrivateKey,
                range: start..end,
            });
        }
        from = if is_begin { end } else { start };
    }
}

/// `abcdef.0123456789abcdef`: the second half is the secret.
fn bootstrap_tokens(text: &str, found: &mut Vec<Secret>) {
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
            found.push(Secret {
                kind: Kind::BootstrapToken,
                range: dot + 1..dot + 17,
            });
        }
    }
}

/// A secret access key is 40 letters, digits, `/` and `+` in a mixture that neither a hash nor a path has.
fn bare_secret_keys(text: &str, found: &mut Vec<Secret>) {
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
            found.push(Secret {
                kind: Kind::SecretAccessKey,
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
    fn credentials_are_taken_out_and_only_they() {
        for (given, wanted) in HIDDEN {
            assert_eq!(redact(given), *wanted);
        }
    }

    #[test]
    fn what_was_redacted_has_no_secret_and_stays_as_it_is() {
        for (given, _) in HIDDEN {
            let clean = redact(given);
            assert_eq!(find_secrets(&clean), [], "{clean}");
            assert_eq!(redact(&clean), clean);
            assert!(!find_secrets(given).is_empty());
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
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
