//! The providers of control planes.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::EnumCount;

use crate::vocabulary::nearest::nearest;

/// Provider of the control plane.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
    EnumCount,
)]
#[serde(rename_all = "lowercase")]
pub enum ProviderName {
    /// etcd, kube-apiserver and kube-controller-manager in one container that the harness builds.
    #[default]
    Local,
    /// A k3s server without its agent.
    K3s,
    /// A kind cluster.
    Kind,
    /// An existing cluster, by its kubeconfig.
    External,
}

impl ProviderName {
    /// All providers, the default first.
    pub const ALL: [Self; Self::COUNT] = [Self::Local, Self::K3s, Self::Kind, Self::External];

    /// The name in scenarios, settings and on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::K3s => "k3s",
            Self::Kind => "kind",
            Self::External => "external",
        }
    }

    /// The provider for a plan: the user's choice, else the first that the scenario supports.
    ///
    /// # Errors
    /// The reason to skip the scenario if it does not support the chosen provider.
    pub fn choose(chosen: Option<Self>, fit: &[Self]) -> Result<Self, String> {
        match (chosen, fit) {
            (None, []) => Ok(Self::default()),
            (None, [first, ..]) => Ok(*first),
            (Some(chosen), fit) if fit.is_empty() || fit.contains(&chosen) => Ok(chosen),
            (Some(chosen), fit) => {
                let fit: Vec<_> = fit.iter().map(|name| name.as_str()).collect();
                Err(format!(
                    "the scenario requires the control plane {}, but this run uses {chosen}",
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

/// An unknown provider name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown control plane `{given}`{} ({})", .meant.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default(), ProviderName::ALL.map(ProviderName::as_str).join(", "))]
pub struct UnknownProvider {
    pub given: String,
    /// The most similar name.
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
    fn names_parse_and_serialize_alike() {
        for name in ProviderName::ALL {
            assert_eq!(name.to_string().parse(), Ok(name));
            assert_eq!(serde_json::to_value(name).unwrap(), name.as_str());
        }
        let error = "kin".parse::<ProviderName>().unwrap_err().to_string();
        assert_eq!(
            error,
            "unknown control plane `kin`; did you mean `kind`? (local, k3s, kind, external)"
        );
    }

    #[test]
    fn all_lists_every_variant() {
        // The schema is generated from the variants.
        let schema = serde_json::to_value(schemars::schema_for!(ProviderName)).unwrap();
        let variants = schema["oneOf"].as_array().unwrap().iter();
        let variants: Vec<_> = variants
            .map(|variant| variant["const"].as_str().unwrap())
            .collect();
        assert_eq!(variants, ProviderName::ALL.map(ProviderName::as_str));
    }

    #[test]
    fn the_choice_of_the_user_takes_precedence() {
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
            "the scenario requires the control plane local or kind, but this run uses external"
        );
    }
}
