//! What defines a provider: its name, its capabilities and its constructor. `Images::of_control_plane` has its image.

use futures::future::BoxFuture;
use nodejoin_core::plan::ProviderName;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_docker::{ImageRef, ImageSettings, Images};

use super::Provider;
use super::external::settings::ExternalSettings;
use crate::ClusterError;

/// What is known about a provider before it starts.
#[derive(Clone, Copy)]
pub struct ProviderKind {
    pub name: ProviderName,
    pub capabilities: Capabilities,
    /// Creates the provider, including its image.
    pub(super) build: BuildProvider,
}

/// What a provider's control planes can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Runs on a network without a default route. Nodes are confined by their own rules on any network.
    pub internal_network: bool,
    /// Restarts its API server on request.
    pub restarts_api_server: bool,
    /// Its API server serves port 443 of a container on the network, and nodes need no labels of it: they can start
    /// before it.
    pub nodes_start_before: bool,
    /// Supports nodes with client certificates: bootstrap tokens and Outposts.
    pub client_certificates: bool,
}

/// What the constructors of providers use.
#[derive(Clone, Copy)]
pub struct ProviderInputs<'a> {
    /// Images for the requested version of Kubernetes.
    pub images: &'a Images,
    pub settings: &'a ImageSettings,
    /// The version for published images: the requested one, else the kubelet's, because a newer control plane would
    /// test something else.
    pub kubernetes: &'a str,
    pub external: &'a ExternalSettings,
    pub time_factor: TimeFactor,
}

pub(super) type BuildProvider =
    for<'a> fn(ProviderInputs<'a>) -> BoxFuture<'a, Result<Box<dyn Provider>, ClusterError>>;

impl ProviderKind {
    /// Creates the provider. It may build or pull its image.
    ///
    /// # Errors
    /// When this host lacks what the provider needs ([`ClusterError::Unavailable`]), or its image or program fails.
    pub async fn build(&self, inputs: ProviderInputs<'_>) -> Result<Box<dyn Provider>, ClusterError> {
        (self.build)(inputs).await
    }
}

impl ProviderInputs<'_> {
    /// Builds, pulls or finds the image of a provider's API server.
    pub(super) async fn image(&self, name: ProviderName) -> Result<ImageRef, ClusterError> {
        let image = self.images.of_control_plane(name, self.kubernetes).await?;
        image.ok_or_else(|| ClusterError::Unavailable {
            name,
            reason: "it has no image".to_owned(),
            hint: String::new(),
        })
    }
}
