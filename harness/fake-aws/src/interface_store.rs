//! Network interfaces that clients created and did not attach, and attributes that clients changed.

use std::collections::BTreeMap;

use nodejoin_core::plan::ec2::InterfacePlan;

/// The interfaces of the account beside those of instances.
#[derive(Debug, Default)]
pub(crate) struct InterfaceStore {
    /// Interfaces without an instance.
    pub available: Vec<InterfacePlan>,
    /// By the id of the interface.
    attributes: BTreeMap<String, InterfaceAttributes>,
    /// Number of interfaces that were ever created: each has an address of its own.
    created: u32,
}

/// Attributes that clients may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InterfaceAttributes {
    pub description: String,
    pub source_dest_check: bool,
    /// Whether the end of the instance deletes the interface.
    pub delete_on_termination: bool,
}

impl Default for InterfaceAttributes {
    fn default() -> Self {
        Self {
            description: String::new(),
            source_dest_check: true,
            delete_on_termination: true,
        }
    }
}

impl InterfaceStore {
    #[must_use]
    pub(crate) fn attributes(&self, id: &str) -> InterfaceAttributes {
        self.attributes.get(id).cloned().unwrap_or_default()
    }

    pub(crate) fn attributes_mut(&mut self, id: &str) -> &mut InterfaceAttributes {
        self.attributes.entry(id.to_owned()).or_default()
    }

    /// Forgets an interface that is deleted.
    pub(crate) fn forget(&mut self, id: &str) {
        self.attributes.remove(id);
    }

    /// A MAC address that no interface has: EC2's own start with `02` or `0a`, never with `06`.
    pub(crate) fn next_mac(&mut self) -> String {
        self.created += 1;
        let [a, b, c, d] = self.created.to_be_bytes();
        format!("06:00:{a:02x}:{b:02x}:{c:02x}:{d:02x}")
    }
}
