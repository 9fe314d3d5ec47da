//! The report of a trial: what it adopts, replaces and chooses, and what is wrong with the file.

use std::fmt;

/// A line of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdoptionLine {
    pub kind: AdoptionKind,
    pub text: String,
}

/// What a line of the report is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdoptionKind {
    /// A value of the file that cluster or instance takes.
    Adopted,
    /// A value of the file that the run cannot have.
    Replaced,
    /// A choice that the file does not make, with its reason.
    Chosen,
    /// A choice of another Kubernetes version than the one that the file states.
    OtherVersion,
    /// What the node must have.
    Expected,
    /// What the node may have, and the verdict does not check.
    NotChecked,
    Note,
    /// A mistake in the file: it can be the reason of a failure.
    Problem,
}

impl fmt::Display for AdoptionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Adopted => "adopted",
            Self::Replaced => "replaced",
            Self::Chosen | Self::OtherVersion => "chosen",
            Self::Expected => "expected",
            Self::NotChecked => "not checked",
            Self::Note | Self::Problem => "note",
        })
    }
}

/// Adds a line to a report.
pub(crate) fn line(report: &mut Vec<AdoptionLine>, kind: AdoptionKind, text: impl Into<String>) {
    let text = text.into();
    report.push(AdoptionLine { kind, text });
}
