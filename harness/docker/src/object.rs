//! The kinds of objects that carry labels in the engine.

use std::fmt;

/// A kind of object in the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    Container,
    Network,
    Volume,
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Container => "container",
            Self::Network => "network",
            Self::Volume => "volume",
        })
    }
}
