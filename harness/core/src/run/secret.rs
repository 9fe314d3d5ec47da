//! Credentials that must not reach a log or a report.

use std::fmt;

/// A credential or a file that contains one. `Debug` and `Display` hide it; only [`Secret::reveal`] returns it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text, for the request or file that needs it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[hidden]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_printed() {
        let secret = Secret::new("wJalrXUtnFEMI".to_owned());
        assert_eq!(format!("{secret:?} {secret}"), "Secret(..) [hidden]");
        assert_eq!(secret.reveal(), "wJalrXUtnFEMI");
    }
}
