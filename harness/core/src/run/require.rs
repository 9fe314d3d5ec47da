//! Which control planes must be there. At home a provider that cannot be had is a reason to skip; where somebody promised it, as
//! CI does, its absence must not look like a pass.

use std::collections::BTreeSet;
use std::str::FromStr;

use crate::judge::verdict::Outcome;
use crate::plan::provider::{ProviderName, UnknownProvider};

/// The providers that must be there, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Require(BTreeSet<ProviderName>);

impl Require {
    /// What becomes of a scenario whose provider cannot be had here, for this reason.
    #[must_use]
    pub fn outcome(&self, provider: ProviderName, reason: &str) -> Outcome {
        if self.0.contains(&provider) {
            return Outcome::Errored(format!(
                "{reason}\n`{provider}` is required here, by NODEJOIN_REQUIRE"
            ));
        }
        Outcome::Skipped(reason.to_owned())
    }
}

/// Names with commas between them. Nothing at all requires nothing.
impl FromStr for Require {
    type Err = UnknownProvider;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        names.map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_that_is_required_is_an_error_where_it_is_missing_and_another_is_a_skip() {
        let require: Require = "k3s, kind,".parse().unwrap();
        assert_eq!(
            require.outcome(ProviderName::K3s, "no image"),
            Outcome::Errored("no image\n`k3s` is required here, by NODEJOIN_REQUIRE".to_owned())
        );
        assert_eq!(
            require.outcome(ProviderName::External, "no kubeconfig"),
            Outcome::Skipped("no kubeconfig".to_owned())
        );
        let nothing: Require = "".parse().unwrap();
        assert_eq!(
            nothing.outcome(ProviderName::K3s, "no image"),
            Outcome::Skipped("no image".to_owned())
        );
    }

    #[test]
    fn a_word_that_names_no_provider_is_refused() {
        let error = "k3s,kin".parse::<Require>().unwrap_err();
        assert_eq!(error.given, "kin");
        assert_eq!(error.meant, Some(ProviderName::Kind));
    }
}
