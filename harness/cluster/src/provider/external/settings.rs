//! Settings of a user's cluster, from flags and the environment.

use std::path::PathBuf;

use nodejoin_core::run::env;

/// Settings of a user's cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExternalSettings {
    /// Files that are merged like kubectl does. Empty: no cluster.
    pub kubeconfig: Vec<PathBuf>,
    /// Default: the current context.
    pub context: Option<String>,
    /// Allows an API server beyond loopback and private networks.
    pub allow_remote: bool,
    /// The folder of `nodejoin wiring` with the API server's files.
    pub wiring: Option<PathBuf>,
}

impl ExternalSettings {
    /// Reads the settings from an environment, given as a function from a variable's name to its value.
    #[must_use]
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let files = set(env::KUBECONFIG.name).unwrap_or_default();
        Self {
            kubeconfig: std::env::split_paths(&files)
                .filter(|file| !file.as_os_str().is_empty())
                .collect(),
            context: set(env::CONTEXT.name),
            allow_remote: set(env::ALLOW_REMOTE.name).is_some_and(|word| word == "true"),
            wiring: set(env::WIRING.name).map(PathBuf::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_is_read_like_kubectl_does() {
        let settings = ExternalSettings::from_lookup(|name| match name {
            "KUBECONFIG" => Some("/a::/b".to_owned()),
            "NODEJOIN_ALLOW_REMOTE" => Some("true".to_owned()),
            _ => None,
        });
        assert_eq!(settings.kubeconfig, [PathBuf::from("/a"), PathBuf::from("/b")]);
        assert!(settings.allow_remote);
        assert_eq!(
            ExternalSettings::from_lookup(|_| None),
            ExternalSettings::default()
        );
    }
}
