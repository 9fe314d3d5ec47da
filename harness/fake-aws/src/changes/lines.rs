//! The lines that report a change.

use nodejoin_core::plan::change::Refused;

/// The end of the line of a setting that has the requested value already.
pub(super) const UNCHANGED: &str = ", as before";

/// One line per setting, with its old and new value.
pub(super) type ChangeLines = Result<Vec<String>, Refused>;

pub(super) fn line(name: &str, old: &str, new: &str, is_same: bool) -> String {
    if is_same {
        format!("{name}: {new}{UNCHANGED}")
    } else {
        format!("{name}: {old} -> {new}")
    }
}
