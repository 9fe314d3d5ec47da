//! The provider `external`: a cluster of the user's, by its kubeconfig. The harness makes nothing but objects that carry the run's
//! label, overwrites nothing that was there, and removes its own again.
//!
//! ```text
//!   address is private -> it answers -> rights -> nothing of EKS' is there -> relay -> Running
//!   (nothing is made up to here)
//! ```

mod address;
mod rights;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use nodejoin_core::plan::ProviderName;
use nodejoin_core::run::error_chain::chain;

use crate::ClusterError;
use crate::access::{Access, await_ready};
use crate::container::Container;
use crate::foreign::Foreign;
use crate::provider::{Provider, Running, Site};
use crate::relay::Relay;
use crate::secret::Secret;
use crate::stopwatch::Stopwatch;
use crate::wiring::Wiring;
use crate::wiring_folder::WiringFolder;

/// Which cluster, and what the user allows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExternalSettings {
    /// Files that are put together as kubectl does; none is no cluster.
    pub kubeconfig: Vec<PathBuf>,
    /// The context, where it is not the current one.
    pub context: Option<String>,
    /// Whether the API server may be beyond loopback and private networks.
    pub allow_remote: bool,
    /// The folder of `nodejoin wiring` whose files its API server has.
    pub wiring: Option<PathBuf>,
}

impl ExternalSettings {
    /// Settings from an environment, which is any function from a variable's name to its value.
    #[must_use]
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let files = set("KUBECONFIG").unwrap_or_default();
        Self {
            kubeconfig: std::env::split_paths(&files)
                .filter(|file| !file.as_os_str().is_empty())
                .collect(),
            context: set("NODEJOIN_CONTEXT"),
            allow_remote: set("NODEJOIN_ALLOW_REMOTE").is_some_and(|word| word == "true"),
            wiring: set("NODEJOIN_WIRING").map(PathBuf::from),
        }
    }
}

/// A cluster of the user's.
#[derive(Debug)]
pub struct External {
    settings: ExternalSettings,
    wiring: Option<WiringFolder>,
}

impl External {
    /// Of these settings.
    ///
    /// # Errors
    /// When the folder of the wiring cannot be read.
    pub fn new(settings: ExternalSettings) -> Result<Self, ClusterError> {
        let wiring = settings.wiring.as_deref().map(WiringFolder::open).transpose()?;
        Ok(Self { settings, wiring })
    }

    async fn run(&self, site: &Site<'_>, times: &mut Stopwatch) -> Result<Running, ClusterError> {
        let (config, text) = self.config().await?;
        let server = address::resolve(&config.cluster_url.to_string(), self.settings.allow_remote).await?;
        let ca_pem = authority(&config)?;
        let access = Access::by_impersonation(config, text);
        let client = access.admin().await?;
        let answers = await_ready(&client, ANSWER_LIMIT).await;
        answers.map_err(|error| ClusterError::NoAnswer {
            server: server.url.clone(),
            source: Box::new(error),
        })?;
        rights::check(&client).await?;
        let foreign = Foreign::new(site.run.id().clone(), client, server.url);
        foreign.refuse_what_is_there().await?;
        times.lap("address, rights and objects of the cluster", false);
        let relay = Relay::bind(site.network.gateway, server.addresses).await?;
        Ok(Running {
            access,
            endpoint: relay.address,
            ca_pem,
            container: Container::none(),
            node_labels: HashMap::new(),
            holds: None,
            kubeadm: None,
            foreign: Some(foreign),
            relay: Some(relay),
        })
    }

    async fn config(&self) -> Result<(Config, Secret), ClusterError> {
        let wrong = |wrong: String| ClusterError::Kubeconfig { wrong };
        let mut merged = Kubeconfig::default();
        for file in &self.settings.kubeconfig {
            let read = Kubeconfig::read_from(file);
            let read = read.map_err(|error| wrong(format!("`{}`: {}", file.display(), chain(&error))))?;
            merged = merged
                .merge(read)
                .map_err(|error| wrong(format!("it: {}", chain(&error))))?;
        }
        if let Some(context) = &self.settings.context {
            merged.current_context = Some(context.clone());
        }
        let text = serde_yaml::to_string(&merged).map_err(|error| wrong(error.to_string()))?;
        let config = Config::from_custom_kubeconfig(merged, &KubeConfigOptions::default()).await;
        let config = config.map_err(|error| wrong(format!("it: {}", chain(&error))))?;
        Ok((config, Secret::new(text)))
    }
}

impl Provider for External {
    fn name(&self) -> ProviderName {
        ProviderName::External
    }

    fn webhooks(&self) -> Option<&WiringFolder> {
        self.wiring.as_ref()
    }

    fn start<'a>(
        &'a self,
        site: &'a Site<'a>,
        _wiring: &'a Wiring,
        times: &'a mut Stopwatch,
    ) -> BoxFuture<'a, Result<Running, ClusterError>> {
        self.run(site, times).boxed()
    }
}

/// The CA of the API server, which nodes are given.
fn authority(config: &Config) -> Result<String, ClusterError> {
    use base64::Engine as _;
    let certificates = config.root_cert.iter().flatten();
    let pem: String = certificates
        .map(|der| {
            let text = base64::engine::general_purpose::STANDARD.encode(der);
            let lines: Vec<_> = text.as_bytes().chunks(64).map(String::from_utf8_lossy).collect();
            format!(
                "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
                lines.join("\n")
            )
        })
        .collect();
    if pem.is_empty() {
        return Err(ClusterError::Kubeconfig {
            wrong: "it names no certificate authority, and nodes must be given one".to_owned(),
        });
    }
    Ok(pem)
}

/// A cluster that runs answers at once.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    fn external(yaml: &str) -> (External, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kubeconfig");
        std::fs::write(&file, yaml).unwrap();
        let settings = ExternalSettings {
            kubeconfig: vec![file],
            ..ExternalSettings::default()
        };
        (External::new(settings).unwrap(), folder)
    }

    const TWO: &str = "apiVersion: v1\nkind: Config\ncurrent-context: a\n\
        clusters:\n- name: a\n  cluster: { server: \"https://127.0.0.1:6443\" }\n\
        - name: b\n  cluster: { server: \"https://127.0.0.1:6444\" }\n\
        contexts:\n- name: a\n  context: { cluster: a, user: u }\n- name: b\n  context: { cluster: b, user: u }\n\
        users:\n- name: u\n  user: { token: secret }\n";

    #[tokio::test]
    async fn the_context_chooses_the_cluster() {
        let (mut external, _folder) = external(TWO);
        let (config, text) = external.config().await.unwrap();
        assert_eq!(config.cluster_url.port_u16(), Some(6443));
        assert!(!format!("{text:?}").contains("secret"));
        external.settings.context = Some("b".to_owned());
        let (config, _) = external.config().await.unwrap();
        assert_eq!(config.cluster_url.port_u16(), Some(6444));
        external.settings.context = Some("c".to_owned());
        let error = external.config().await.unwrap_err().to_string();
        assert!(
            error.starts_with("the kubeconfig cannot be used: ") && error.contains('c'),
            "{error}"
        );
    }

    #[test]
    fn the_environment_is_read_as_kubectl_reads_it() {
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

    #[tokio::test]
    async fn a_cluster_without_a_ca_is_refused() {
        let (external, _folder) = external(TWO);
        let (config, _) = external.config().await.unwrap();
        assert!(
            authority(&config)
                .unwrap_err()
                .to_string()
                .contains("no certificate authority")
        );
    }
}
