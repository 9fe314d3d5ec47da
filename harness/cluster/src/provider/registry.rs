//! The registry of providers: an entry for each name, and the lists for messages.

use nodejoin_core::plan::ProviderName;

use super::definition::{Capabilities, ProviderKind};
use super::{external, k3s, kind, local};

impl ProviderKind {
    /// The entry of a provider.
    #[must_use]
    pub const fn of(name: ProviderName) -> Self {
        match name {
            ProviderName::Local => local::KIND,
            ProviderName::K3s => k3s::KIND,
            ProviderName::Kind => kind::KIND,
            ProviderName::External => external::KIND,
        }
    }

    /// Every provider, the default first.
    pub fn all() -> impl Iterator<Item = Self> {
        ProviderName::ALL.into_iter().map(Self::of)
    }

    /// The names of all providers with a capability, for messages.
    pub(crate) fn names_with(has: impl Fn(&Capabilities) -> bool) -> String {
        let names = Self::all().filter(|kind| has(&kind.capabilities));
        let names: Vec<_> = names.map(|kind| format!("`{}`", kind.name)).collect();
        names.join(" and ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_provider_has_its_own_entry() {
        let names: Vec<_> = ProviderKind::all().map(|kind| kind.name).collect();
        assert_eq!(names, ProviderName::ALL);
    }

    #[test]
    fn messages_list_providers_by_capability() {
        assert_eq!(
            ProviderKind::names_with(|can| can.client_certificates),
            "`local` and `kind`"
        );
        assert_eq!(ProviderKind::names_with(|can| can.restarts_api_server), "`local`");
    }
}
