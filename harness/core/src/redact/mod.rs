//! Removes credentials from texts before they reach a report or a file, and finds remaining ones.

mod credential;
mod formats;
mod key_lines;
mod keywords;
#[cfg(test)]
mod tests;

pub use credential::{CredentialKind, FoundCredential};
pub use key_lines::KeyLines;

use formats::{bare_secret_keys, bootstrap_tokens, private_keys};
use keywords::RULES;

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

/// [`redact`] that keeps the numbers of lines: a credential of several lines leaves its line breaks.
#[must_use]
pub fn redact_lines(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut end = 0;
    for FoundCredential { range, .. } in find_credentials(text) {
        if range.end <= end {
            continue;
        }
        if range.start >= end {
            clean.push_str(&text[end..range.start]);
            clean.push_str("<redacted>");
        }
        let breaks = text[end.max(range.start)..range.end].matches('\n').count();
        clean.extend(std::iter::repeat_n('\n', breaks));
        end = range.end;
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
