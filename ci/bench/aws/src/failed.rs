//! Why a measurement ended.

/// Any error: a measurement that cannot be taken ends the program.
pub(crate) type Failed = Box<dyn std::error::Error + Send + Sync>;
