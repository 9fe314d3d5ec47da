//! Control planes that must be available. By default an unavailable provider is a reason to skip; in CI its absence
//! must not look like a pass.

use std::collections::BTreeSet;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::judge::verdict::Outcome;
use crate::plan::provider::{ProviderName, UnknownProvider};

/// The required providers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Require(BTreeSet<ProviderName>);

impl Require {
    /// Also requires the provider that the command line names.
    #[must_use]
    pub fn with(mut self, provider: Option<ProviderName>) -> Self {
        self.0.extend(provider);
        self
    }

    /// The outcome of a scenario whose provider is unavailable for this reason.
    #[must_use]
    pub fn outcome(&self, provider: ProviderName, reason: &str) -> Outcome {
        if self.0.contains(&provider) {
            return Outcome::Errored(format!(
                "{reason}\n`{provider}` is required by `--require`, NODEJOIN_REQUIRE or `--control-plane`"
            ));
        }
        Outcome::Skipped(reason.to_owned())
    }
}

/// Parses comma-separated names; an empty text requires nothing.
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
    fn only_a_required_provider_is_an_error_if_unavailable() {
        let require: Require = "k3s, kind,".parse().unwrap();
        assert_eq!(
            require.outcome(ProviderName::K3s, "no image"),
            Outcome::Errored(
                "no image\n`k3s` is required by `--require`, NODEJOIN_REQUIRE or `--control-plane`"
                    .to_owned()
            )
        );
        assert_eq!(
            require.outcome(ProviderName::External, "no kubeconfig"),
            Outcome::Skipped("no kubeconfig".to_owned())
        );
        let named = Require::default().with(Some(ProviderName::Kind));
        assert!(matches!(
            named.outcome(ProviderName::Kind, "no kind"),
            Outcome::Errored(_)
        ));
        let nothing: Require = "".parse().unwrap();
        assert_eq!(
            nothing.outcome(ProviderName::K3s, "no image"),
            Outcome::Skipped("no image".to_owned())
        );
    }

    #[test]
    fn an_unknown_provider_is_rejected() {
        let error = "k3s,kin".parse::<Require>().unwrap_err();
        assert_eq!(error.given, "kin");
        assert_eq!(error.meant, Some(ProviderName::Kind));
    }
}
