//! The list of all objects that a run has created, written before each object exists.

use testcontainers::{ContainerAsync, GenericImage};

use crate::object::ObjectKind;

/// An object of a run, recorded by name before it exists.
pub(crate) struct LedgerEntry {
    pub(crate) kind: ObjectKind,
    pub(crate) name: String,
    /// The engine's id, once the object exists.
    pub(crate) id: Option<String>,
    /// The network that a container is attached to.
    pub(crate) network: Option<String>,
    /// Whether it stays when the run ends.
    pub(crate) kept: bool,
    /// The guard of testcontainers. It must not be dropped: its `Drop` needs a runtime and blocks it.
    pub(crate) guard: Option<Box<ContainerAsync<GenericImage>>>,
}

impl LedgerEntry {
    pub(crate) fn new(kind: ObjectKind, name: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.into(),
            id: None,
            network: None,
            kept: false,
            guard: None,
        }
    }

    fn is(&self, name_or_id: &str) -> bool {
        self.name == name_or_id || self.id.as_deref() == Some(name_or_id)
    }
}

/// All objects that a run has created and not yet removed, oldest first.
#[derive(Default)]
pub(crate) struct Ledger {
    entries: Vec<LedgerEntry>,
    created: usize,
    /// Set by the tear-down; from then on no object is recorded.
    ended: bool,
}

impl Ledger {
    /// Records an object before it is created; `None` when the run is being torn down.
    pub(crate) fn record(&mut self, kind: ObjectKind, name: impl FnOnce(usize) -> String) -> Option<String> {
        if self.ended {
            return None;
        }
        self.created += 1;
        let name = name(self.created);
        self.entries.push(LedgerEntry::new(kind, name.clone()));
        Some(name)
    }

    pub(crate) fn entry(&mut self, name_or_id: &str) -> Option<&mut LedgerEntry> {
        self.entries.iter_mut().find(|entry| entry.is(name_or_id))
    }

    /// Takes an entry out of the ledger; the caller removes the object.
    pub(crate) fn take(&mut self, name_or_id: &str) -> Option<LedgerEntry> {
        let at = self.entries.iter().position(|entry| entry.is(name_or_id))?;
        Some(self.entries.remove(at))
    }

    /// Closes the ledger and takes every entry that is not kept, newest first, containers before networks. A network
    /// with a kept container is kept.
    pub(crate) fn end(&mut self) -> Vec<LedgerEntry> {
        self.ended = true;
        let entries = std::mem::take(&mut self.entries);
        let held: Vec<_> = entries
            .iter()
            .filter(|entry| entry.kept)
            .filter_map(|entry| entry.network.clone())
            .collect();
        let (kept, mut gone): (Vec<_>, Vec<_>) = entries
            .into_iter()
            .partition(|entry| entry.kept || held.contains(&entry.name));
        self.entries = kept;
        gone.reverse();
        gone.sort_by_key(|entry| entry.kind == ObjectKind::Network);
        gone
    }

    /// Rejects all new entries from now on.
    pub(crate) fn close(&mut self) {
        self.ended = true;
    }

    /// Names and ids of the kept objects.
    pub(crate) fn kept(&self) -> Vec<String> {
        let names = self.entries.iter().map(|entry| entry.name.clone());
        names
            .chain(self.entries.iter().filter_map(|entry| entry.id.clone()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> Ledger {
        let mut ledger = Ledger::default();
        ledger.record(ObjectKind::Network, |_| "net".to_owned()).unwrap();
        for name in ["plane", "node"] {
            ledger.record(ObjectKind::Container, |_| name.to_owned()).unwrap();
            ledger.entry(name).unwrap().network = Some("net".to_owned());
        }
        ledger
            .record(ObjectKind::Network, |_| "other".to_owned())
            .unwrap();
        ledger
    }

    fn names(entries: &[LedgerEntry]) -> Vec<&str> {
        entries.iter().map(|entry| entry.name.as_str()).collect()
    }

    #[test]
    fn the_newest_objects_are_removed_first_and_containers_before_networks() {
        let mut ledger = ledger();
        assert_eq!(names(&ledger.end()), ["node", "plane", "other", "net"]);
        assert!(ledger.kept().is_empty());
        assert!(
            ledger
                .record(ObjectKind::Container, |_| "late".to_owned())
                .is_none()
        );
    }

    #[test]
    fn a_kept_node_keeps_its_network() {
        let mut ledger = ledger();
        ledger.entry("node").unwrap().kept = true;
        assert_eq!(names(&ledger.end()), ["plane", "other"]);
        assert_eq!(ledger.kept(), ["net", "node"]);
    }
}
