//! The account of one or several instances, as their worlds name it.

use std::sync::Arc;

use crate::faults::Rates;

/// The account of one or several instances. Worlds with clones of one value are in one account.
#[derive(Debug, Clone, Default)]
pub struct SharedAccount {
    pub(crate) rates: Rates,
    identity: Arc<()>,
}

impl SharedAccount {
    /// Whether both name the same account.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.identity, &other.identity)
    }
}
