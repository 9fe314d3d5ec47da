//! A network with everything that a node needs on it: the fake AWS at its gateway address, and a control plane.

use nodejoin_cluster::{ControlPlane, Provider, ProviderKind};
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
    pub(crate) network: RunNetwork,
    pub(crate) fakes: FakeAwsServer,
    pub(crate) control_plane: ControlPlane,
    /// Images that the fake registry serves to every scenario.
    pub(crate) images: Vec<RegistryImage>,
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
        events.send(RunEvent::ControlPlaneReady {
            provider: name,
            kubernetes: control_plane.version.clone(),
            seconds: control_plane
                .start_times()
                .iter()
                .map(|part| part.took.as_secs_f64())
                .sum(),
            parts: control_plane
                .start_times()
                .iter()
                .map(|part| (part.phase.to_owned(), part.took.as_secs_f64()))
                .collect(),
        });
        for lack in control_plane.lacks() {
            events.send(RunEvent::Warning {
                text: format!("the control plane lacks {}: {}", lack.need, lack.why),
            });
        }
        Ok(Self {
            network,
            fakes,
            control_plane,
            images,
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

fn role(network: Network) -> &'static str {
    match network {
        Network::Isolated => "isolated",
        Network::Open => "open",
    }
}
