//! Credentials that their format gives away.

use super::credential::{CredentialKind, FoundCredential};

pub(super) fn private_keys(text: &str, found: &mut Vec<FoundCredential>) {
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
pub(super) fn bootstrap_tokens(text: &str, found: &mut Vec<FoundCredential>) {
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
pub(super) fn bare_secret_keys(text: &str, found: &mut Vec<FoundCredential>) {
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
