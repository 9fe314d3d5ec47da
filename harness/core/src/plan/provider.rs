//! Who runs a control plane.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::input::problem::nearest;

/// Who runs the API server.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum ProviderName {
    /// etcd, kube-apiserver and kube-controller-manager in one container that the harness makes.
    #[default]
    Local,
    /// k3s' server, without its agent.
    K3s,
    /// A kind cluster.
    Kind,
    /// A cluster of yours, by its kubeconfig.
    External,
}

impl ProviderName {
    /// All of them, the default first.
    pub const ALL: [Self; 4] = [Self::Local, Self::K3s, Self::Kind, Self::External];

    /// The name as it is written in scenarios, settings and on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::K3s => "k3s",
            Self::Kind => "kind",
            Self::External => "external",
        }
    }

    /// The provider that a plan runs on: the one that the user chose, else the first that the scenario is for.
    ///
    /// # Errors
    /// The reason to skip the scenario, where it is not for the one that was chosen.
    pub fn choose(chosen: Option<Self>, fit: &[Self]) -> Result<Self, String> {
        match (chosen, fit) {
            (None, []) => Ok(Self::default()),
            (None, [first, ..]) => Ok(*first),
            (Some(chosen), fit) if fit.is_empty() || fit.contains(&chosen) => Ok(chosen),
            (Some(chosen), fit) => {
                let fit: Vec<_> = fit.iter().map(|name| name.as_str()).collect();
                Err(format!(
                    "the scenario is for the control plane {}, and this is {chosen}",
                    fit.join(" or ")
                ))
            }
        }
    }
}

impl fmt::Display for ProviderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that no provider has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` runs no control plane{}; `local`, `k3s`, `kind` and `external` do", .meant.map(|name| format!(" (`{name}` does)")).unwrap_or_default())]
pub struct UnknownProvider {
    /// What was given.
    pub given: String,
    /// What was most likely meant.
    pub meant: Option<ProviderName>,
}

impl FromStr for ProviderName {
    type Err = UnknownProvider;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = |text: &str| Self::ALL.into_iter().find(|name| name.as_str() == text);
        named(text).ok_or_else(|| UnknownProvider {
            given: text.to_owned(),
            meant: nearest(text, Self::ALL.map(Self::as_str)).and_then(named),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in ProviderName::ALL {
            assert_eq!(name.to_string().parse(), Ok(name));
            assert_eq!(serde_json::to_value(name).unwrap(), name.as_str());
        }
        let error = "kin".parse::<ProviderName>().unwrap_err().to_string();
        assert_eq!(
            error,
            "`kin` runs no control plane (`kind` does); `local`, `k3s`, `kind` and `external` do"
        );
    }

    #[test]
    fn the_users_choice_goes_first_and_a_scenario_for_others_is_skipped() {
        use ProviderName::{External, K3s, Kind, Local};
        for (chosen, fit, runs_on) in [
            (None, [].as_slice(), Ok(Local)),
            (None, &[Kind, K3s], Ok(Kind)),
            (Some(K3s), &[], Ok(K3s)),
            (Some(K3s), &[Kind, K3s], Ok(K3s)),
        ] {
            assert_eq!(ProviderName::choose(chosen, fit), runs_on);
        }
        assert_eq!(
            ProviderName::choose(Some(External), &[Local, Kind]).unwrap_err(),
            "the scenario is for the control plane local or kind, and this is external"
        );
    }
}
