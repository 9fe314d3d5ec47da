//! Whether a value is the base64 of a whole certificate, as the programs of a node decode it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::mime::decode_base64;

pub(super) const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
pub(super) const END: &str = "-----END CERTIFICATE-----";

/// Whether base64 without line breaks is a whole certificate in PEM; `None` if it is none.
///
/// `base64 -d` of Amazon Linux, Go (nodeadm) and Bottlerocket reject base64 without its padding, which a double click
/// leaves behind.
pub(super) fn is_whole_certificate(value: &str) -> Option<bool> {
    let decoded = decode_base64(value.as_bytes())?;
    let text = decoded.trim_ascii_start();
    let has_end = || text.windows(END.len()).any(|part| part == END.as_bytes());
    let begins = text.starts_with(BEGIN.as_bytes());
    begins.then(|| has_end() && STANDARD.decode(value).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_without_its_end_or_its_padding_is_not_whole() {
        let pem = |last: &str| format!("{BEGIN}\nTUlJQy9q\n{END}{last}");
        let padded = STANDARD.encode(pem("\n\n\n"));
        assert!(padded.ends_with("o="), "{padded}");
        assert_eq!(is_whole_certificate(&padded), Some(true));
        assert_eq!(is_whole_certificate(padded.trim_end_matches('=')), Some(false));
        assert_eq!(is_whole_certificate(padded.trim_end_matches("o=")), Some(false));
        let without_padding = STANDARD.encode(pem("\n"));
        assert!(!without_padding.ends_with('='), "{without_padding}");
        assert_eq!(is_whole_certificate(&without_padding), Some(true));
        let cut = STANDARD.encode(&pem("")[..40]);
        assert_eq!(is_whole_certificate(&cut), Some(false));
        assert_eq!(
            is_whole_certificate(&STANDARD.encode("join --b64-cluster-ca")),
            None
        );
    }
}
