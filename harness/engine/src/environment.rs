//! A network with everything that a node needs on it: the fake AWS at its gateway address, and a control plane.

use std::collections::BTreeMap;
use std::time::Instant;

use nodejoin_cluster::{Baseline, ControlPlane, Provider, ProviderKind};
use nodejoin_core::plan::ids::RunId;
use nodejoin_core::plan::{EndpointUrl, Network, ProviderName};
use nodejoin_core::run::event::RunEvent;
use nodejoin_docker::{Run, RunNetwork};
use nodejoin_fake_aws::{FakeAws, FakeAwsServer, RegistryImage};

use crate::error::EngineError;
use crate::events::Events;
use crate::security_tokens::FakeSecurityTokens;

/// Scenarios with equal keys share an environment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EnvironmentKey {
    pub(crate) provider: ProviderName,
    pub(crate) network: Network,
    /// The requested Kubernetes version; `None` for the version of the settings.
    pub(crate) kubernetes: Option<String>,
    /// Endpoint that the scenarios choose; `None`: each has its own host name of EKS.
    pub(crate) endpoint: Option<EndpointUrl>,
}

/// The running services of one network.
pub(crate) struct Environment {
    /// The id of its own run, which the metadata service reports.
    pub(crate) id: RunId,
    pub(crate) network: RunNetwork,
    pub(crate) fakes: FakeAwsServer,
    pub(crate) control_plane: ControlPlane,
    /// Images that the fake registry serves to every scenario.
    pub(crate) images: Vec<RegistryImage>,
    /// What a keeper needs to use it again.
    pub(crate) pooled: Option<Pooled>,
}

/// What a keeper needs to use an environment again.
pub(crate) struct Pooled {
    pub(crate) key: PoolKey,
    /// The run of this environment alone.
    pub(crate) run: Run,
    /// The reason if the objects could not be listed: it is not used again then.
    pub(crate) baseline: Result<Baseline, String>,
    pub(crate) since: Instant,
}

/// Runs with equal keys can use the same environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PoolKey {
    pub(crate) environment: EnvironmentKey,
    /// The image of the control plane.
    pub(crate) image: Option<String>,
}

impl Environment {
    /// Creates the network, then starts the fakes and the control plane.
    pub(crate) async fn start(
        run: &Run,
        key: &EnvironmentKey,
        provider: &dyn Provider,
        images: Vec<RegistryImage>,
        events: &Events,
    ) -> Result<Self, EngineError> {
        let name = provider.title();
        events.send(RunEvent::ControlPlaneStarting {
            provider: name.clone(),
        });
        let internal =
            key.network == Network::Isolated && ProviderKind::of(key.provider).capabilities.internal_network;
        let network = run.network(role(key.network), internal).await?;
        let fakes = FakeAws::bind(run.id(), network.gateway)
            .and_then(|bound| bound.with_time_factor(run.engine().time_factor()).listen())
            .map_err(EngineError::Fakes)?;
        // Every cloud-init requests signatures of the identity document. Their keys take a moment to generate, once per
        // process.
        std::thread::spawn(nodejoin_fake_aws::identity::make_keys);
        let host = key.endpoint.as_ref().map(EndpointUrl::host);
        let control_plane =
            ControlPlane::start(provider, run, &network, host, FakeSecurityTokens(fakes.sts())).await?;
        let parts = control_plane
            .start_times()
            .iter()
            .map(|part| (part.phase.to_owned(), part.took.as_secs_f64()))
            .collect();
        report_ready(&control_plane, name, parts, events);
        Ok(Self {
            id: run.id().clone(),
            network,
            fakes,
            control_plane,
            images,
            pooled: None,
        })
    }

    /// Shuts down the tasks of this process; the run removes containers and networks.
    /// Returns the objects that remain on an external cluster.
    pub(crate) async fn shut_down(self) -> Vec<String> {
        let left = self.control_plane.shut_down().await;
        self.fakes.shut_down().await;
        left
    }
}

/// Reports a control plane with the steps until it was ready.
pub(crate) fn report_ready(
    control_plane: &ControlPlane,
    provider: String,
    parts: BTreeMap<String, f64>,
    events: &Events,
) {
    events.send(RunEvent::ControlPlaneReady {
        provider,
        kubernetes: control_plane.version.clone(),
        seconds: parts.values().sum(),
        parts,
    });
    for lack in control_plane.lacks() {
        events.send(RunEvent::Warning {
            text: format!("the control plane lacks {}: {}", lack.need, lack.why),
        });
    }
}

fn role(network: Network) -> &'static str {
    match network {
        Network::Isolated => "isolated",
        Network::Open => "open",
    }
}
