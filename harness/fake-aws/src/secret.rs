//! Text that must not appear in a log.

use std::fmt;

/// A credential. `Debug` and `Display` hide it; only [`Secret::reveal`] returns it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    /// Hides a text.
    #[must_use]
    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }

    /// The text itself, for the one place that needs it.
    #[must_use]
    pub(crate) fn reveal(&self) -> &str {
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
        assert!(!format!("{secret:?} {secret}").contains("wJalr"));
        assert_eq!(secret.reveal(), "wJalrXUtnFEMI");
    }
}
