//! Expressions of CEL: the types of their values, and why one has no number of pods.

use std::fmt;

/// The types of values that nodejoin computes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CelType {
    Int,
    Uint,
    Double,
    Bool,
}

impl fmt::Display for CelType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::Bool => "bool",
        })
    }
}

/// Why an expression has no number of pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoPods {
    /// nodeadm cannot evaluate it, and takes the standard number.
    Rejected(String),
    /// Only nodeadm itself evaluates it.
    NotEvaluated(String),
}
