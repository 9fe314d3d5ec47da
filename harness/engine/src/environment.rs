//! A network with everything that a node needs on it: the fake AWS at its gateway address, and a control plane.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::time::Instant;

use nodejoin_cluster::{Baseline, ControlPlane, Provider, ProviderKind};
use nodejoin_core::plan::ids::RunId;
use nodejoin_core::plan::{EndpointUrl, Network, Plan, ProviderName};
use nodejoin_core::run::event::RunEvent;
use nodejoin_docker::{ImageRef, Run, RunNetwork};
use nodejoin_fake_aws::{FakeAws, FakeAwsServer, RegistryImage};
use nodejoin_node::{DirectUserData, NodeRequest};

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

/// What nodes need to start in an environment.
#[derive(Debug, Clone)]
pub(crate) struct Ground {
    id: RunId,
    network: RunNetwork,
    metadata: SocketAddr,
    tls: SocketAddr,
    dns: SocketAddr,
    aws_ca_pem: String,
    /// `None` while the control plane starts.
    api_server: Option<SocketAddr>,
    /// Labels of nodes by which the provider recognizes them.
    node_labels: HashMap<String, String>,
}

impl Ground {
    fn new(id: &RunId, network: &RunNetwork, fakes: &FakeAwsServer) -> Self {
        Self {
            id: id.clone(),
            network: network.clone(),
            metadata: fakes.metadata,
            tls: fakes.tls,
            dns: fakes.dns,
            aws_ca_pem: fakes.ca_pem.clone(),
            api_server: None,
            node_labels: HashMap::new(),
        }
    }

    /// The request for a node. One that boots ahead waits until its address is registered.
    pub(crate) fn node_request<'a>(
        &self,
        image: &ImageRef,
        plan: &'a Plan,
        direct: Option<DirectUserData>,
        is_ahead: bool,
    ) -> NodeRequest<'a> {
        NodeRequest {
            image: image.clone(),
            plan,
            network: self.network.clone(),
            metadata: self.metadata,
            metadata_id: self.id.clone(),
            tls: self.tls,
            dns: self.dns,
            api_server: self.api_server,
            labels: self.node_labels.clone(),
            aws_ca_pem: self.aws_ca_pem.clone(),
            direct,
            is_ahead,
        }
    }
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
    /// Creates the network, then starts the fakes and the control plane. Calls `on_ground` between the two if nodes can
    /// start before the control plane has.
    pub(crate) async fn start(
        run: &Run,
        key: &EnvironmentKey,
        provider: &dyn Provider,
        images: Vec<RegistryImage>,
        events: &Events,
        on_ground: impl FnOnce(Ground),
    ) -> Result<Self, EngineError> {
        let name = provider.title();
        events.send(RunEvent::ControlPlaneStarting {
            provider: name.clone(),
        });
        let capabilities = ProviderKind::of(key.provider).capabilities;
        let internal = key.network == Network::Isolated && capabilities.internal_network;
        let network = run.network(role(key.network), internal).await?;
        let fakes = FakeAws::bind(run.id(), network.gateway)
            .and_then(|bound| bound.with_time_factor(run.engine().time_factor()).listen())
            .map_err(EngineError::Fakes)?;
        // Every cloud-init requests signatures of the identity document. Their keys take a moment to generate, once per
        // process.
        std::thread::spawn(nodejoin_fake_aws::identity::make_keys);
        if capabilities.nodes_start_before {
            on_ground(Ground::new(run.id(), &network, &fakes));
        }
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

    /// What nodes need to start in it.
    pub(crate) fn ground(&self) -> Ground {
        Ground {
            api_server: Some(self.control_plane.endpoint.into()),
            node_labels: self.control_plane.node_labels.clone(),
            ..Ground::new(&self.id, &self.network, &self.fakes)
        }
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
