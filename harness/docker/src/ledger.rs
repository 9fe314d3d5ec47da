//! The list of everything a run made, written before each thing exists.

use testcontainers::{ContainerAsync, GenericImage};

/// What kind of object an entry is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Network,
    Container,
}

/// An object of a run, known by its name from before it exists.
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    /// Known once it exists.
    pub(crate) id: Option<String>,
    /// The network a container stands on.
    pub(crate) network: Option<String>,
    /// It stays when the run ends.
    pub(crate) kept: bool,
    /// The guard of testcontainers. It must not fall: its own removal at the end of a scope needs a runtime and blocks it.
    pub(crate) guard: Option<Box<ContainerAsync<GenericImage>>>,
}

impl Entry {
    pub(crate) fn new(kind: Kind, name: impl Into<String>) -> Self {
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

/// Everything a run made and did not remove yet, oldest first.
#[derive(Default)]
pub(crate) struct Ledger {
    entries: Vec<Entry>,
    made: usize,
    /// Set when the run is being torn down; nothing is added after that.
    ended: bool,
}

impl Ledger {
    /// Records an object that is about to be made; `None` when the run is ending.
    pub(crate) fn record(&mut self, kind: Kind, name: impl FnOnce(usize) -> String) -> Option<String> {
        if self.ended {
            return None;
        }
        self.made += 1;
        let name = name(self.made);
        self.entries.push(Entry::new(kind, name.clone()));
        Some(name)
    }

    pub(crate) fn entry(&mut self, name_or_id: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.is(name_or_id))
    }

    /// Takes an entry out: whoever calls removes the object.
    pub(crate) fn take(&mut self, name_or_id: &str) -> Option<Entry> {
        let at = self.entries.iter().position(|entry| entry.is(name_or_id))?;
        Some(self.entries.remove(at))
    }

    /// Ends the ledger and takes everything that is not kept, newest first, containers before networks. A network stays with
    /// the kept containers that stand on it.
    pub(crate) fn end(&mut self) -> Vec<Entry> {
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
        gone.sort_by_key(|entry| entry.kind == Kind::Network);
        gone
    }

    /// Refuses everything from now on.
    pub(crate) fn close(&mut self) {
        self.ended = true;
    }

    /// Names and ids of what stays.
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
        ledger.record(Kind::Network, |_| "net".to_owned()).unwrap();
        for name in ["plane", "node"] {
            ledger.record(Kind::Container, |_| name.to_owned()).unwrap();
            ledger.entry(name).unwrap().network = Some("net".to_owned());
        }
        ledger.record(Kind::Network, |_| "other".to_owned()).unwrap();
        ledger
    }

    fn names(entries: &[Entry]) -> Vec<&str> {
        entries.iter().map(|entry| entry.name.as_str()).collect()
    }

    #[test]
    fn what_came_last_goes_first_and_containers_go_before_networks() {
        let mut ledger = ledger();
        assert_eq!(names(&ledger.end()), ["node", "plane", "other", "net"]);
        assert!(ledger.kept().is_empty());
        assert!(ledger.record(Kind::Container, |_| "late".to_owned()).is_none());
    }

    #[test]
    fn a_kept_node_keeps_its_network() {
        let mut ledger = ledger();
        ledger.entry("node").unwrap().kept = true;
        assert_eq!(names(&ledger.end()), ["plane", "other"]);
        assert_eq!(ledger.kept(), ["net", "node"]);
    }
}
