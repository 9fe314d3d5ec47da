//! Variables whose values only a run shows, wherever a script uses them.

use std::collections::BTreeSet;

/// Their names.
#[derive(Debug, Default)]
pub(super) struct Hidden {
    names: BTreeSet<String>,
    /// Whether any variable may be one.
    is_any: bool,
}

impl Hidden {
    pub(super) fn has(&self, name: &str) -> bool {
        self.is_any || self.names.contains(name)
    }

    pub(super) fn add(&mut self, name: &str) {
        self.names.insert(name.to_owned());
    }

    pub(super) fn add_any(&mut self) {
        self.is_any = true;
    }
}
