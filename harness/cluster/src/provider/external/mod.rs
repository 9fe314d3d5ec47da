//! The provider `external`: a user's cluster, by its kubeconfig. The harness creates only objects with the run's label,
//! overwrites nothing, and removes its objects at the end.
//!
//! ```text
//!   address is private -> it answers -> permissions -> no objects of EKS -> relay -> StartedApiServer
//!   (nothing is created before the relay)
//! ```

mod address;
mod permissions;
pub(super) mod settings;

use std::collections::HashMap;
use std::time::Duration;

use futures::FutureExt as _;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use nodejoin_core::plan::ProviderName;
use nodejoin_core::run::error_chain::chain;
use nodejoin_core::run::secret::Secret;

use super::definition::{Capabilities, ProviderInputs, ProviderKind};
use super::{Provider, StartContext, StartedApiServer, Starting};
use crate::ClusterError;
use crate::api_server::access::{Access, await_ready};
use crate::install::{ExternalInstall, Install, Relay};
use crate::wiring::WiringFolder;
use settings::ExternalSettings;

pub use permissions::{Permission, required_permissions};

pub(super) const KIND: ProviderKind = ProviderKind {
    name: ProviderName::External,
    capabilities: Capabilities {
        internal_network: true,
        restarts_api_server: false,
        nodes_start_before: false,
        client_certificates: false,
    },
    build: |inputs| async move { build(inputs) }.boxed(),
};

/// Until a running cluster answers.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

fn build(inputs: ProviderInputs<'_>) -> Result<Box<dyn Provider>, ClusterError> {
    if inputs.external.kubeconfig.is_empty() {
        return Err(ClusterError::Unavailable {
            name: KIND.name,
            reason: "no kubeconfig is set".to_owned(),
            hint: "set a file with `--kubeconfig` or KUBECONFIG".to_owned(),
        });
    }
    Ok(Box::new(ExternalProvider::new(inputs.external.clone())?))
}

/// A user's cluster.
#[derive(Debug)]
struct ExternalProvider {
    settings: ExternalSettings,
    wiring: Option<WiringFolder>,
}

impl ExternalProvider {
    fn new(settings: ExternalSettings) -> Result<Self, ClusterError> {
        let wiring = settings.wiring.as_deref().map(WiringFolder::open).transpose()?;
        Ok(Self { settings, wiring })
    }

    async fn run(&self, context: StartContext<'_>) -> Result<StartedApiServer, ClusterError> {
        let StartContext {
            run, network, times, ..
        } = context;
        let time_factor = run.engine().time_factor();
        let (config, text) = self.config().await?;
        let server = address::resolve(&config.cluster_url.to_string(), self.settings.allow_remote).await?;
        let ca_pem = ca_pem(&config)?;
        let access = Access::by_impersonation(config, text);
        let client = access.admin().await?;
        let ready = await_ready(&client, time_factor.scale(ANSWER_TIMEOUT)).await;
        ready.map_err(|error| ClusterError::NoAnswer {
            server: server.url.clone(),
            source: Box::new(error),
        })?;
        permissions::check(&client).await?;
        ExternalInstall::check_unoccupied(&client).await?;
        times.lap("address, permissions and objects of the cluster", false);
        let relay = Relay::start(network.gateway, server.addresses).await?;
        let endpoint = relay.address;
        let install = ExternalInstall::new(run.id().clone(), client, server.url, time_factor, relay);
        Ok(StartedApiServer {
            access,
            endpoint,
            ca_pem,
            node_labels: HashMap::new(),
            install: Install::External(install),
        })
    }

    async fn config(&self) -> Result<(Config, Secret), ClusterError> {
        let invalid = |reason: String| ClusterError::Kubeconfig { reason };
        let mut merged = Kubeconfig::default();
        for file in &self.settings.kubeconfig {
            let read = Kubeconfig::read_from(file);
            let read = read.map_err(|error| invalid(format!("`{}`: {}", file.display(), chain(&error))))?;
            merged = merged.merge(read).map_err(|error| invalid(chain(&error)))?;
        }
        if let Some(context) = &self.settings.context {
            merged.current_context = Some(context.clone());
        }
        let text = serde_yaml::to_string(&merged).map_err(|error| invalid(error.to_string()))?;
        let config = Config::from_custom_kubeconfig(merged, &KubeConfigOptions::default()).await;
        let config = config.map_err(|error| invalid(chain(&error)))?;
        Ok((config, Secret::new(text)))
    }
}

impl Provider for ExternalProvider {
    fn name(&self) -> ProviderName {
        KIND.name
    }

    fn wiring_folder(&self) -> Option<&WiringFolder> {
        self.wiring.as_ref()
    }

    fn start<'a>(&'a self, context: StartContext<'a>) -> Starting<'a> {
        self.run(context).boxed()
    }
}

/// The API server's CA, which nodes get.
fn ca_pem(config: &Config) -> Result<String, ClusterError> {
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
            reason: "it has no certificate authority, and nodes need one".to_owned(),
        });
    }
    Ok(pem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn external(yaml: &str) -> (ExternalProvider, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kubeconfig");
        std::fs::write(&file, yaml).unwrap();
        let settings = ExternalSettings {
            kubeconfig: vec![file],
            ..ExternalSettings::default()
        };
        (ExternalProvider::new(settings).unwrap(), folder)
    }

    const TWO: &str = "apiVersion: v1\nkind: Config\ncurrent-context: a\n\
        clusters:\n- name: a\n  cluster: { server: \"https://127.0.0.1:6443\" }\n\
        - name: b\n  cluster: { server: \"https://127.0.0.1:6444\" }\n\
        contexts:\n- name: a\n  context: { cluster: a, user: u }\n- name: b\n  context: { cluster: b, user: u }\n\
        users:\n- name: u\n  user: { token: secret }\n";

    #[tokio::test]
    async fn the_context_selects_the_cluster() {
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
            error.starts_with("invalid kubeconfig: ") && error.contains('c'),
            "{error}"
        );
    }

    #[tokio::test]
    async fn a_cluster_without_a_ca_is_rejected() {
        let (external, _folder) = external(TWO);
        let (config, _) = external.config().await.unwrap();
        assert!(
            ca_pem(&config)
                .unwrap_err()
                .to_string()
                .contains("no certificate authority")
        );
    }
}
